//! The loaded library, and the check of each call.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;

use crate::error::{self, Error, Result};
use crate::symbols::Symbols;

/// The first release that stores the categories of data in the model.
const MIN_VERSION: (c_int, c_int) = (3, 1);

/// The loaded library.
pub struct Library {
    pub(crate) symbols: Symbols,
    version: String,
}

impl Library {
    /// Loads the library for the rest of the process's life.
    ///
    /// # Errors
    /// [`Error::Missing`] and [`Error::Old`].
    pub fn open(path: &Path) -> Result<&'static Library> {
        let symbols = Symbols::load(path).map_err(|error| Error::Missing {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: the three pointers are valid.
        unsafe { (symbols.XGBoostVersion)(&mut major, &mut minor, &mut patch) };
        let version = format!("{major}.{minor}.{patch}");
        if (major, minor) < MIN_VERSION {
            return Err(Error::Old(version));
        }
        let library = Library { symbols, version };
        // Its warnings would go to the standard output.
        // SAFETY: the text ends in a NUL.
        library.call(|symbols| unsafe {
            (symbols.XGBSetGlobalConfig)(c"{\"verbosity\":0}".as_ptr())
        })?;
        Ok(Box::leak(Box::new(library)))
    }

    /// The release.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Sets the most threads of calls that take no number: among other things, libxgboost
    /// copies labels with as many as there are cores.
    pub fn limit_threads(&self, threads: usize) {
        let threads = c_int::try_from(threads).unwrap_or(1).max(1);
        // SAFETY: takes any positive number.
        unsafe { (self.symbols.omp_set_num_threads)(threads) };
    }

    /// Makes one call and checks what it returns.
    pub(crate) fn call(&self, function: impl FnOnce(&Symbols) -> c_int) -> Result<()> {
        if function(&self.symbols) == 0 { Ok(()) } else { Err(self.last_error()) }
    }

    fn last_error(&self) -> Error {
        // SAFETY: returns a string of the calling thread's own, never null.
        let text = unsafe { CStr::from_ptr((self.symbols.XGBGetLastError)()) }.to_string_lossy();
        if error::means_out_of_memory(&text) {
            return Error::OutOfMemory;
        }
        Error::Refused(error::user_message(&text))
    }
}

/// Texts as the interface takes them: the pointers are valid as long as the texts.
pub(crate) fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

/// A text for a call; one with a NUL in it, which no caller has, ends there.
pub(crate) fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(text.get(..end).unwrap_or_default()).unwrap_or_default()
}
