//! What a model's predictions depend on.
//!
//! `importance` measures the whole model. Contributions explain one row: each feature's share of the
//! margin, and with interactions each pair's. They are Shapley values of the path-dependent game that
//! TreeSHAP defines: a feature that is not in a coalition sends a row down both sides of its splits,
//! weighed by their covers. Categories that a target statistic combines are one player, whose contribution
//! they share evenly. `reference` computes them as they are defined and is the oracle. `walk` has the formula:
//! the derivative of a tree backwards, for blocks of rows, under an integral that Gauss-Legendre quadrature
//! solves; `row` does the same for one row. `factors` has what rows share, `batch` takes rows through the
//! trees, `block` gives one block to a walk, and `lanes` has the instructions.

mod batch;
mod block;
mod contributions;
mod factors;
mod importance;
mod lanes;
pub(crate) mod reference;
mod row;
#[cfg(test)]
mod tests;
mod walk;

pub use crate::explain::importance::{ImportanceKind, has_importance, importance};

use crate::eval::Kernel;
use crate::eval::ctr::CtrBuffers;
use crate::eval::row_keys::RowKeys;
use crate::explain::block::WalkBuffers;
use crate::explain::factors::SplitFactors;
use crate::explain::lanes::Level;
use crate::explain::row::RowBuffers;
use crate::quadrature::{MAX_POINTS, Points, Rule};

/// Buffers for explanations of any compiled model; nothing is allocated per row once they have grown.
pub struct ContributionScratch {
    /// The kernel's, for many rows.
    level: Level,
    row_keys: RowKeys,
    ctrs: CtrBuffers,
    present: Vec<f32>,
    /// By block and slot, one per row.
    keys: Vec<u32>,
    /// By block, output and place, one per row.
    sums: Vec<f64>,
    factors: SplitFactors,
    walks: WalkBuffers,
    rows: RowBuffers,
    rules: Rules,
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
            ctrs: CtrBuffers::default(),
            present: Vec::new(),
            keys: Vec::new(),
            sums: Vec::new(),
            factors: SplitFactors::default(),
            walks: WalkBuffers::default(),
            rows: RowBuffers::default(),
            rules: Rules::default(),
        }
    }

    /// What they take: a caller that keeps buffers bounds them by it.
    pub fn bytes(&self) -> usize {
        self.ctrs.bytes()
            + size_of::<f32>() * self.present.capacity()
            + size_of::<u32>() * self.keys.capacity()
            + size_of::<f64>() * self.sums.capacity()
            + self.factors.bytes()
            + self.rows.bytes()
            + self.walks.bytes()
    }
}

/// Rules of quadrature that have been asked for.
#[derive(Default)]
struct Rules(Vec<(usize, Vec<Points>)>);

impl Rules {
    /// The rule of so many points, as many as a walk can have at a time. A walk of 7 has 8.
    fn of(&mut self, count: usize) -> &[Points] {
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
