//! Types of blocks: masks, ranks, codes, sums, and the table of a kernel's functions.

use crate::compiled::tiles::{CodeTable, LargestTree, MAX_LEVELS, TILE_LEVELS};
use crate::eval::sum::Sum;

pub(in crate::eval) const BLOCK: usize = 512;
pub(super) const WORDS: usize = BLOCK / 64;
pub(super) const RANK_BITS: usize = 8;

/// A bit per row of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(in crate::eval) struct Mask(pub(super) [u64; WORDS]);

pub(super) const NO_MASK: Mask = Mask([0; WORDS]);

/// A column's values by row.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct BlockValues(pub(super) [f32; BLOCK]);

/// An output's sums, at the positions in [`BlockKernel::lanes`].
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(in crate::eval) struct Sums<S>(pub(super) [S; BLOCK]);

/// A column's ranks, one mask per bit, highest first.
pub(super) type Ranks = [Mask; RANK_BITS];

/// A column's codes: the index of a table's byte, and the mask of a bit in it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Codes {
    pub(super) bytes: [u8; BLOCK],
    pub(super) bits: [u8; BLOCK],
}

/// The bits of all rows' paths through a tile, from the root's level on.
pub(in crate::eval) type PathBits = [Mask; MAX_LEVELS as usize];

/// Up to [`BLOCK`] rows: `features.len() == count * num_features`, row-major.
pub(in crate::eval) struct BlockRows<'a> {
    pub(in crate::eval) features: &'a [f32],
    pub(in crate::eval) num_features: usize,
    pub(in crate::eval) count: usize,
}

/// Costs of a kernel's parts, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Per level of a search tree and row.
    pub(super) level: u64,
    /// Per full block and node of a tile or operation of a compound.
    pub(super) node: u64,
    /// Per full block and condition.
    pub(super) condition: u64,
}

/// A tree of several outputs, for a block of rows.
#[derive(Clone, Debug)]
pub(in crate::eval) struct VectorTree<S> {
    /// Each row's leaf.
    pub(super) indices: [u8; BLOCK],
    /// The leaves' values, one per output.
    pub(super) vectors: Vec<S>,
}

/// Most outputs of a tree that are added together.
pub(super) const MAX_TOGETHER: usize = 8;

/// Number of possible heights of a tile: 0 to [`TILE_LEVELS`] levels.
pub(super) const LEVELS: usize = TILE_LEVELS as usize + 1;

pub(super) type Walk = unsafe fn(nodes: &[u16], &[Mask], rows: usize, &mut PathBits);
pub(super) type Add<S> = unsafe fn(&PathBits, rows: usize, leaves: &[S], &mut Sums<S>);
/// By the number of outputs that are added together; the first is not used.
pub(super) type AddVectors<S> =
    [unsafe fn(&[VectorTree<S>], width: usize, place: usize, stride: usize, sums: &mut [S]);
        MAX_TOGETHER + 1];
pub(super) type AddWide<S> = unsafe fn(
    &PathBits,
    rows: usize,
    levels: u32,
    leaves: &[S],
    lanes: &[u16; BLOCK],
    &mut Sums<S>,
);

/// A kernel: an instruction set's functions for a block of rows, defined by
/// `instructions::block_kernel`.
///
/// Unused rows of a block may have any values, and any results.
///
/// # Safety
/// All functions require a processor with the instructions; further conditions are documented with
/// each.
pub(in crate::eval) struct BlockKernel {
    /// Minimum rows for which a mostly empty block may pay off.
    pub(super) min_rows: usize,
    /// Minimum columns for which one shared search is faster than one each.
    pub(super) min_sharing: usize,
    /// Minimum rows for which a tree's outputs are added together, row by row.
    pub(super) min_by_row: usize,
    pub(super) costs: Costs,
    /// Into how many parts a mask is divided, of which those with rows are computed.
    pub(super) parts: usize,
    /// Position of each row's sum in [`Sums`].
    pub(super) lanes: [u16; BLOCK],
    /// Position of each row's f64 sum.
    pub(super) lanes_double: [u16; BLOCK],
    /// Computes the ranks of the first `rows` values in a column's search tree: the number of
    /// thresholds that a value is not below, or for NaN, if `missing_right`, more than any.
    pub(super) rank:
        unsafe fn(&BlockValues, rows: usize, tree: &[f32], missing_right: bool, &mut Ranks),
    /// Computes the ranks in columns that share a search, one per search tree: see
    /// [`ConditionColumn::shares_search_with`](crate::compiled::tiles::ConditionColumn::shares_search_with).
    pub(super) rank_wide:
        unsafe fn(&BlockValues, rows: usize, &[LargestTree], missing_right: bool, &mut [Ranks]),
    /// Marks the missing ones of the first `rows` values.
    pub(super) missing: unsafe fn(&BlockValues, rows: usize, &mut Mask),
    /// Writes a mask per threshold: whether the rank of each of the first `rows` rows is at least that.
    pub(super) compare: unsafe fn(&Ranks, rows: usize, thresholds: &[u8], &mut [Mask]),
    /// Writes a mask per table: whether the bit of a row's code is set in it.
    pub(super) look_up: unsafe fn(&Codes, rows: usize, &[CodeTable], &mut [Mask]),
    /// Evaluates a run's compounds for the first `rows` rows: see
    /// [`CompoundRun`](crate::compiled::tiles::CompoundRun). Every index in `words` is of an existing
    /// mask, and `out` has room for a mask per compound.
    pub(super) compounds:
        unsafe fn(length: usize, words: &[u16], rows: usize, *const Mask, out: *mut Mask),
    /// By levels: computes the paths of the first `rows` rows through a tile, whose `nodes` are indices
    /// of masks.
    pub(super) walk: [Walk; LEVELS],
    /// Like `walk`, for tiles of more than [`TILE_LEVELS`] levels.
    pub(super) walk_wide:
        unsafe fn(nodes: &[u16], &[Mask], rows: usize, levels: u32, &mut PathBits),
    /// By levels: adds the leaf at the end of each row's path to its sum.
    pub(super) add: [Add<f32>; LEVELS],
    /// Like `add`, for f64 sums.
    pub(super) add_double: [Add<f64>; LEVELS],
    /// Like `add`, for tiles of more than [`TILE_LEVELS`] levels; `lanes` are the kernel's.
    pub(super) add_wide: AddWide<f32>,
    /// Like `add_wide`, for f64 sums.
    pub(super) add_wide_double: AddWide<f64>,
    /// By outputs: adds to each row's sums the values of its leaf in each tree, from `place` on. `sums` has those of a row
    /// every `stride`, and a tree's vectors those of a leaf every `width`.
    pub(super) add_vectors: AddVectors<f32>,
    /// Like `add_vectors`, for f64 sums.
    pub(super) add_vectors_double: AddVectors<f64>,
    /// Computes each row's leaf index in a tile of `levels` levels, in the order of rows.
    pub(super) leaf_indices: unsafe fn(&PathBits, rows: usize, levels: u32, &mut [u8; BLOCK]),
}

/// Returns how many of a mask's parts have some of the first `rows` rows.
#[inline(always)]
pub(super) const fn parts_in_use(rows: usize, parts: usize) -> usize {
    let used = (rows * parts).div_ceil(BLOCK);
    if used < parts { used } else { parts }
}

/// The positions of sums in the order of rows.
pub(super) const IN_ORDER: [u16; BLOCK] = {
    let mut lanes = [0; BLOCK];
    let mut row = 0;
    while row < BLOCK {
        lanes[row] = row as u16;
        row += 1;
    }
    lanes
};

/// Sums of a width, with its functions of a kernel.
pub(in crate::eval) trait BlockSum: Sum {
    /// Returns the addition for tiles of `levels` levels; `None` above [`TILE_LEVELS`].
    fn add_kernel(kernel: &BlockKernel, levels: u32) -> Option<Add<Self>>;

    /// Returns the addition for higher tiles.
    fn add_wide(kernel: &BlockKernel) -> AddWide<Self>;

    /// Returns the additions of several outputs.
    fn add_vectors(kernel: &BlockKernel) -> &AddVectors<Self>;

    /// Returns the position of each row's sum.
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
    fn add_vectors(kernel: &BlockKernel) -> &AddVectors<Self> {
        &kernel.add_vectors
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
    fn add_vectors(kernel: &BlockKernel) -> &AddVectors<Self> {
        &kernel.add_vectors_double
    }

    #[inline(always)]
    fn lanes(kernel: &BlockKernel) -> &[u16; BLOCK] {
        &kernel.lanes_double
    }
}
