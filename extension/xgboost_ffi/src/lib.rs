//! Safe calls of libxgboost's C API.
//!
//! Nothing links to libxgboost: [`Library::open`] loads it from a path and finds its functions by name,
//! so that a program starts without it and can report it missing. It is never unloaded, since its
//! threads outlive every call. Each call is checked, and an error has the library's message.
//!
//! The API is stable: XGBoost only adds functions. A library without one of these is too old or not
//! XGBoost, and is refused. The last function is from libxgboost's OpenMP, and is found through it.
//!
//! libxgboost trusts a model's bytes. Only files that the engine has written from a checked model may go to
//! [`Booster::of_model`] and [`Booster::load`].

#![allow(unsafe_code, reason = "it calls a C interface")]

mod booster;
mod matrix;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use libloading::os::unix::{self, RTLD_LOCAL, RTLD_NOW};
use serde::{Deserialize, Serialize};

pub use booster::{Booster, Output};
pub use matrix::{Batch, Feature, Layout, Matrix, MatrixOptions, Rows};

/// An error of libxgboost, which can be sent between processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Error {
    /// The library cannot be loaded.
    Missing {
        /// The path.
        path: String,
        /// The loader's message.
        reason: String,
    },
    /// The release is too old.
    Old(String),
    /// Memory ran out.
    OutOfMemory,
    /// The rows of a matrix cannot be read.
    Rows(String),
    /// The library's error message.
    Refused(String),
}

/// The result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Returns a message without source locations and stack traces, in one paragraph: the library's texts
/// begin with the time and a source location, and end with addresses.
pub(crate) fn user_message(text: &str) -> String {
    let text = text.split("Stack trace").next().unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| without_place(line.trim()))
        .filter(|line| !line.is_empty())
        .collect();
    let message = lines.join(" ");
    without_condition(&message).to_owned()
}

/// A message without `Check failed: a == b (1 vs. 2) : ` in front, if words follow that.
fn without_condition(message: &str) -> &str {
    let Some(check) = message.strip_prefix("Check failed: ") else { return message };
    // A condition has colons of C++ namespaces, which no blank follows.
    match check.split_once(": ") {
        Some((_, words)) if words.contains(' ') => words.trim(),
        _ => message,
    }
}

/// Strips the prefix `[12:34:56] /a/path/file.cc:78: `.
fn without_place(line: &str) -> &str {
    if !line.starts_with('[') {
        return line;
    }
    let after_time = line.split_once("] ").map_or(line, |(_, rest)| rest);
    match after_time.split_once(": ") {
        Some((place, rest)) if place.contains('/') || place.contains(".cc:") => rest.trim(),
        _ => after_time,
    }
}

/// Returns whether a text of libxgboost, its OpenMP, the C++ or the Rust runtime reports out of memory.
/// `bad_malloc` is XGBoost's since 3.4 (`src/common/ref_resource_view.h`).
pub fn means_out_of_memory(text: &str) -> bool {
    const WORDS: [&str; 6] = [
        "bad_alloc",
        "bad_malloc",
        "memory allocation of",
        "Out of memory",
        "Cannot allocate memory",
        "Thread creation failed",
    ];
    WORDS.iter().any(|word| text.contains(word))
}

/// The first release that stores categories in the model.
const MIN_VERSION: (c_int, c_int) = (3, 1);

/// The loaded library.
pub struct Library {
    pub(crate) symbols: Symbols,
    version: String,
}

impl Library {
    /// Loads the library for the life of the process.
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
        // Its warnings would go to standard output.
        // SAFETY: the text is zero-terminated.
        library.call(|symbols| unsafe {
            (symbols.XGBSetGlobalConfig)(c"{\"verbosity\":0}".as_ptr())
        })?;
        Ok(Box::leak(Box::new(library)))
    }

    /// Returns the release.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Limits the threads of calls without such an argument: among others, libxgboost copies labels
    /// with as many threads as cores.
    pub fn limit_threads(&self, threads: usize) {
        let threads = c_int::try_from(threads).unwrap_or(1).max(1);
        // SAFETY: accepts any positive number.
        unsafe { (self.symbols.omp_set_num_threads)(threads) };
    }

    /// Makes a call and checks its result.
    pub(crate) fn call(&self, function: impl FnOnce(&Symbols) -> c_int) -> Result<()> {
        if function(&self.symbols) == 0 { Ok(()) } else { Err(self.last_error()) }
    }

    fn last_error(&self) -> Error {
        // SAFETY: returns a string of the calling thread's, never null.
        let text = unsafe { CStr::from_ptr((self.symbols.XGBGetLastError)()) }.to_string_lossy();
        if means_out_of_memory(&text) {
            return Error::OutOfMemory;
        }
        Error::Refused(user_message(&text))
    }
}

/// Returns pointers to texts, valid as long as these.
pub(crate) fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

/// Converts a text for a call; it would end at a NUL, which no caller passes.
pub(crate) fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(text.get(..end).unwrap_or_default()).unwrap_or_default()
}

/// A handle to an object of libxgboost's.
pub(crate) type Handle = *mut c_void;

/// Rewinds an iterator.
pub(crate) type Reset = unsafe extern "C" fn(Handle);

/// Advances an iterator: 1 if there is a batch, 0 at the end.
pub(crate) type Next = unsafe extern "C" fn(Handle) -> c_int;

/// Declares the table of functions by C name and type.
macro_rules! symbols {
    ($($name:ident: fn($($argument:ty),* $(,)?) -> $result:ty;)*) => {
        /// The functions of the C API.
        #[allow(non_snake_case, missing_docs, reason = "the names are XGBoost's")]
        pub(crate) struct Symbols {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Symbols {
            /// Finds all functions.
            fn find(library: &unix::Library) -> std::result::Result<Symbols, libloading::Error> {
                Ok(Symbols {
                    // SAFETY: XGBoost's function of this name has this type.
                    $($name: *unsafe { library.get(stringify!($name).as_bytes())? },)*
                })
            }
        }
    };
}

symbols! {
    XGBGetLastError: fn() -> *const c_char;
    XGBoostVersion: fn(*mut c_int, *mut c_int, *mut c_int) -> ();
    XGBSetGlobalConfig: fn(*const c_char) -> c_int;
    XGProxyDMatrixCreate: fn(*mut Handle) -> c_int;
    XGProxyDMatrixSetDataDense: fn(Handle, *const c_char) -> c_int;
    XGProxyDMatrixSetDataColumnar: fn(Handle, *const c_char) -> c_int;
    XGQuantileDMatrixCreateFromCallback:
        fn(Handle, Handle, Handle, Reset, Next, *const c_char, *mut Handle) -> c_int;
    XGDMatrixSetInfoFromInterface: fn(Handle, *const c_char, *const c_char) -> c_int;
    XGDMatrixSetStrFeatureInfo: fn(Handle, *const c_char, *const *const c_char, u64) -> c_int;
    XGDMatrixFree: fn(Handle) -> c_int;
    XGBoosterCreate: fn(*const Handle, u64, *mut Handle) -> c_int;
    XGBoosterFree: fn(Handle) -> c_int;
    XGBoosterSetParam: fn(Handle, *const c_char, *const c_char) -> c_int;
    XGBoosterSetStrFeatureInfo: fn(Handle, *const c_char, *const *const c_char, u64) -> c_int;
    XGBoosterUpdateOneIter: fn(Handle, c_int, Handle) -> c_int;
    XGBoosterEvalOneIter:
        fn(Handle, c_int, *const Handle, *const *const c_char, u64, *mut *const c_char) -> c_int;
    XGBoosterSlice: fn(Handle, c_int, c_int, c_int, *mut Handle) -> c_int;
    XGBoosterSaveModelToBuffer: fn(Handle, *const c_char, *mut u64, *mut *const c_char) -> c_int;
    XGBoosterLoadModelFromBuffer: fn(Handle, *const c_void, u64) -> c_int;
    XGBoosterPredictFromDense: fn(
        Handle, *const c_char, *const c_char, Handle,
        *mut *const u64, *mut u64, *mut *const f32,
    ) -> c_int;
    omp_set_num_threads: fn(c_int) -> ();
}

impl Symbols {
    /// Loads the library, for good, and finds the functions.
    pub(crate) fn load(path: &Path) -> std::result::Result<Symbols, libloading::Error> {
        // SAFETY: the library's initialisers start no threads.
        let library = unsafe { unix::Library::open(Some(path), RTLD_NOW | RTLD_LOCAL)? };
        Symbols::find(&ManuallyDrop::new(library))
    }
}

/// Converts a number for the API.
pub(crate) fn count(number: usize) -> u64 {
    number as u64
}

/// Converts a round's number for the API.
pub(crate) fn round_number(round: u32) -> c_int {
    c_int::try_from(round).unwrap_or(c_int::MAX)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn source_locations_and_stack_traces_are_removed() {
        let text = "[10:11:12] /src/data/data.cc:41: Check failed: valid: Label contains NaN.\n\
                    Stack trace:\n  [bt] (0) libxgboost.so(+0x22dbbc) [0x7fb3]\n";
        assert_eq!(user_message(text), "Label contains NaN.");
        let text = "[10:11:12] /src/a.cc:4: Check failed: a == b (1 vs. 2) : Sizes differ.";
        assert_eq!(user_message(text), "Sizes differ.");
        assert_eq!(
            user_message("Check failed: n > 0 (0 vs. 0) : "),
            "Check failed: n > 0 (0 vs. 0) :"
        );
    }

    #[test]
    fn plain_text_is_unchanged() {
        assert_eq!(user_message("value 5 exceeds bound"), "value 5 exceeds bound");
        assert_eq!(user_message("two\nlines"), "two lines");
    }

    #[test]
    fn all_reports_of_out_of_memory_are_recognized() {
        assert!(means_out_of_memory("std::bad_alloc"));
        assert!(means_out_of_memory("bad_malloc: Failed to allocate 37183104 bytes."));
        assert!(!means_out_of_memory("Check failed: preds.size() == labels.size()"));
    }
}
