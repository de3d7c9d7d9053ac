//! A temporary file: it counts against temp_file_limit, and PostgreSQL removes it with the
//! transaction if nobody has before.

use std::ffi::CStr;
use std::io;

use pgrx::pg_sys;

/// A type that is written as it is in memory: it has no padding.
pub trait Plain: Copy + sealed::Plain {}

mod sealed {
    pub trait Plain {}
    impl Plain for f32 {}
    impl Plain for u64 {}
}

impl Plain for f32 {}
impl Plain for u64 {}

/// A temporary file that cannot be written or read.
#[derive(Clone, Debug)]
pub struct FileError {
    /// The operating system's reason.
    pub reason: String,
    /// Whether there is no room.
    pub disk_full: bool,
}

/// The file. It is written here, and read here or by its path.
pub struct TemporaryFile {
    file: pg_sys::File,
    bytes: i64,
}

impl TemporaryFile {
    /// An empty file.
    #[allow(clippy::new_without_default, reason = "it opens a file")]
    pub fn new() -> TemporaryFile {
        // SAFETY: the file belongs to the current resource owner, which an abort cleans up.
        TemporaryFile { file: unsafe { pg_sys::OpenTemporaryFile(false) }, bytes: 0 }
    }

    /// Writes behind what was written last. Raises PostgreSQL's error at temp_file_limit.
    pub fn write<T: Plain>(&mut self, words: &[T]) -> Result<(), FileError> {
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
        Err(FileError { reason: failed.to_string(), disk_full })
    }

    /// Reads as many words as there is room for, from a word on; they were written before.
    pub fn read(&self, first: u64, words: &mut [u64]) -> Result<(), FileError> {
        let bytes = size_of_val(words);
        let offset = (first * size_of::<u64>() as u64).cast_signed();
        // SAFETY: the slice has room for so many bytes, and every value of them is a word.
        let read = unsafe {
            const EVENT: u32 = pg_sys::WaitEventIO::WAIT_EVENT_BUFFILE_READ;
            pg_sys::FileRead(self.file, words.as_mut_ptr().cast(), bytes as _, offset, EVENT)
        };
        if usize::try_from(read) == Ok(bytes) {
            return Ok(());
        }
        let reason = io::Error::last_os_error().to_string();
        Err(FileError { reason, disk_full: false })
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
