//! The counters of all backends: a file of fixed size, in which each version that was used has a slot.
//!
//! All fields are atomic, so that backends need no lock. A slot is found by a hash of the model's name and the
//! version, from where on the next free one is taken; once taken it stays, until `reset` empties
//! all of them. A backend that still counts for an emptied slot then adds to nothing or to another version,
//! for the rest of its statement.
//!
//! The file is written whole under another name first: a hole in a mapped file would end the server where
//! the disk is full. It is a cache like the images beside it. Where it cannot be made nothing is counted.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

use memmap2::MmapOptions;
use pg_interface::{backend, report};

use crate::cache::file::folder;

/// Versions that can be counted.
const SLOTS: usize = 1 << 14;
/// Slots that are looked at for one version.
const MAX_PROBES: usize = 64;
/// Looks at a slot that another backend is taking just now.
const MAX_SPINS: usize = 1000;
const NAME_WORDS: usize = 8;
/// An odd number with well mixed bits: 2^64 by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
/// The layout's number is part of the name.
const NAME: &str = "statistics-1";

const EMPTY: u32 = 0;
const CLAIMED: u32 = 1;
const TAKEN: u32 = 2;

/// Zeros are an empty slot.
#[repr(C)]
struct Slot {
    state: AtomicU32,
    version: AtomicU32,
    /// At most 63 bytes, then zeros.
    name: [AtomicU64; NAME_WORDS],
    calls: AtomicU64,
    rows: AtomicU64,
    batches: AtomicU64,
    nanoseconds: AtomicU64,
    missing: AtomicU64,
    last_used: AtomicI64,
    outside: AtomicU64,
}

const SIZE: usize = SLOTS * size_of::<Slot>();

/// What is counted of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Rows that the function was called for, one by one.
    pub calls: u64,
    /// Those and the rows of batches.
    pub rows: u64,
    pub batches: u64,
    pub nanoseconds: u64,
    /// Rows in which a feature was missing.
    pub missing: u64,
    /// Rows in which a feature was outside the range that it had in training.
    pub outside: u64,
    /// When the last statement that used it began, in PostgreSQL's microseconds; 0 for never.
    pub last_used: i64,
}

impl Slot {
    fn add(&self, counted: &Counters) {
        self.calls.fetch_add(counted.calls, Relaxed);
        self.rows.fetch_add(counted.rows, Relaxed);
        self.batches.fetch_add(counted.batches, Relaxed);
        self.nanoseconds.fetch_add(counted.nanoseconds, Relaxed);
        self.missing.fetch_add(counted.missing, Relaxed);
        self.outside.fetch_add(counted.outside, Relaxed);
        self.last_used.fetch_max(counted.last_used, Relaxed);
    }

    fn counters(&self) -> Counters {
        Counters {
            calls: self.calls.load(Relaxed),
            rows: self.rows.load(Relaxed),
            batches: self.batches.load(Relaxed),
            nanoseconds: self.nanoseconds.load(Relaxed),
            missing: self.missing.load(Relaxed),
            outside: self.outside.load(Relaxed),
            last_used: self.last_used.load(Relaxed),
        }
    }

    fn is_of(&self, name: &[u64; NAME_WORDS], version: u32) -> bool {
        self.version.load(Relaxed) == version
            && self.name.iter().zip(name).all(|(own, other)| own.load(Relaxed) == *other)
    }

    /// The state, once no other backend is about to change it.
    fn settled(&self) -> u32 {
        for _ in 0..MAX_SPINS {
            let state = self.state.load(Acquire);
            if state != CLAIMED {
                return state;
            }
            std::hint::spin_loop();
        }
        CLAIMED
    }

    /// Takes an empty slot; false if another backend was faster.
    fn take(&self, name: &[u64; NAME_WORDS], version: u32) -> bool {
        if self.state.compare_exchange(EMPTY, CLAIMED, AcqRel, Acquire).is_err() {
            return false;
        }
        self.version.store(version, Relaxed);
        self.name.iter().zip(name).for_each(|(own, word)| own.store(*word, Relaxed));
        self.state.store(TAKEN, Release);
        true
    }

    fn clear(&self) {
        let counters = [&self.calls, &self.rows, &self.batches, &self.nanoseconds];
        let of_rows = [&self.missing, &self.outside];
        counters.iter().chain(&of_rows).for_each(|counter| counter.store(0, Relaxed));
        self.last_used.store(0, Relaxed);
        self.state.store(EMPTY, Release);
    }
}

/// The slot of a version of a model.
pub struct SlotOf {
    slot: &'static Slot,
    name: [u64; NAME_WORDS],
}

impl SlotOf {
    /// That of a version, taken now if it has none; nothing if there is no room.
    pub fn new(name: &str, version: i32) -> Option<SlotOf> {
        Some(SlotOf { slot: find(name, version, true)?, name: words_of(name)? })
    }

    /// Whether it is still that of this version of the model.
    #[inline]
    pub fn serves(&self, version: i32) -> bool {
        self.slot.state.load(Acquire) == TAKEN
            && self.slot.is_of(&self.name, version.cast_unsigned())
    }

    pub fn add(&self, counted: &Counters) {
        self.slot.add(counted);
    }
}

/// What is counted of a version so far.
pub fn counters(name: &str, version: i32) -> Counters {
    find(name, version, false).map(Slot::counters).unwrap_or_default()
}

/// Forgets everything.
pub fn reset() {
    slots().unwrap_or_default().iter().for_each(Slot::clear);
}

fn find(name: &str, version: i32, take: bool) -> Option<&'static Slot> {
    let slots = slots()?;
    let version = version.cast_unsigned();
    let words = words_of(name)?;
    let mix = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(MULTIPLIER).rotate_left(31);
    let first = words.iter().fold(u64::from(version), mix) as usize % SLOTS;
    let probed = (first..).take(MAX_PROBES).filter_map(|index| slots.get(index % SLOTS));
    for slot in probed {
        if take && slot.settled() == EMPTY && slot.take(&words, version) {
            return Some(slot);
        }
        match slot.settled() {
            EMPTY => return None,
            TAKEN if slot.is_of(&words, version) => return Some(slot),
            _ => {}
        }
    }
    None
}

fn words_of(name: &str) -> Option<[u64; NAME_WORDS]> {
    let mut words = [0; NAME_WORDS];
    let mut bytes = [0; NAME_WORDS * size_of::<u64>()];
    bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    Some(words)
}

/// The slots, mapped when they are first asked for, and for as long as the backend lives.
fn slots() -> Option<&'static [Slot]> {
    static SLOTS_OF_BACKEND: OnceLock<Option<&'static [Slot]>> = OnceLock::new();
    *SLOTS_OF_BACKEND.get_or_init(|| match open().and_then(|file| map(&file)) {
        Ok(slots) => Some(slots),
        Err(error) => {
            report::log(&format!("could not map the file of statistics: {error}"));
            None
        }
    })
}

/// Opens the file, which is made if it is not there.
fn open() -> io::Result<File> {
    let path = folder().join(NAME);
    let open = || OpenOptions::new().read(true).write(true).open(&path);
    if let Ok(file) = open() {
        return Ok(file);
    }
    DirBuilder::new().recursive(true).mode(backend::directory_mode()).create(folder())?;
    let mut unfinished = path.clone();
    unfinished.add_extension(format!("{}.tmp", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(backend::file_mode())
        .open(&unfinished)?;
    let made = file.write_all(&vec![0u8; SIZE]).and_then(|()| fs::hard_link(&unfinished, &path));
    fs::remove_file(&unfinished)?;
    match made {
        // Another backend was faster.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => open(),
    }
}

fn map(file: &File) -> io::Result<&'static [Slot]> {
    if file.metadata()?.len() != SIZE as u64 {
        return Err(io::Error::other("it has another size"));
    }
    // SAFETY: the file has no holes and keeps its size, as image files do; other processes change it
    // by atomic operations alone. A page is aligned for slots, any bytes of which are good, and the
    // mapping is never undone.
    unsafe {
        let map = Box::leak(Box::new(MmapOptions::new().len(SIZE).map_mut(file)?));
        Ok(std::slice::from_raw_parts(map.as_mut_ptr().cast_const().cast(), SLOTS))
    }
}
