//! The functions of libxgboost's C interface that are used here, found by their names.
//!
//! The interface is stable: XGBoost adds functions to it and does not change those that are there.
//! A library without one of these is too old or not XGBoost, and is refused as a whole. The last
//! one is of the OpenMP that libxgboost brings, and is found through it.

use std::ffi::{c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// A handle to something of libxgboost's.
pub(crate) type Handle = *mut c_void;

/// Starts an iterator again.
pub(crate) type Reset = unsafe extern "C" fn(Handle);

/// Moves an iterator on: 1 if there is a batch, 0 at the end.
pub(crate) type Next = unsafe extern "C" fn(Handle) -> c_int;

/// Declares the table: each function under its C name, with its type.
macro_rules! symbols {
    ($($name:ident: fn($($argument:ty),* $(,)?) -> $result:ty;)*) => {
        /// The functions.
        #[allow(non_snake_case, missing_docs, reason = "the names are XGBoost's")]
        pub(crate) struct Symbols {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Symbols {
            /// Finds them all.
            fn find(library: &Library) -> Result<Symbols, libloading::Error> {
                Ok(Symbols {
                    // SAFETY: a function of that name in XGBoost's library has that type.
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
    /// Loads the library and finds the functions. It stays loaded.
    pub(crate) fn load(path: &Path) -> Result<Symbols, libloading::Error> {
        // SAFETY: the library's initialisers start no threads.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL)? };
        Symbols::find(&ManuallyDrop::new(library))
    }
}

/// The number of something as the interface counts it.
pub(crate) fn count(number: usize) -> u64 {
    number as u64
}

/// The number of a round as the interface counts it.
pub(crate) fn round_number(round: u32) -> c_int {
    c_int::try_from(round).unwrap_or(c_int::MAX)
}
