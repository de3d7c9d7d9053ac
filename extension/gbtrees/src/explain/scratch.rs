//! The buffers of explanations.

use crate::eval::Kernel;
use crate::eval::row_keys::RowKeys;
use crate::explain::row::RowBuffers;
use crate::explain::split_factors::{Points, SplitFactors};
use crate::explain::walk::{Level, MAX_POINTS, WalkBuffers};
use crate::quadrature::Rule;

/// Buffers for explanations of any compiled model; nothing is allocated per row once they have grown.
pub struct ContributionScratch {
    pub(super) level: Level,
    pub(super) row_keys: RowKeys,
    pub(super) present: Vec<f32>,
    /// By block and slot, one per row.
    pub(super) keys: Vec<u32>,
    /// By block, output and place, one per row.
    pub(super) sums: Vec<f64>,
    pub(super) numbers: SplitFactors,
    pub(super) walks: WalkBuffers,
    pub(super) rows: RowBuffers,
    pub(super) rules: Rules,
}

impl Default for ContributionScratch {
    fn default() -> Self {
        Self::with_kernel(Kernel::default())
    }
}

impl ContributionScratch {
    /// Buffers for a kernel; the default is the best of this processor.
    pub fn with_kernel(kernel: Kernel) -> Self {
        ContributionScratch {
            level: Level::of(kernel),
            row_keys: RowKeys::new(0),
            present: Vec::new(),
            keys: Vec::new(),
            sums: Vec::new(),
            numbers: SplitFactors::default(),
            walks: WalkBuffers::default(),
            rows: RowBuffers::default(),
            rules: Rules::default(),
        }
    }

    /// What they take: a caller that keeps buffers bounds them by it.
    pub fn bytes(&self) -> usize {
        size_of::<f32>() * self.present.capacity()
            + size_of::<u32>() * self.keys.capacity()
            + size_of::<f64>() * self.sums.capacity()
            + self.numbers.bytes()
            + self.rows.bytes()
            + self.walks.bytes()
    }
}

/// Rules of quadrature that have been asked for.
#[derive(Default)]
pub(super) struct Rules(Vec<(usize, Vec<Points>)>);

impl Rules {
    /// The rule of so many points, as many as a walk can have at a time. A walk of 7 has 8.
    pub(super) fn of(&mut self, count: usize) -> &[Points] {
        let count = if count < MAX_POINTS - 1 { count } else { count.next_multiple_of(MAX_POINTS) };
        let known = self.0.iter().position(|(known, _)| *known == count);
        let at = known.unwrap_or_else(|| {
            let Rule { points, weights } = Rule::of(count);
            let points = points.chunks(MAX_POINTS).zip(weights.chunks(MAX_POINTS));
            let rounded = |numbers: &[f64]| numbers.iter().map(|number| *number as f32).collect();
            let of_walks = points.map(|(points, weights)| Points {
                points: rounded(points),
                weights: rounded(weights),
            });
            self.0.push((count, of_walks.collect()));
            self.0.len() - 1
        });
        &self.0[at].1
    }
}
