//! A temporary file: it counts against temp_file_limit, and PostgreSQL removes it with the
//! transaction if nobody has before.

use pgrx::pg_sys;

/// The file. Only one connection reads and writes it.
pub struct TemporaryFile {
    file: *mut pg_sys::BufFile,
}

impl TemporaryFile {
    /// An empty file. What PostgreSQL keeps of it lies in the current memory context.
    pub fn new() -> TemporaryFile {
        // SAFETY: the file belongs to the current resource owner, which an abort cleans up.
        TemporaryFile { file: unsafe { pg_sys::BufFileCreateTemp(false) } }
    }

    /// Writes behind what was written last.
    pub fn write(&mut self, words: &[f32]) {
        // SAFETY: the slice is that long; the function only reads it.
        unsafe {
            let start = words.as_ptr().cast_mut().cast();
            pg_sys::BufFileWrite(self.file, start, size_of_val(words));
        }
    }

    /// Goes to the start, for reading.
    pub fn rewind(&mut self) {
        // SAFETY: the start is always there.
        unsafe { pg_sys::BufFileSeek(self.file, 0, 0, libc::SEEK_SET) };
    }

    /// Fills the slice as far as the file goes; gives the number of words.
    pub fn read(&mut self, words: &mut [f32]) -> usize {
        // SAFETY: the slice is that long, and any bits are an f32.
        let bytes = unsafe {
            pg_sys::BufFileRead(self.file, words.as_mut_ptr().cast(), size_of_val(words))
        };
        bytes / size_of::<f32>()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // After an error the transaction removes the file; nothing of PostgreSQL's may be called.
        if !std::thread::panicking() {
            // SAFETY: the file is this value's own and is not used again.
            unsafe { pg_sys::BufFileClose(self.file) };
        }
    }
}
