//! How much each version of a model is used, for `pg_stat_pgboost`.
//!
//! Backends count in memory that they all map: a file beside the images (`file`), so that nothing needs to be
//! preloaded, and standbys count for themselves. A statement counts for itself first and adds to what is
//! shared when it ends (`Tally`). Where `pgboost.track_predictions` is off there is no tally.

#[allow(unsafe_code, reason = "maps a file that all backends write; see the file's header")]
mod file;

use std::time::Instant;

use pg_interface::unguarded;

pub use file::{Counters, counters, reset};

use file::Slot;

/// What one statement has counted of one version, and where it will be added.
pub struct Tally {
    slot: &'static Slot,
    counted: Counters,
    began: Instant,
}

impl Tally {
    /// Begins to count for a version; nothing if there is no room for another version.
    pub fn of(name: &str, version: i32) -> Option<Tally> {
        let slot = file::slot(name, version)?;
        Some(Tally { slot, counted: Counters::default(), began: Instant::now() })
    }

    /// Begins to take the time of a row or of a batch.
    #[inline]
    pub fn start(&mut self) {
        self.began = Instant::now();
    }

    /// Counts a row of these features that the function was called for.
    #[inline]
    pub fn count_call(&mut self, features: &[f32]) {
        self.counted.calls += 1;
        self.counted.rows += 1;
        self.counted.missing += u64::from(has_missing(features));
        self.stop();
    }

    /// Counts the rows of a batch; `features.len() == rows * width`.
    pub fn count_batch(&mut self, features: &[f32], width: usize) {
        let rows = features.chunks_exact(width.max(1));
        self.counted.batches += 1;
        self.counted.rows += rows.len() as u64;
        self.counted.missing += rows.filter(|row| has_missing(row)).count() as u64;
        self.stop();
    }

    #[inline]
    fn stop(&mut self) {
        let passed = self.began.elapsed().as_nanos();
        self.counted.nanoseconds += u64::try_from(passed).unwrap_or(u64::MAX);
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if self.counted.rows > 0 {
            self.counted.last_used = unguarded::GetCurrentStatementStartTimestamp();
            self.slot.add(&self.counted);
        }
    }
}

#[inline]
fn has_missing(features: &[f32]) -> bool {
    features.iter().any(|feature| feature.is_nan())
}
