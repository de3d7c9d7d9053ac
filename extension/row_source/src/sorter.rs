//! Sorts entries in bounded memory: runs beyond `work_mem` go to a temporary file and are merged at the
//! end.
//!
//! An entry is `N` words, the first of them its key. PostgreSQL's tuplesort would take three times the
//! memory and a guarded call per entry.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use pg_interface::report::check_for_interrupts;
pub use pg_interface::session::work_mem;
use pg_interface::temporary_file::TemporaryFile;

use crate::SourceError;

type Result<T> = std::result::Result<T, SourceError>;

/// Maximum bytes of an uninterruptible sort, which takes some tens of milliseconds.
const MAX_RUN_BYTES: usize = 16 << 20;
/// Entries between two checks for interrupts.
const ENTRIES_PER_CHECK: u64 = 1 << 16;
/// Minimum words per read of a run.
const MIN_READ_WORDS: usize = 1 << 10;

/// Collects entries and returns them sorted.
pub struct Sorter<const N: usize> {
    entries: Vec<[u64; N]>,
    /// Maximum entries in memory.
    room: usize,
    file: Option<TemporaryFile>,
    /// End of each run in the file, in entries.
    ends: Vec<u64>,
}

impl<const N: usize> Sorter<N> {
    /// Creates a sorter that keeps up to `bytes` in memory.
    pub fn new(bytes: usize) -> Self {
        let room = (bytes.min(MAX_RUN_BYTES) / size_of::<[u64; N]>()).max(1024);
        Sorter { entries: Vec::new(), room, file: None, ends: Vec::new() }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Those of the temporary file.
    #[inline]
    pub fn push(&mut self, entry: [u64; N]) -> Result<()> {
        if self.entries.len() >= self.room {
            self.write_run()?;
        }
        self.entries.push(entry);
        Ok(())
    }

    #[cold]
    fn write_run(&mut self) -> Result<()> {
        check_for_interrupts();
        sort(&mut self.entries);
        let file = self.file.get_or_insert_with(TemporaryFile::new);
        file.write(self.entries.as_flattened())?;
        let before = self.ends.last().copied().unwrap_or(0);
        self.ends.push(before + self.entries.len() as u64);
        self.entries.clear();
        Ok(())
    }

    /// Drops the entries without closing the file, which the transaction has closed.
    /// Not inlined: compilers would otherwise read the sorter before testing whether there is one,
    /// which is harmless but alarms valgrind.
    #[inline(never)]
    pub fn abandon_file(self) {
        std::mem::forget(self.file);
    }

    /// Calls `visit` with all entries in order.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn each(mut self, mut visit: impl FnMut(&[u64; N])) -> Result<()> {
        if self.file.is_none() {
            check_for_interrupts();
            sort(&mut self.entries);
            for entries in self.entries.chunks(ENTRIES_PER_CHECK as usize) {
                check_for_interrupts();
                entries.iter().for_each(&mut visit);
            }
            return Ok(());
        }
        self.write_run()?;
        let Sorter { room, file, ends, entries } = self;
        drop(entries);
        match file {
            Some(file) => merge(&file, &ends, room, &mut visit),
            None => Ok(()),
        }
    }
}

/// Sorts entries; numbers compare faster than arrays of one.
fn sort<const N: usize>(entries: &mut [[u64; N]]) {
    match N {
        1 => entries.sort_unstable_by_key(|entry| entry.first().copied()),
        _ => entries.sort_unstable(),
    }
}

/// Comparisons between two checks for interrupts.
const COMPARISONS_PER_CHECK: u32 = 1 << 18;

/// Sorts entries of any number, and checks for interrupts meanwhile.
pub fn sort_many<T>(entries: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut compared: u32 = 0;
    entries.sort_unstable_by(|a, b| {
        compared += 1;
        if compared == COMPARISONS_PER_CHECK {
            compared = 0;
            check_for_interrupts();
        }
        compare(a, b)
    });
}

/// A partly read run.
struct Run<const N: usize> {
    /// Index of the next entry in the file, and the end of the run.
    next: u64,
    end: u64,
    words: Vec<u64>,
    /// Index of the next word in memory.
    at: usize,
}

impl<const N: usize> Run<N> {
    fn next(&mut self, file: &TemporaryFile, width: usize) -> Result<Option<[u64; N]>> {
        if self.at >= self.words.len() {
            let entries = (self.end - self.next).min((width / N).max(1) as u64);
            self.words.resize(entries as usize * N, 0);
            self.at = 0;
            if entries == 0 {
                return Ok(None);
            }
            file.read(self.next * N as u64, &mut self.words)?;
            self.next += entries;
        }
        let entry = self.words.get(self.at..self.at + N).and_then(|words| words.try_into().ok());
        self.at += N;
        Ok(entry)
    }
}

fn merge<const N: usize>(
    file: &TemporaryFile,
    ends: &[u64],
    room: usize,
    visit: &mut impl FnMut(&[u64; N]),
) -> Result<()> {
    let width = (room * N / ends.len().max(1)).max(MIN_READ_WORDS);
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let mut runs: Vec<Run<N>> = starts
        .zip(ends)
        .map(|(next, end)| Run { next, end: *end, words: Vec::new(), at: 0 })
        .collect();
    let mut first = BinaryHeap::with_capacity(runs.len());
    for (number, run) in runs.iter_mut().enumerate() {
        first.extend(run.next(file, width)?.map(|entry| Reverse((entry, number))));
    }
    let mut visited: u64 = 0;
    while let Some(mut top) = first.peek_mut() {
        let Reverse((entry, number)) = *top;
        visit(&entry);
        visited += 1;
        if visited.is_multiple_of(ENTRIES_PER_CHECK) {
            check_for_interrupts();
        }
        let Some(run) = runs.get_mut(number) else { break };
        match run.next(file, width)? {
            Some(entry) => *top = Reverse((entry, number)),
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
    }
    Ok(())
}

/// Maps a number to a word of the same order; NaN comes last.
#[inline]
pub fn ordered(number: f32) -> u32 {
    // Merges -0.0 and 0.0.
    let bits = (number + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Inverts [`ordered`].
#[inline]
pub fn number(word: u32) -> f32 {
    f32::from_bits(if word >> 31 == 1 { word & !(1 << 31) } else { !word })
}

/// Maps an f64 to a word of the same order.
#[inline]
pub fn ordered_double(number: f64) -> u64 {
    // Merges -0.0 and 0.0.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Inverts [`ordered_double`].
#[inline]
pub fn double(word: u64) -> f64 {
    f64::from_bits(if word >> 63 == 1 { word & !(1 << 63) } else { !word })
}

#[cfg(test)]
mod tests {
    use super::{double, number, ordered, ordered_double};

    #[test]
    fn words_keep_the_order_of_numbers() {
        let numbers = [f32::NEG_INFINITY, -1.5, -1e-40, 0.0, 1e-40, 2.0, f32::INFINITY];
        assert!(numbers.map(ordered).is_sorted());
        assert_eq!(numbers.map(|x| number(ordered(x))), numbers);
        assert_eq!(ordered(-0.0), ordered(0.0));
        let numbers = [f64::NEG_INFINITY, -1.5, -1e-310, 0.0, 1e-310, 2.0, f64::INFINITY];
        assert!(numbers.map(ordered_double).is_sorted());
        assert_eq!(numbers.map(|x| double(ordered_double(x))), numbers);
        assert_eq!(ordered_double(-0.0), ordered_double(0.0));
    }
}
