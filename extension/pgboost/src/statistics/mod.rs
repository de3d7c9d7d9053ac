//! How much each version of a model is used, for `pg_stat_pgboost`.
//!
//! Backends count in memory that they all map: a file next to the images (`file`), so that nothing needs to be
//! preloaded, and standbys count for themselves. A statement counts for itself first and adds to what is
//! shared when it ends (`PendingCounters`). Where `pgboost.track_predictions` is off nothing is
//! counted, and nothing of the features' baseline is read.

#[allow(unsafe_code, reason = "maps a file that all backends write; see the file's header")]
mod file;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use file::SlotOf;
pub(crate) use file::{Counters, counters, reset};
use pg_interface::{Oid, unguarded};
use row_source::distribution::Ranges;

use crate::guc;
use crate::registry::{Registry, baseline};

/// What a statement counts of one version, and where it adds that. It stays with what else statements
/// leave for the next ones, which then need not look for the slot.
#[derive(Default)]
pub(crate) struct PendingCounters {
    /// Whether the statement counts.
    on: bool,
    slot: Option<SlotOf>,
    /// The ranges of the features in training, if they are known, and the generation under which they were read.
    ranges: Option<Rc<Ranges>>,
    generation: u64,
    counted: Counters,
    began: Option<Instant>,
}

impl PendingCounters {
    /// Begins a statement, which counts for a version of a model under that generation of the registry,
    /// if predictions are counted and there is room for another version.
    #[inline]
    pub(crate) fn begin(&mut self, reference: &str, version: i32, generation: u64, function: Oid) {
        self.on = guc::track();
        if self.on {
            let is_same = self.slot.as_ref().is_some_and(|slot| slot.is_of_version(version));
            if !is_same || self.generation != generation {
                let name = reference.rsplit_once('@').map_or(reference, |(name, _)| name);
                self.slot = SlotOf::new(name, version);
                self.ranges = training_ranges(name, version, generation, function);
                self.generation = generation;
            }
            self.on = self.slot.is_some();
        }
    }

    /// Forgets the model that it counts for.
    pub(crate) fn forget(&mut self) {
        self.slot = None;
    }

    /// Ends a statement: adds what it has counted.
    #[inline]
    pub(crate) fn end(&mut self) {
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
    pub(crate) fn start(&mut self) {
        if self.on {
            self.began = Some(Instant::now());
        }
    }

    /// Counts a row of these features that the function was called for.
    #[inline]
    pub(crate) fn count_call(&mut self, features: &[f32]) {
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
    pub(crate) fn count_batch(&mut self, features: &[f32], width: usize) {
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

/// The ranges of the features in training, by name and version, of one generation of the registry.
#[derive(Default)]
struct KnownRanges {
    generation: u64,
    by_version: HashMap<(String, i32), Option<Rc<Ranges>>>,
}

/// Versions whose ranges are kept.
const MAX_KNOWN: usize = 1000;

thread_local! {
    static KNOWN: RefCell<KnownRanges> = RefCell::default();
}

/// The ranges of the features in the training of a version; `function` leads to the registry.
#[cold]
fn training_ranges(name: &str, version: i32, generation: u64, function: Oid) -> Option<Rc<Ranges>> {
    let key = (name.to_owned(), version);
    let known = KNOWN.with_borrow_mut(|known| {
        if known.generation != generation || known.by_version.len() >= MAX_KNOWN {
            *known = KnownRanges { generation, ..KnownRanges::default() };
        }
        known.by_version.get(&key).cloned()
    });
    if let Some(ranges) = known {
        return ranges;
    }
    let registry = Registry::of_function(function).ok()?;
    let ranges = baseline::ranges(&registry, name, version).map(Rc::new);
    KNOWN.with_borrow_mut(|known| known.by_version.insert(key, ranges.clone()));
    ranges
}

impl Drop for PendingCounters {
    fn drop(&mut self) {
        self.end();
    }
}

#[inline]
fn has_missing(features: &[f32]) -> bool {
    features.iter().any(|feature| feature.is_nan())
}
