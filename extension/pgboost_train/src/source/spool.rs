//! Records in a temporary file, written once and read as often as libxgboost asks for them.

use pg_interface::report;

use super::dictionary::Sorted;
use crate::pg::temporary::TemporaryFile;
use crate::xgboost::interface::Batch;
use crate::xgboost::matrix::Rows;

/// About as many words are in memory at once.
const BUFFER_WORDS: usize = 1 << 18;

/// The records.
pub struct Spool {
    file: TemporaryFile,
    /// Words of a record.
    record: usize,
    rows: u64,
    buffer: Vec<f32>,
    /// What to put for the codes in some words, once all texts are known.
    recode: Vec<(usize, Vec<f32>)>,
}

impl Spool {
    /// An empty one, for records of so many words.
    pub fn new(record: usize) -> Spool {
        let (file, buffer) = (TemporaryFile::new(), Vec::new());
        Spool { file, record, rows: 0, buffer, recode: Vec::new() }
    }

    /// Adds a record.
    #[inline]
    pub fn push(&mut self, record: &[f32]) {
        self.buffer.extend_from_slice(record);
        self.rows += 1;
        if self.buffer.len() >= BUFFER_WORDS {
            self.flush();
        }
    }

    /// Writes what is still in memory. No record may be added after that.
    pub fn finish(&mut self) {
        self.flush();
        self.buffer = vec![0.0; self.rows_at_once() * self.record];
    }

    /// Says what to put for the codes in a word of each record.
    pub fn recode(&mut self, at: usize, sorted: &Sorted) {
        self.recode.push((at, sorted.codes.clone()));
    }

    /// Number of records.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn flush(&mut self) {
        self.file.write(&self.buffer);
        self.buffer.clear();
    }

    /// Records that are read at once.
    fn rows_at_once(&self) -> usize {
        let rows = usize::try_from(self.rows).unwrap_or(usize::MAX);
        rows.min((BUFFER_WORDS / self.record.max(1)).max(1))
    }
}

impl Rows for Spool {
    fn rewind(&mut self) {
        self.file.rewind();
    }

    fn next_batch(&mut self) -> Option<Batch<'_>> {
        // Where the statement is to end, the rows end; the caller raises the error, see `read`.
        if report::is_ending() {
            return None;
        }
        let words = self.file.read(&mut self.buffer);
        let batch = self.buffer.get_mut(..words)?;
        for (at, codes) in &self.recode {
            for record in batch.chunks_exact_mut(self.record) {
                if let Some(word) = record.get_mut(*at) {
                    // A missing value is no code, and stays.
                    *word = if word.is_nan() {
                        *word
                    } else {
                        codes.get(*word as usize).copied().unwrap_or(f32::NAN)
                    };
                }
            }
        }
        (words > 0).then_some(Batch { words: batch, record: self.record })
    }
}
