//! The one setting: how many threads a training may use.
//!
//! Its name has the prefix that extension pgboost reserves for itself. PostgreSQL takes a setting
//! with a reserved prefix as long as it is defined, and so both libraries define it unless the
//! other has: which of them is loaded first depends on what a connection calls first.

use std::ffi::CStr;

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

const MAX_TRAIN_THREADS: &CStr = c"pgboost.max_train_threads";
const DEFAULT: i32 = 0;
const MIN: i32 = 0;
const MAX: i32 = 1024;

static THREADS: GucSetting<i32> = GucSetting::<i32>::new(DEFAULT);

/// Makes the setting known to PostgreSQL.
pub fn define() {
    if crate::pg::settings::is_defined(MAX_TRAIN_THREADS) {
        return;
    }
    GucRegistry::define_int_guc(
        MAX_TRAIN_THREADS,
        c"Sets the most threads that a training may use.",
        c"Zero means as many as there are cores.",
        &THREADS,
        MIN,
        MAX,
        GucContext::Suset,
        // Some flag is what tells a defined setting from one that is not there.
        GucFlags::NOT_WHILE_SEC_REST,
    );
}

/// The most threads that a training may use: no more than there are cores, nor than the setting.
pub fn max_train_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Asked by its name, because the other library may hold the value.
    match crate::pg::settings::integer(MAX_TRAIN_THREADS) {
        Some(limit) if limit > 0 => cores.min(usize::try_from(limit).unwrap_or(cores)),
        _ => cores,
    }
}
