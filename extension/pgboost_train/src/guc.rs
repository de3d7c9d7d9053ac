//! The settings: limits of a training's threads and memory.

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

/// In kB.
const DEFAULT_PREDICTION_MEMORY: i32 = 3 << 20;

static MAX_PREDICTION_MEMORY: GucSetting<i32> = GucSetting::<i32>::new(DEFAULT_PREDICTION_MEMORY);
static MAX_THREADS: GucSetting<i32> = GucSetting::<i32>::new(0);

pub(crate) fn define() {
    GucRegistry::define_int_guc(
        c"pgboost_train.max_prediction_memory",
        c"Sets the maximum memory to be used for the predictions of a training.",
        c"A training needs twelve bytes for each output of each row, besides its other memory. Zero means no limit.",
        &MAX_PREDICTION_MEMORY,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_KB,
    );
    GucRegistry::define_int_guc(
        c"pgboost_train.max_threads",
        c"Sets the maximum number of threads of a training.",
        c"Zero selects half of the cores, at least one. A training never uses more threads than there are cores.",
        &MAX_THREADS,
        0,
        1024,
        GucContext::Suset,
        GucFlags::default(),
    );
    pg_interface::session::reserve_prefix(c"pgboost_train");
}

/// Returns the most threads that a training may use: the setting's, but no more than the machine has cores.
pub(crate) fn max_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    allowed_threads(MAX_THREADS.get(), cores)
}

/// Returns the threads that a setting allows on a machine with `cores`: by default half of them, so that a
/// training leaves the others to the server.
fn allowed_threads(setting: i32, cores: usize) -> usize {
    match usize::try_from(setting) {
        Ok(limit @ 1..) => cores.min(limit),
        _ => (cores / 2).max(1),
    }
}

/// Returns the most bytes that a training's predictions may take, or `None` without a limit.
pub(crate) fn max_prediction_bytes() -> Option<u64> {
    u64::try_from(MAX_PREDICTION_MEMORY.get()).ok().filter(|max| *max > 0).map(|max| max << 10)
}

#[cfg(test)]
mod tests {
    use super::allowed_threads;

    #[test]
    fn a_training_takes_half_of_the_cores_unless_told_otherwise() {
        assert_eq!([1, 2, 3, 64].map(|cores| allowed_threads(0, cores)), [1, 1, 1, 32]);
        assert_eq!([1, 3, 4, 1024].map(|setting| allowed_threads(setting, 4)), [1, 3, 4, 4]);
    }
}
