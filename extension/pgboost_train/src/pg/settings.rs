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

/// Runs the closure while scans of one table start at its first page, also if another scan of it is
/// under way: the rows of a table that nobody changes then come in the same order each time.
pub fn with_scans_in_order<T>(run: impl FnOnce() -> T) -> T {
    // SAFETY: the setting exists and the value is valid; the level is closed below, or by the abort
    // that an error leads to.
    let level = unsafe {
        let level = pg_sys::NewGUCNestLevel();
        pg_sys::set_config_option(
            c"synchronize_seqscans".as_ptr(),
            c"off".as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
        level
    };
    let result = run();
    // SAFETY: closes the level.
    unsafe { pg_sys::AtEOXact_GUC(false, level) };
    result
}
