//! Records in a temporary file, written once; the trainer reads them as often as libxgboost asks.

use pg_interface::temporary_file::TemporaryFile;
use row_source::SourceError;

use crate::error::Result;

/// About as many words are in memory at once.
const BUFFER_WORDS: usize = 1 << 18;

pub struct Spool {
    file: TemporaryFile,
    rows: u64,
    buffer: Vec<f32>,
}

impl Spool {
    pub fn new() -> Spool {
        Spool { file: TemporaryFile::new(), rows: 0, buffer: Vec::new() }
    }

    #[inline]
    pub fn push(&mut self, record: &[f32]) -> Result<()> {
        self.buffer.extend_from_slice(record);
        self.rows += 1;
        if self.buffer.len() >= BUFFER_WORDS { self.flush() } else { Ok(()) }
    }

    /// Writes what is still in memory, and frees it.
    pub fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.buffer = Vec::new();
        Ok(())
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The file's path, below the data directory.
    pub fn path(&self) -> String {
        self.file.path()
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write(&self.buffer).map_err(SourceError::from)?;
        self.buffer.clear();
        Ok(())
    }
}
