//! The functions of libxgboost's C interface that are used here, found by their names.
//!
//! The interface is stable: XGBoost adds functions to it and does not change those that are there.
//! A library that lacks one of these is too old or not XGBoost, and is refused as a whole. The last one is
//! of the OpenMP that libxgboost brings, and is found through it.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A handle to something of libxgboost's.
pub type Handle = *mut c_void;

/// Starts an iterator again.
pub type Reset = unsafe extern "C" fn(Handle);

/// Moves an iterator on: 1 if there is a batch, 0 at the end.
pub type Next = unsafe extern "C" fn(Handle) -> c_int;

/// Declares the table: each function under its C name, with its type.
macro_rules! symbols {
    ($($name:ident: fn($($argument:ty),* $(,)?) -> $result:ty;)*) => {
        /// The functions.
        #[allow(non_snake_case, missing_docs, reason = "the names are XGBoost's")]
        pub struct Symbols {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Symbols {
            /// Finds them all.
            fn find(library: *mut c_void) -> Result<Symbols, String> {
                Ok(Symbols {
                    // SAFETY: a function of that name in XGBoost's library has that type.
                    $($name: unsafe {
                        std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($argument),*) -> $result,
                        >(symbol(library, concat!(stringify!($name), "\0"))?)
                    },)*
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
    /// Loads the library and finds the functions; the error is the loader's text.
    pub fn load(path: &CStr) -> Result<Symbols, String> {
        wait_without_spinning();
        // SAFETY: the path ends in a NUL; the library's initialisers start no threads.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(loader_error());
        }
        Symbols::find(library)
    }
}

/// Tells OpenMP, which reads this when it is loaded, that a thread with nothing to do sleeps. By default it
/// spins for some milliseconds, and on a server whose cores are busy that takes them from the others.
fn wait_without_spinning() {
    const POLICY: &str = "OMP_WAIT_POLICY";
    if std::env::var_os(POLICY).is_none() {
        // SAFETY: libxgboost is not loaded yet, so the backend has one thread.
        unsafe { std::env::set_var(POLICY, "passive") };
    }
}

/// The address of a function; the name ends in a NUL.
fn symbol(library: *mut c_void, name: &str) -> Result<*mut c_void, String> {
    // SAFETY: the library is loaded and the name ends in a NUL.
    let address = unsafe { libc::dlsym(library, name.as_ptr().cast()) };
    if address.is_null() { Err(loader_error()) } else { Ok(address) }
}

fn loader_error() -> String {
    // SAFETY: gives null or a string of the loader's.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "it cannot be loaded".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}

/// The folder of the library that this code is in.
pub fn own_folder() -> Option<PathBuf> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let address: *const c_void = (own_folder as fn() -> Option<PathBuf>) as *const c_void;
    // SAFETY: the address lies in this library; the record is filled if the call succeeds.
    let path = unsafe {
        if libc::dladdr(address, found.as_mut_ptr()) == 0 {
            return None;
        }
        let name = found.assume_init().dli_fname;
        if name.is_null() {
            return None;
        }
        Path::new(OsStr::from_bytes(CStr::from_ptr(name).to_bytes())).to_owned()
    };
    path.parent().map(Path::to_owned)
}

/// The number of something as the interface counts it.
pub fn count(number: usize) -> u64 {
    number as u64
}

/// The number of a round as the interface counts it.
pub fn round_number(round: u32) -> c_int {
    c_int::try_from(round).unwrap_or(c_int::MAX)
}
