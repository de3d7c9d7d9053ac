//! Words that are written once and read several times: in memory up to a bound, then in a temporary file.

use pg_interface::report::check_for_interrupts;
use pg_interface::temporary_file::{Plain, TemporaryFile};

use crate::SourceError;

/// Words written at once, which takes some milliseconds; one write has less than 2 GB.
const WORDS_PER_WRITE: usize = 1 << 20;

/// The most bytes of rows or of results in memory. The operating system takes some tenths of a second to take a
/// gigabyte back, which would delay the end of a cancelled statement.
pub const MAX_BYTES: usize = 128 << 20;

/// A sequence of words.
pub struct Spool<T: Plain> {
    /// The words in memory; all of them until there is a file.
    words: Vec<T>,
    /// The most words in memory.
    room: usize,
    file: Option<TemporaryFile>,
}

impl<T: Plain + Default> Spool<T> {
    /// Creates a sequence that keeps up to `bytes` in memory, and no more than [`MAX_BYTES`].
    pub fn new(bytes: usize) -> Self {
        Spool { words: Vec::new(), room: bytes.min(MAX_BYTES) / size_of::<T>(), file: None }
    }

    /// Appends words.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn push(&mut self, words: &[T]) -> Result<(), SourceError> {
        if let Some(file) = &mut self.file {
            return Ok(file.write(words)?);
        }
        if self.words.len() + words.len() <= self.room {
            self.words.extend_from_slice(words);
            return Ok(());
        }
        let file = self.file.insert(TemporaryFile::new());
        for part in std::mem::take(&mut self.words).chunks(WORDS_PER_WRITE) {
            check_for_interrupts();
            file.write(part)?;
        }
        Ok(file.write(words)?)
    }

    /// Replaces `words` by `count` words from `first` on, all pushed before.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn read(&self, first: u64, count: usize, words: &mut Vec<T>) -> Result<(), SourceError> {
        words.clear();
        let Some(file) = &self.file else {
            let first = first as usize;
            words.extend_from_slice(self.words.get(first..first + count).unwrap_or_default());
            return Ok(());
        };
        words.resize(count, T::default());
        Ok(file.read(first, words)?)
    }
}
