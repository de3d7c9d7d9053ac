//! Settings of the server: the extensions' prefixes, values, and values that hold for a while.

use std::ffi::{CStr, CString};

use pgrx::pg_sys;

use crate::Report;

/// Makes PostgreSQL refuse settings with this prefix that are not defined.
pub fn reserve_prefix(prefix: &'static CStr) {
    // SAFETY: the prefix lives for ever and ends in a NUL; the function is called from _PG_init.
    unsafe {
        pg_sys::MarkGUCPrefixReserved(prefix.as_ptr());
    }
}

/// The value of a setting as SHOW tells it; nothing if there is no such setting.
pub fn value(name: &CStr) -> Option<String> {
    // SAFETY: the name ends in a NUL; returns a C string, or null.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

/// Runs the closure while a setting of PostgreSQL's has that value.
///
/// An error leaves it as it is: PostgreSQL restores it when it aborts the transaction or
/// subtransaction.
pub fn with_setting<T>(name: &'static CStr, value: &'static CStr, run: impl FnOnce() -> T) -> T {
    // SAFETY: both texts end in a NUL; PostgreSQL raises if it takes neither. The nest level is
    // closed below or by the abort.
    let level = unsafe {
        let level = pg_sys::NewGUCNestLevel();
        pg_sys::set_config_option(
            name.as_ptr(),
            value.as_ptr(),
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
    // SAFETY: closes the level that was opened above.
    unsafe { pg_sys::AtEOXact_GUC(false, level) };
    result
}

/// Leaves the texts of the error that PostgreSQL reports for a value that a check hook refuses.
pub fn refuse_value(error: Report) {
    let copied = |text: String| {
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: the text ends in a NUL.
        unsafe { pg_sys::pstrdup(text.as_ptr()) }
    };
    // SAFETY: variables of the backend, which a check hook may set.
    unsafe {
        pg_sys::GUC_check_errcode(error.sqlstate as i32);
        pg_sys::GUC_check_errmsg_string = copied(error.message);
        pg_sys::GUC_check_errdetail_string = error.detail.map_or(std::ptr::null_mut(), copied);
        pg_sys::GUC_check_errhint_string = error.hint.map_or(std::ptr::null_mut(), copied);
    }
}
