//! Blocks of rows, over tiles: bit slicing, which has bits in place of comparisons.
//!
//! A block is 512 rows, and one bit per row makes a [`Mask`]. Each condition is evaluated once for the
//! whole block, which makes one mask. Then a tile is traversed for all rows together: the first bit of
//! every row's path is the mask of the root, the second is chosen by the first from the masks of the
//! two nodes below, and so on, each choice one instruction on many rows. The bits of a path are the
//! index of its leaf.
//!
//! `block_sums` has the order of things, for every instruction set alike. An instruction set brings a
//! [`BlockKernel`], a table of functions, in a file for it alone. Whoever calls a kernel has a
//! [`crate::eval::Kernel`], which there is only where the processor has its instructions.
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
mod rank_scalar;

pub(super) use crate::eval::block::block_sums::Buffers;

use crate::compiled::sections::{
    COMPOUND_RUNS, CONDITION_COLUMNS, CONDITION_RUNS, Sections, TILE_GROUPS,
};
use crate::compiled::tiles::{
    CodeTable, ConditionColumn, LargestTree, MAX_LEVELS, MAX_TREE, TILE_LEVELS, TileForm, TileGroup,
};
use crate::eval::block::columns::columns_by_search;
use crate::eval::sum::Sum;

pub(super) const BLOCK: usize = 512;
const WORDS: usize = BLOCK / 64;
const RANK_BITS: usize = 8;

/// What a step of interleaved traversal costs more than one in a block, in picoseconds.
const STEP_COST: u64 = 360;
/// What the keys of a feature cost, which a block without deep trees does not need, in picoseconds.
const KEYS_COST: u64 = 400;
/// What a level of a search costs that columns share, and what each of them costs more, in picoseconds.
const SHARED_LEVEL_COST: u64 = 350;
const SHARING_COST: u64 = 300;

/// One bit per row of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Mask([u64; WORDS]);

const NO_MASK: Mask = Mask([0; WORDS]);

/// The values of a column, one per row.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Values([f32; BLOCK]);

/// The sums of an output, one per row: see [`BlockKernel::lanes`].
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Sums<S>([S; BLOCK]);

/// The ranks of a column, one mask per bit, the highest first.
type Ranks = [Mask; RANK_BITS];

/// The codes of a column: the byte of a table that holds a code's bit, and that bit alone.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Codes {
    bytes: [u8; BLOCK],
    bits: [u8; BLOCK],
}

/// The bits of all rows' paths through a tile, the root's level first.
pub(super) type PathBits = [Mask; MAX_LEVELS as usize];

/// Up to [`BLOCK`] rows: `features.len() == count * num_features`, row-major.
pub(super) struct Rows<'a> {
    pub(super) features: &'a [f32],
    pub(super) num_features: usize,
    pub(super) count: usize,
}

/// What the parts of a kernel cost, in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// Per level of a search tree and row.
    level: u64,
    /// Per node of a tile or operation of a compound, and block, however few of its rows are in use.
    node: u64,
    /// Per condition and block, likewise.
    condition: u64,
}

/// Levels that a tile can have whose nodes are walked: none, or up to [`TILE_LEVELS`].
const LEVELS: usize = TILE_LEVELS as usize + 1;

type Walk = unsafe fn(nodes: &[u16], &[Mask], rows: usize, &mut PathBits);
type Add<S> = unsafe fn(&PathBits, rows: usize, leaves: &[S], &mut Sums<S>);
type AddWide<S> = unsafe fn(
    &PathBits,
    rows: usize,
    levels: u32,
    leaves: &[S],
    lanes: &[u16; BLOCK],
    &mut Sums<S>,
);

/// A kernel: what one instruction set does for a block of rows. `instructions::block_kernel` makes it.
///
/// Rows of a block beyond those in use may have any values, and any results.
///
/// # Safety
/// Every function needs a processor that has the instructions; further needs are with each.
pub(super) struct BlockKernel {
    /// With fewer rows, one after another costs less than a block, of which most is empty.
    min_rows: usize,
    /// From so many columns that share a search on, one search of all takes less time than each.
    min_sharing: usize,
    costs: Costs,
    /// Where the sum of each row lies in [`Sums`].
    lanes: [u16; BLOCK],
    /// The same for sums of f64.
    lanes_double: [u16; BLOCK],
    /// The ranks of the first `rows` values in the search tree of a column: the number of thresholds
    /// that a value is not below, or for NaN, if `missing_right`, more than any.
    rank: unsafe fn(&Values, rows: usize, tree: &[f32], missing_right: bool, &mut Ranks),
    /// The ranks of the first `rows` values in the search trees of columns that share a search, as many
    /// as there are trees: see [`ConditionColumn::shares_search_with`].
    rank_wide: unsafe fn(&Values, rows: usize, &[LargestTree], missing_right: bool, &mut [Ranks]),
    /// Which of the first `rows` values are missing.
    missing: unsafe fn(&Values, rows: usize, &mut Mask),
    /// One mask per threshold: whether a row's rank is at least that.
    compare: unsafe fn(&Ranks, thresholds: &[u8], &mut [Mask]),
    /// One mask per table: whether the bit of a row's code is set in it.
    look_up: unsafe fn(&Codes, rows: usize, &[CodeTable], &mut [Mask]),
    /// The masks of the first `rows` rows for the compounds of a run, by its `length` and words: see
    /// [`CompoundRun`](crate::compiled::tiles::CompoundRun). Every index among the words is of a mask there,
    /// and as many masks have room at `out` as there are compounds.
    compounds: unsafe fn(length: usize, words: &[u16], rows: usize, *const Mask, out: *mut Mask),
    /// By levels: the paths of the first `rows` rows through a tile of as many levels, whose `nodes`
    /// each are an index of a mask.
    walk: [Walk; LEVELS],
    /// As `walk`, through a tile of more than [`TILE_LEVELS`] levels, whose nodes each have a condition.
    walk_wide: unsafe fn(nodes: &[u16], &[Mask], rows: usize, levels: u32, &mut PathBits),
    /// By levels: adds to each row's sum the leaf at the end of its path, among the `leaves` of a tile
    /// of as many levels.
    add: [Add<f32>; LEVELS],
    /// The same for sums of f64.
    add_double: [Add<f64>; LEVELS],
    /// As `add`, for a tile of more than [`TILE_LEVELS`] levels; `lanes` are the kernel's.
    add_wide: AddWide<f32>,
    /// The same for sums of f64.
    add_wide_double: AddWide<f64>,
    /// The index of each row's leaf, in the order of the rows, of a tile of `levels` levels.
    leaf_indices: unsafe fn(&PathBits, rows: usize, levels: u32, &mut [u8; BLOCK]),
}

/// Sums that lie in the order of the rows.
const IN_ORDER: [u16; BLOCK] = {
    let mut lanes = [0; BLOCK];
    let mut row = 0;
    while row < BLOCK {
        lanes[row] = row as u16;
        row += 1;
    }
    lanes
};

/// Sums of a width that kernels add to.
pub(super) trait BlockSum: Sum {
    /// For tiles of so many levels, at most [`TILE_LEVELS`].
    fn add_kernel(kernel: &BlockKernel, levels: u32) -> Option<Add<Self>>;

    /// For tiles of more levels.
    fn add_wide(kernel: &BlockKernel) -> AddWide<Self>;

    /// Where the sum of each row of a block lies.
    fn lanes(kernel: &BlockKernel) -> &[u16; BLOCK];
}

impl BlockSum for f32 {
    #[inline(always)]
    fn add_kernel(kernel: &BlockKernel, levels: u32) -> Option<Add<Self>> {
        kernel.add.get(levels as usize).copied()
    }

    #[inline(always)]
    fn add_wide(kernel: &BlockKernel) -> AddWide<Self> {
        kernel.add_wide
    }

    #[inline(always)]
    fn lanes(kernel: &BlockKernel) -> &[u16; BLOCK] {
        &kernel.lanes
    }
}

impl BlockSum for f64 {
    #[inline(always)]
    fn add_kernel(kernel: &BlockKernel, levels: u32) -> Option<Add<Self>> {
        kernel.add_double.get(levels as usize).copied()
    }

    #[inline(always)]
    fn add_wide(kernel: &BlockKernel) -> AddWide<Self> {
        kernel.add_wide_double
    }

    #[inline(always)]
    fn lanes(kernel: &BlockKernel) -> &[u16; BLOCK] {
        &kernel.lanes_double
    }
}

impl BlockKernel {
    /// Whether so many rows may be worth a block.
    pub(super) fn takes(&self, rows: usize) -> bool {
        rows >= self.min_rows
    }

    /// Computes the sums of up to [`BLOCK`] rows if the costs say that this takes less time than one
    /// row after another; `total_depth` steps. Returns whether it did.
    ///
    /// # Safety
    /// The processor has the instructions.
    pub(super) unsafe fn sums<S: BlockSum>(
        &self,
        compiled: Sections<'_>,
        total_depth: u64,
        buffers: &mut Option<Buffers<S>>,
        rows: &Rows<'_>,
        out: &mut [S],
    ) -> bool {
        if compiled.get(TILE_GROUPS).is_empty()
            || !self.takes(rows.count)
            || !self.pays(compiled, total_depth, rows)
        {
            return false;
        }
        let buffers = buffers.get_or_insert_with(Buffers::new);
        // SAFETY: the caller's promise.
        unsafe { block_sums::sums(self, compiled, buffers, rows, out) };
        true
    }

    /// Whether the steps that rows save cost more than ranks do, and than nodes and conditions do for
    /// the part of the block that is not in use: [`STEP_COST`] is net of a full block's share of them.
    fn pays(&self, compiled: Sections<'_>, total_depth: u64, rows: &Rows<'_>) -> bool {
        let below = |group: &TileGroup| u64::from(group.below) * u64::from(group.count);
        let below: u64 = compiled.get(TILE_GROUPS).iter().map(below).sum();
        let keys = if below == 0 { KEYS_COST * rows.num_features as u64 } else { 0 };
        let steps = STEP_COST.saturating_mul(total_depth.saturating_sub(below));
        let saved = steps.saturating_add(keys).saturating_sub(self.ranks_cost(compiled));
        let unused = (BLOCK - rows.count.min(BLOCK)) as u64;
        let wasted = if unused > 0 { self.block_cost(compiled) * unused / BLOCK as u64 } else { 0 };
        wasted < saved.saturating_mul(rows.count as u64)
    }

    /// Per row.
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
