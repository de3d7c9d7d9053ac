//! A temporary file: it counts against temp_file_limit, and PostgreSQL removes it with the
//! transaction if nobody has before.

use std::ffi::CStr;
use std::io;

use pgrx::pg_sys;

use crate::error::{Error, Result};

/// The file. It is written here, and read by its path.
pub struct TemporaryFile {
    file: pg_sys::File,
    bytes: i64,
}

impl TemporaryFile {
    pub fn new() -> TemporaryFile {
        // SAFETY: the file belongs to the current resource owner, which an abort cleans up.
        TemporaryFile { file: unsafe { pg_sys::OpenTemporaryFile(false) }, bytes: 0 }
    }

    /// Writes behind what was written last. Raises PostgreSQL's error at temp_file_limit.
    pub fn write(&mut self, words: &[f32]) -> Result<()> {
        let bytes = size_of_val(words);
        let start = words.as_ptr().cast_mut().cast();
        // SAFETY: the slice is that long; the function only reads it.
        let written = unsafe {
            const EVENT: u32 = pg_sys::WaitEventIO::WAIT_EVENT_BUFFILE_WRITE;
            pg_sys::FileWrite(self.file, start, bytes as _, self.bytes, EVENT)
        };
        let failed = io::Error::last_os_error();
        if usize::try_from(written) == Ok(bytes) {
            self.bytes += bytes as i64;
            return Ok(());
        }
        // A file that takes some of the bytes has no room for the others.
        let disk_full = written >= 0 || failed.kind() == io::ErrorKind::StorageFull;
        Err(Error::TemporaryFile { reason: failed.to_string(), disk_full })
    }

    /// The path, below the data directory.
    pub fn path(&self) -> String {
        // SAFETY: the file is open, so it has a name, a string of PostgreSQL's.
        unsafe { CStr::from_ptr(pg_sys::FilePathName(self.file)) }.to_string_lossy().into_owned()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After an error the transaction removes the file; nothing of PostgreSQL's may be called.
        if !std::thread::panicking() {
            // SAFETY: the file is this value's own and is not used again.
            unsafe { pg_sys::FileClose(self.file) };
        }
    }
}
