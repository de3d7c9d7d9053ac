//! PostgreSQL's settings: a prefix of our own, and one of its own for the time of a query.

use std::ffi::CStr;

use pgrx::pg_sys;

/// Makes PostgreSQL refuse settings with this prefix that are not defined.
pub fn reserve_prefix(prefix: &'static CStr) {
    // SAFETY: the prefix lives for ever and ends in a NUL; the function is called from _PG_init.
    #[cfg(not(feature = "pg14"))]
    unsafe {
        pg_sys::MarkGUCPrefixReserved(prefix.as_ptr());
    }
    // SAFETY: as above, under the name that it had in PostgreSQL 14.
    #[cfg(feature = "pg14")]
    unsafe {
        pg_sys::EmitWarningsOnPlaceholders(prefix.as_ptr());
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
