//! How much each version of a model is used, for `pg_stat_pgboost`.
//!
//! Backends count in memory that they all map: a file beside the images (`file`), so that nothing needs to be
//! preloaded, and standbys count for themselves. A statement counts for itself first and adds to what is
//! shared when it ends (`Tally`). Where `pgboost.track_predictions` is off there is no tally.

#[allow(unsafe_code, reason = "maps a file that all backends write; see the file's header")]
mod file;

use std::rc::Rc;
use std::time::Instant;

use file::SlotOf;
pub use file::{Counters, counters, reset};
use pg_interface::unguarded;
use row_source::distribution::Ranges;

use crate::guc;

/// What a statement counts of one version, and where it adds that. It stays with what else statements
/// leave for the next ones, which then need not look for the slot.
#[derive(Default)]
pub struct Tally {
    /// Whether the statement counts.
    on: bool,
    slot: Option<SlotOf>,
    /// The ranges of the features in training, if they are known, and after how many changes of the
    /// registry they were asked for.
    ranges: Option<Rc<Ranges>>,
    changes: u64,
    counted: Counters,
    began: Option<Instant>,
}

impl Tally {
    /// Begins a statement, which counts for a version of a model after so many changes of the registry,
    /// if predictions are counted and there is room for another version. `ranges` finds those of the
    /// features in training.
    #[inline]
    pub fn begin(
        &mut self,
        reference: &str,
        version: i32,
        changes: u64,
        ranges: impl FnOnce(&str) -> Option<Rc<Ranges>>,
    ) {
        self.on = guc::track();
        if self.on {
            let serves = self.slot.as_ref().is_some_and(|slot| slot.serves(version));
            if !serves || self.changes != changes {
                let name = reference.rsplit_once('@').map_or(reference, |(name, _)| name);
                self.slot = SlotOf::new(name, version);
                (self.ranges, self.changes) = (ranges(name), changes);
            }
            self.on = self.slot.is_some();
        }
    }

    /// Forgets the model that it counts for.
    pub fn forget(&mut self) {
        self.slot = None;
    }

    /// Ends a statement: adds what it has counted.
    #[inline]
    pub fn end(&mut self) {
        if self.on {
            self.add();
        }
    }

    #[inline(never)]
    fn add(&mut self) {
        let mut counted = std::mem::take(&mut self.counted);
        if let Some(slot) = self.slot.as_ref().filter(|_| counted.rows > 0) {
            counted.last_used = unguarded::GetCurrentStatementStartTimestamp();
            slot.add(&counted);
        }
    }

    /// Begins to take the time of a row or of a batch.
    #[inline]
    pub fn start(&mut self) {
        if self.on {
            self.began = Some(Instant::now());
        }
    }

    /// Counts a row of these features that the function was called for.
    #[inline]
    pub fn count_call(&mut self, features: &[f32]) {
        if !self.on {
            return;
        }
        self.counted.calls += 1;
        self.counted.rows += 1;
        self.counted.missing += u64::from(has_missing(features));
        if let Some(ranges) = &self.ranges {
            self.counted.outside += u64::from(ranges.exclude(features));
        }
        self.stop();
    }

    /// Counts the rows of a batch; `features.len() == rows * width`.
    pub fn count_batch(&mut self, features: &[f32], width: usize) {
        if !self.on {
            return;
        }
        let rows = features.chunks_exact(width.max(1));
        self.counted.batches += 1;
        self.counted.rows += rows.len() as u64;
        self.counted.missing += rows.clone().filter(|row| has_missing(row)).count() as u64;
        if let Some(ranges) = &self.ranges {
            self.counted.outside += rows.filter(|row| ranges.exclude(row)).count() as u64;
        }
        self.stop();
    }

    #[inline]
    fn stop(&mut self) {
        let passed = self.began.take().map_or(0, |began| began.elapsed().as_nanos());
        self.counted.nanoseconds += u64::try_from(passed).unwrap_or(u64::MAX);
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.end();
    }
}

#[inline]
fn has_missing(features: &[f32]) -> bool {
    features.iter().any(|feature| feature.is_nan())
}
