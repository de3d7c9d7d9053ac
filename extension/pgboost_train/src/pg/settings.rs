//! Settings by their names, whoever has defined them.

use std::ffi::CStr;

use pgrx::pg_sys;

/// Whether a setting is defined. One that somebody has only given a value, for a library that is
/// not loaded yet, is not. A setting that is asked for here must have some flag.
pub fn is_defined(name: &'static CStr) -> bool {
    // SAFETY: the name ends in a NUL; a setting that is not there has no flags.
    let flags = unsafe { pg_sys::GetConfigOptionFlags(name.as_ptr(), true) };
    flags != 0 && flags & pg_sys::GUC_CUSTOM_PLACEHOLDER.cast_signed() == 0
}

/// The value of a setting that is an integer.
pub fn integer(name: &'static CStr) -> Option<i32> {
    // SAFETY: the name ends in a NUL; the value is null or a string of PostgreSQL's.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        if value.is_null() {
            return None;
        }
        CStr::from_ptr(value).to_str().ok()?.parse().ok()
    }
}
