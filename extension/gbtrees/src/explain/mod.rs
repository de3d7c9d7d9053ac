//! Explanations: the importance of features in a model, and their contributions to a row.
//!
//! Contributions are each feature's share of a margin, interactions each pair's. They are Shapley
//! values of TreeSHAP's path-dependent game: a feature outside of a coalition sends a row down both
//! sides of its splits, weighted by covers. Categories combined by a target statistic are one player
//! and share its contribution evenly.
//!
//! `reference` is the oracle, straight from the definition. `walk` has the formula: a tree's
//! derivative, computed backwards for blocks of rows, inside an integral solved by Gauss-Legendre
//! quadrature; `row` does the same for one row. `factors` holds what rows share, `batch` takes rows
//! through the trees, `block` runs a walk, `lanes` has the instructions.

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
use crate::memory::allocated;
use crate::quadrature::{MAX_POINTS, Points, Rule};

/// Reusable buffers for explanations of any compiled model; rows allocate nothing once they have grown.
pub struct ContributionScratch {
    /// Instructions for blocks of rows.
    level: Level,
    row_keys: RowKeys,
    ctrs: CtrBuffers,
    present: Vec<f32>,
    /// One key per block, slot and row.
    keys: Vec<u32>,
    /// One sum per block, output, place and row.
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
    /// Creates buffers for a kernel; the default is the processor's best.
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

    /// Returns the bytes that it has allocated, for callers that keep it.
    pub fn bytes(&self) -> usize {
        self.row_keys.bytes()
            + self.ctrs.bytes()
            + allocated(&self.present)
            + allocated(&self.keys)
            + allocated(&self.sums)
            + self.factors.bytes()
            + self.walks.bytes()
            + self.rows.bytes()
            + self.rules.bytes()
    }
}

/// Quadrature rules used so far.
#[derive(Default)]
struct Rules(Vec<(usize, Vec<Points>)>);

impl Rules {
    fn bytes(&self) -> usize {
        let points = |points: &Points| allocated(&points.points) + allocated(&points.weights);
        let rules =
            self.0.iter().map(|(_, rule)| allocated(rule) + rule.iter().map(points).sum::<usize>());
        allocated(&self.0) + rules.sum::<usize>()
    }

    /// Returns the rule of `count` points, in chunks of what a walk handles at once; 7 points become 8.
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
