//! Temporary files, which lie in temp_tablespaces, count against temp_file_limit and are removed with the
//! transaction at the latest.

use std::ffi::CStr;
use std::io;

use pgrx::pg_sys;

/// A type without padding, written as it is in memory.
pub trait Plain: Copy + sealed::Plain {}

mod sealed {
    pub trait Plain {}
    impl Plain for f32 {}
    impl Plain for u64 {}
}

impl Plain for f32 {}
impl Plain for u64 {}

/// A failure to write or read a temporary file.
#[derive(Clone, Debug)]
pub struct FileError {
    /// The operating system's reason.
    pub reason: String,
    /// Whether the disk is full.
    pub disk_full: bool,
}

/// A temporary file, written here, and read here or by its path.
pub struct TemporaryFile {
    file: pg_sys::File,
    bytes: i64,
}

impl TemporaryFile {
    /// Creates an empty file.
    #[allow(clippy::new_without_default, reason = "it opens a file")]
    pub fn new() -> TemporaryFile {
        // SAFETY: the current resource owner owns the file, and closes it on abort.
        let file = unsafe {
            pg_sys::PrepareTempTablespaces();
            pg_sys::OpenTemporaryFile(false)
        };
        TemporaryFile { file, bytes: 0 }
    }

    /// Appends to the file. Raises PostgreSQL's error at temp_file_limit.
    pub fn write<T: Plain>(&mut self, words: &[T]) -> Result<(), FileError> {
        let bytes = size_of_val(words);
        let start = words.as_ptr().cast_mut().cast();
        // SAFETY: the slice has `bytes` bytes, which are only read.
        let written = unsafe {
            const EVENT: u32 = pg_sys::WaitEventIO::WAIT_EVENT_BUFFILE_WRITE;
            pg_sys::FileWrite(self.file, start, bytes as _, self.bytes, EVENT)
        };
        let failed = io::Error::last_os_error();
        if usize::try_from(written) == Ok(bytes) {
            self.bytes += bytes as i64;
            return Ok(());
        }
        // A partial write means a full disk.
        let disk_full = written >= 0 || failed.kind() == io::ErrorKind::StorageFull;
        Err(FileError { reason: failed.to_string(), disk_full })
    }

    /// Fills `words` from the word at `first` on, all written before as words of that type.
    pub fn read<T: Plain>(&self, first: u64, words: &mut [T]) -> Result<(), FileError> {
        let bytes = size_of_val(words);
        let offset = (first * size_of::<T>() as u64).cast_signed();
        // SAFETY: the slice has room for the bytes, and any bytes are valid words.
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

    /// Returns the path relative to the data directory.
    pub fn path(&self) -> String {
        // SAFETY: an open file has a name, a C string of PostgreSQL's.
        unsafe { CStr::from_ptr(pg_sys::FilePathName(self.file)) }.to_string_lossy().into_owned()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After an error the transaction removes the file, and PostgreSQL must not be called.
        if !std::thread::panicking() {
            // SAFETY: this value owns the file and does not use it again.
            unsafe { pg_sys::FileClose(self.file) };
        }
    }
}
