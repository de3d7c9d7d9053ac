//! The one setting: how many threads a training may use.

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

const DEFAULT: i32 = 0;
const MIN: i32 = 0;
const MAX: i32 = 1024;

static MAX_THREADS: GucSetting<i32> = GucSetting::<i32>::new(DEFAULT);

/// Makes the setting known to PostgreSQL.
pub fn define() {
    GucRegistry::define_int_guc(
        c"pgboost_train.max_threads",
        c"Sets the most threads that a training may use.",
        c"Zero means as many as there are cores.",
        &MAX_THREADS,
        MIN,
        MAX,
        GucContext::Suset,
        GucFlags::default(),
    );
    pg_interface::settings::reserve_prefix(c"pgboost_train");
}

/// The most threads that a training may use: no more than there are cores, nor than the setting.
pub fn max_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match usize::try_from(MAX_THREADS.get()) {
        Ok(limit @ 1..) => cores.min(limit),
        _ => cores,
    }
}
