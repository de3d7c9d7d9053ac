//! Kernels for blocks of rows, over tiles: bits instead of comparisons.
//!
//! A block is 512 rows, and a bit a row makes a [`Mask`]. Each cut is answered once for the whole
//! block, which gives one mask; then a tile is walked for all rows together: the first bit of every
//! row's way is the mask of the root, the second is chosen by the first from the masks of the two
//! nodes below, and so on, each choice one instruction on 512 rows. The bits of a way are the number
//! of its leaf.
//!
//! What an architecture has to bring is [`Vectors`]; the order of things is in `block`. x86-64 and
//! aarch64 do, others have no kernel for blocks. `row512` is a kernel for one row. The other modules
//! of `eval` call what is public here, which is safe, since a [`Kernel`] of instructions is had where
//! the processor has them and nowhere else.
#![allow(unsafe_code, reason = "vector instructions")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod below;
mod block;
mod choose;
mod cuts;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod row512;
mod search;

use super::kernel::{Instructions, Kernel};
#[cfg(target_arch = "x86_64")]
use crate::forest::Chunked;
use crate::forest::Forest;
use crate::forest::tiles::{CodeTable, TILE_LEVELS, TileGroup, Tiled};

pub(super) use self::block::{Buffers, Rows};

/// Rows of a block.
pub(super) const BLOCK: usize = 512;
/// Words of a mask.
const WORDS: usize = BLOCK / 64;
/// Bits of a rank.
const RANK_BITS: usize = 8;

/// What a step of the lock step costs more than one in a block, in picoseconds.
const STEP_COST: u64 = 360;
/// What the keys of a feature cost, which a block without deep trees does not need.
const KEYS_COST: u64 = 400;

/// A bit for every row of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Mask([u64; WORDS]);

/// The values of a column, a row each.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Values([f32; BLOCK]);

/// The ranks of a column, a bit each, the highest first.
type Planes = [Mask; RANK_BITS];

/// The codes of a column: the byte of a table that holds a code's bit, and that bit alone.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Codes {
    bytes: [u8; BLOCK],
    bits: [u8; BLOCK],
}

/// The bits of all rows' ways through a tile, the first first.
type Ways = [Mask; TILE_LEVELS as usize];

/// What the parts of a kernel for blocks cost, in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// A level of a search tree, a row.
    level: u64,
    /// A node of a tile, a block, however few of its rows are in use.
    node: u64,
    /// A cut, a block, likewise.
    cut: u64,
}

/// What a kernel for blocks consists of.
///
/// Rows of a block beyond those that are in use may have any values, and any results.
trait Vectors {
    /// With fewer rows, one after another costs less than a block, of which most is empty.
    const LEAST_ROWS: usize;
    /// What its parts cost.
    const COSTS: Costs;

    /// Where the sum of a row lies in [`Values`].
    fn place_of(row: usize) -> usize;

    /// The ranks of values in the search tree of a column: how many thresholds a value is not below,
    /// or for NaN, if `missing_right`, more than that. Of the block's rows the first `rows`.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn rank(
        values: &Values,
        rows: usize,
        tree: &[f32],
        missing_right: bool,
        ranks: &mut Planes,
    );

    /// For each operand, whether a row's rank is at least that.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn compare_ranks(ranks: &Planes, operands: &[u8], masks: &mut [Mask]);

    /// For each table, whether the bit of a row's code is set in it.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]);

    /// The ways of the first `rows` rows through a tile of so many levels, at most [`TILE_LEVELS`].
    ///
    /// # Safety
    /// The processor has the instructions; `nodes` are those of a tile of so many levels, each below
    /// the number of masks.
    unsafe fn walk(nodes: &[u16], levels: u32, masks: &[Mask], rows: usize, ways: &mut Ways);

    /// Adds to each row's sum the leaf at the end of its way.
    ///
    /// # Safety
    /// The processor has the instructions; `leaves` are those of a tile of so many levels, at most
    /// [`TILE_LEVELS`].
    unsafe fn add(ways: &Ways, rows: usize, levels: u32, leaves: &[f32], sums: &mut Values);

    /// The number of each row's way, in the order of the rows.
    ///
    /// # Safety
    /// The processor has the instructions; there are at most [`TILE_LEVELS`] levels.
    unsafe fn number(ways: &Ways, rows: usize, levels: u32, numbers: &mut [u8; BLOCK]);
}

/// The margins of up to [`BLOCK`] rows, if a kernel for blocks takes less time than one row after
/// another, as it does unless features are many and steps, `total_depth` in all, are few; gives
/// whether it does.
pub(super) fn margins_of_block(
    kernel: Kernel,
    forest: &Forest<'_>,
    tiles: &Tiled<'_>,
    total_depth: u64,
    buffers: &mut Option<Buffers>,
    rows: &Rows<'_>,
    out: &mut [f32],
) -> bool {
    // SAFETY: there is no such Kernel where the processor lacks the instructions.
    margins_by(kernel.instructions())
        .is_some_and(|margins| unsafe { margins(forest, tiles, total_depth, buffers, rows, out) })
}

/// [`margins_if_it_pays`] for some instructions.
type Margins =
    unsafe fn(&Forest<'_>, &Tiled<'_>, u64, &mut Option<Buffers>, &Rows<'_>, &mut [f32]) -> bool;

/// The kernel for blocks that is written for such instructions, if there is one.
fn margins_by(instructions: Instructions) -> Option<Margins> {
    match instructions {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => Some(margins_if_it_pays::<avx512::Avx512>),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => Some(margins_if_it_pays::<avx2::Avx2>),
        #[cfg(target_arch = "aarch64")]
        Instructions::Neon => Some(margins_if_it_pays::<neon::Neon>),
        Instructions::Portable => None,
    }
}

/// The margins of a block of rows, if that takes less time with `V`; gives whether it does.
///
/// # Safety
/// The processor has the instructions of `V`.
unsafe fn margins_if_it_pays<V: Vectors>(
    forest: &Forest<'_>,
    tiles: &Tiled<'_>,
    total_depth: u64,
    buffers: &mut Option<Buffers>,
    rows: &Rows<'_>,
    out: &mut [f32],
) -> bool {
    if tiles.groups.is_empty()
        || rows.count < V::LEAST_ROWS
        || !pays(tiles, total_depth, V::COSTS, rows)
    {
        return false;
    }
    let buffers = buffers.get_or_insert_with(Buffers::new);
    // SAFETY: the caller's promise.
    unsafe { block::margins::<V>(forest, tiles, buffers, rows, out) };
    true
}

/// Whether what blocks save in steps, of which there are `total_depth`, is more than what ranks cost,
/// and what nodes and cuts cost for the part of the block that is not in use: a step's cost has the
/// share of a full block's row in them.
fn pays(tiles: &Tiled<'_>, total_depth: u64, costs: Costs, rows: &Rows<'_>) -> bool {
    let levels: u64 = tiles.columns.iter().map(|column| u64::from(column.levels)).sum();
    let below = |group: &TileGroup| u64::from(group.below) * u64::from(group.count);
    let below: u64 = tiles.groups.iter().map(below).sum();
    let keys = if below == 0 { KEYS_COST * rows.num_features as u64 } else { 0 };
    let steps = STEP_COST.saturating_mul(total_depth.saturating_sub(below));
    let saved = steps.saturating_add(keys).saturating_sub(costs.level * levels);
    let unused = (BLOCK - rows.count.min(BLOCK)) as u64;
    let in_vain = if unused > 0 { block_cost(tiles, costs) * unused / BLOCK as u64 } else { 0 };
    in_vain < saved.saturating_mul(rows.count as u64)
}

/// What a block's nodes and cuts cost.
fn block_cost(tiles: &Tiled<'_>, costs: Costs) -> u64 {
    let nodes: u64 = tiles.groups.iter().map(|group| u64::from(group.count) << group.levels).sum();
    let cuts: u64 = tiles.runs.iter().map(|run| u64::from(run.count)).sum();
    costs.node * nodes + costs.cut * cuts
}

/// Adds the leaves of all trees, each to its output, to a row's margins, if the kernel has a way that
/// takes less time than the lock step; gives whether it has.
#[cfg(target_arch = "x86_64")]
pub(super) fn add_leaves_of_row<'a>(
    kernel: Kernel,
    chunked: impl FnOnce() -> Option<Chunked<'a>>,
    features: &[f32],
    margins: &mut [f32],
) -> bool {
    if kernel.instructions() != Instructions::Avx512 {
        return false;
    }
    let Some(image) = chunked() else {
        return false;
    };
    // SAFETY: there is no such Kernel where the processor lacks the instructions.
    unsafe { row512::add(&image, features, margins) };
    true
}
