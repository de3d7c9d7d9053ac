//! The paths of the trainer and of libxgboost: the folder `pgboost_train` next to this extension's library, which
//! has the trainer and the unpacked wheel of XGBoost.

use std::ffi::{CStr, OsStr, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) fn library() -> PathBuf {
    in_library_folder("pgboost_train/xgboost/lib/libxgboost.so")
}

pub(super) fn trainer() -> PathBuf {
    in_library_folder("pgboost_train/pgboost_trainer")
}

fn in_library_folder(path: &str) -> PathBuf {
    library_folder().map_or_else(|| PathBuf::from(path), |folder| folder.join(path))
}

/// Returns the folder of this extension's library.
fn library_folder() -> Option<PathBuf> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    let address: *const c_void = (library_folder as fn() -> Option<PathBuf>) as *const c_void;
    // SAFETY: the address lies in this library; the record is filled if the call succeeds, and its
    // name is null or a string that lives as long as the library.
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
