//! libxgboost: the only place that calls its C interface.
//!
//! The library lies in a folder beside this one and is loaded when it is first needed, by its full
//! path: no LD_LIBRARY_PATH, no libxgboost of the system's by accident, and an error of our own
//! where it is missing. It is never unloaded, because its threads outlive every call. Each call is
//! checked, and runs with all signals blocked, see `signals`.
//!
//! User bytes never come here: a model is parsed and checked by the engine before libxgboost sees
//! it.

pub mod booster;
pub mod interface;
pub mod matrix;
mod message;
pub mod registered;
mod signals;
mod symbols;

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use symbols::Symbols;

/// Where the wheel of XGBoost is unpacked, beside the extension's own library.
const PLACE: &str = "pgboost_train/xgboost/lib/libxgboost.so";

/// The first release that stores the categories of data in the model.
const OLDEST: (c_int, c_int) = (3, 1);

/// The loaded library.
pub struct Library {
    symbols: Symbols,
    version: String,
}

static LOADED: OnceLock<Library> = OnceLock::new();

/// The library, loaded if it was not yet.
///
/// # Errors
/// [`Error::LibraryMissing`] and [`Error::LibraryOld`].
pub fn library() -> Result<&'static Library> {
    if let Some(library) = LOADED.get() {
        return Ok(library);
    }
    let library = Library::open()?;
    Ok(LOADED.get_or_init(|| library))
}

impl Library {
    fn open() -> Result<Library> {
        let path = symbols::own_folder().map_or_else(|| PathBuf::from(PLACE), |at| at.join(PLACE));
        let missing =
            |reason: String| Error::LibraryMissing { path: path.display().to_string(), reason };
        let name = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|_| missing("its path has a NUL".to_owned()))?;
        let symbols = Symbols::load(&name).map_err(missing)?;
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: the three places are valid.
        unsafe { (symbols.XGBoostVersion)(&mut major, &mut minor, &mut patch) };
        let version = format!("{major}.{minor}.{patch}");
        if (major, minor) < OLDEST {
            return Err(Error::LibraryOld { version });
        }
        let library = Library { symbols, version };
        // Its warnings would go to the server's standard output.
        library.call(|symbols| {
            // SAFETY: the text ends in a NUL.
            unsafe { (symbols.XGBSetGlobalConfig)(c"{\"verbosity\":0}".as_ptr()) }
        })?;
        Ok(library)
    }

    /// The release.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Sets the most threads of whatever is not told a number of its own: libxgboost copies labels,
    /// among other things, with as many as there are cores.
    pub fn limit_threads(&self, threads: usize) {
        let threads = c_int::try_from(threads).unwrap_or(1).max(1);
        // SAFETY: takes any positive number.
        unsafe { (self.symbols.omp_set_num_threads)(threads) };
    }

    /// Makes one call with signals blocked, and checks what it returns.
    ///
    /// # Errors
    /// [`Error::XGBoost`] with the library's own message, [`Error::OutOfMemory`].
    fn call(&self, function: impl FnOnce(&Symbols) -> c_int) -> Result<()> {
        let held = signals::Mask::all().hold();
        let code = function(&self.symbols);
        drop(held);
        if code == 0 { Ok(()) } else { Err(self.last_error()) }
    }

    fn last_error(&self) -> Error {
        // SAFETY: gives a string of the calling thread's own, never null.
        let text = unsafe { CStr::from_ptr((self.symbols.XGBGetLastError)()) }.to_string_lossy();
        if text.contains("bad_alloc") {
            return Error::OutOfMemory;
        }
        Error::XGBoost { message: message::essence(&text) }
    }
}

/// A list of texts as the interface takes it: the pointers are good as long as the texts.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

/// A text for a call; one with a NUL in it, which no caller has, is cut off there.
fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(text.get(..end).unwrap_or_default()).unwrap_or_default()
}

/// Gives memory that a training has freed back to the system, for a backend lives on.
pub fn give_back_memory() {
    // SAFETY: takes no pointer, and may be called at any time.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
