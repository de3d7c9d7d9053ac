//! The settings: what a training may use of the machine.

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

/// About 3 GB, at twelve bytes each.
const DEFAULT_PREDICTIONS: i32 = 250_000_000;

static MAX_PREDICTIONS: GucSetting<i32> = GucSetting::<i32>::new(DEFAULT_PREDICTIONS);
static MAX_THREADS: GucSetting<i32> = GucSetting::<i32>::new(0);

pub fn define() {
    GucRegistry::define_int_guc(
        c"pgboost_train.max_predictions",
        c"Sets the most rows times outputs of a training.",
        c"A training needs at least twelve bytes of memory for each. Zero means any number.",
        &MAX_PREDICTIONS,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"pgboost_train.max_threads",
        c"Sets the most threads that a training may use.",
        c"Zero means as many as there are cores.",
        &MAX_THREADS,
        0,
        1024,
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

/// The most rows times outputs of a training, if there is a limit.
pub fn max_predictions() -> Option<u64> {
    u64::try_from(MAX_PREDICTIONS.get()).ok().filter(|max| *max > 0)
}
