//! Blocks of rows over tiles: bit slicing instead of comparisons.
//!
//! A block is 512 rows; one bit per row makes a [`types::Mask`]. Each condition is evaluated once for
//! the whole block, into one mask. Then a tile is traversed for all rows together: the first bit of
//! every row's path is the root's mask, the second is chosen by the first from the masks of the two
//! nodes below, and so on, each choice being one instruction on many rows. The bits of a path are the
//! index of its leaf.
//!
//! `block_sums` has the order of operations, common to all instruction sets. An instruction set is a
//! file with a [`BlockKernel`], a table of functions. Callers hold a [`crate::eval::Kernel`], which
//! exists only if the processor has its instructions.
#![allow(unsafe_code, reason = "vector instructions")]

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512bw;
mod block_sums;
mod code_masks;
mod columns;
mod compounds;
mod instructions;
mod lower_levels;
#[cfg(target_arch = "x86_64")]
mod mask_avx512;
mod mux;
#[cfg(target_arch = "aarch64")]
pub(super) mod neon;
pub(super) mod portable;
#[cfg(target_arch = "x86_64")]
mod rank_avx2;
mod rank_masks;
mod rank_scalar;
#[cfg(target_arch = "x86_64")]
mod rank_sse2;
#[cfg(target_arch = "x86_64")]
mod sse2;
mod types;
mod vectors;

pub(super) use crate::eval::block::block_sums::Buffers;
use crate::eval::block::types::parts_in_use;
pub(super) use crate::eval::block::types::{BLOCK, BlockKernel, BlockRows, BlockSum};

use crate::compiled::sections::{
    COMPOUND_RUNS, CONDITION_COLUMNS, CONDITION_RUNS, OUTPUTS, ROOTS, Sections, TILE_GROUPS,
};
use crate::compiled::tiles::{ConditionColumn, MAX_TREE, TileForm, TileGroup};
use crate::eval::block::columns::columns_by_search;

/// Cost of a step of interleaved traversal beyond one in a block, in picoseconds.
const STEP_COST: u64 = 360;
/// Cost of a feature's keys, which blocks without deep trees do not need, in picoseconds.
const KEYS_COST: u64 = 400;
/// Cost of a level of a shared search, and of each column in it, in picoseconds.
const SHARED_LEVEL_COST: u64 = 350;
const SHARING_COST: u64 = 300;

impl BlockKernel {
    /// Returns whether a block may pay off for `rows` rows.
    pub(super) fn takes(&self, rows: usize) -> bool {
        rows >= self.min_rows
    }

    /// Computes the sums of up to [`BLOCK`] rows if this costs less than `total_depth` steps per row;
    /// returns whether it did.
    ///
    /// # Safety
    /// The processor has the kernel's instructions.
    pub(super) unsafe fn sums<S: BlockSum>(
        &self,
        compiled: Sections<'_>,
        total_depth: u64,
        buffers: &mut Option<Buffers<S>>,
        rows: &BlockRows<'_>,
        out: &mut [S],
    ) -> bool {
        if compiled.get(TILE_GROUPS).is_empty()
            || !self.takes(rows.count)
            || !self.pays(compiled, total_depth, rows)
        {
            return false;
        }
        let buffers = buffers.get_or_insert_with(Buffers::new);
        // SAFETY: the processor has the kernel's instructions.
        unsafe { block_sums::sums(self, compiled, buffers, rows, out) };
        true
    }

    /// Returns whether the steps saved cost more than ranks, and than nodes and conditions for rows that are
    /// walked and not there; [`STEP_COST`] is net of a full block's share of these.
    fn pays(&self, compiled: Sections<'_>, total_depth: u64, rows: &BlockRows<'_>) -> bool {
        let below = |group: &TileGroup| u64::from(group.below) * u64::from(group.count);
        let below: u64 = compiled.get(TILE_GROUPS).iter().map(below).sum();
        // Outputs of one tree of the model are walked once.
        let (walked, trees) = (compiled.get(ROOTS).len(), compiled.get(OUTPUTS).len());
        let below = below * walked as u64 / trees.max(1) as u64;
        let keys = if below == 0 { KEYS_COST * rows.num_features as u64 } else { 0 };
        let steps = STEP_COST.saturating_mul(total_depth.saturating_sub(below));
        let saved = steps.saturating_add(keys).saturating_sub(self.ranks_cost(compiled));
        let walked = parts_in_use(rows.count, self.parts) * BLOCK / self.parts;
        let unused = walked.saturating_sub(rows.count) as u64;
        let wasted = if unused > 0 { self.block_cost(compiled) * unused / BLOCK as u64 } else { 0 };
        wasted < saved.saturating_mul(rows.count as u64)
    }

    /// Returns the cost of ranks per row.
    fn ranks_cost(&self, compiled: Sections<'_>) -> u64 {
        let cost_of = |columns: &[ConditionColumn]| {
            if columns.len() < self.min_sharing {
                let levels = columns.iter().map(|column| u64::from(column.levels));
                self.costs.level * levels.sum::<u64>()
            } else {
                let levels = columns.len().ilog2() + MAX_TREE.ilog2();
                SHARED_LEVEL_COST * u64::from(levels) + SHARING_COST * columns.len() as u64
            }
        };
        let columns = compiled.get(CONDITION_COLUMNS).windows(2);
        let follow = columns.filter(|pair| pair[1].follows(&pair[0]));
        let saved = follow.map(|pair| self.costs.level * u64::from(pair[1].levels)).sum();
        columns_by_search(compiled).map(cost_of).sum::<u64>().saturating_sub(saved)
    }

    /// Returns the cost of nodes and conditions per block.
    fn block_cost(&self, compiled: Sections<'_>) -> u64 {
        let groups = compiled.get(TILE_GROUPS);
        let nodes_of = |group: &TileGroup| match group.form {
            TileForm::Symmetric => u64::from(group.count) * u64::from(group.levels),
            TileForm::Plain | TileForm::Coded => u64::from(group.count) << group.levels,
        };
        let compounds = compiled.get(COMPOUND_RUNS).iter();
        let ops = compounds.map(|run| u64::from(run.count) * u64::from(run.length));
        let nodes = groups.iter().map(nodes_of).chain(ops).sum::<u64>();
        let runs = compiled.get(CONDITION_RUNS);
        let conditions: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
        self.costs.node * nodes + self.costs.condition * conditions
    }
}
