//! Tiles: the upper levels of every tree, laid out for kernels that decide many nodes at once.
//!
//! A node asks whether its feature's value is below its threshold, and the nodes of a forest ask the
//! same few questions again and again: 100,976 nodes of 500 trees over ten features ask 1,579. Such
//! a question is a *cut*. A kernel answers every cut once, for one row or for hundreds, and a tile
//! says for each node which cut it asks, so that walking is looking up bits.
//!
//! Cuts are answered by *column*: a feature, the direction of its missing values, and up to
//! [`MAX_RANKS`] of its thresholds. A value's rank is the number of thresholds that it is not below,
//! so that one small number answers all cuts of a column; category codes are looked up in a bit table
//! a cut.
//!
//! A tile is a perfect binary tree of up to [`TILE_LEVELS`] levels; nodes that the tree does not
//! have ask any cut and lead to copies of the leaf that is there. Of deeper trees it holds the top,
//! and its exits lead to the nodes of the lock step. Groups of successive trees have tiles of the
//! same number of levels. Since a node has 16 bits for its cut and kernels keep the answers of
//! hundreds of rows at hand, successive groups form *segments* of at most [`MAX_CUTS`] cuts.

mod check;
mod chunks;
mod collect;
mod columns;
mod fill;

pub(crate) use check::Sections as Tiled;
pub(super) use check::{Bounds, check};
pub(super) use collect::Tiles;

use bytemuck::{Pod, Zeroable};

/// Most levels of a tree that its tile holds.
pub(crate) const TILE_LEVELS: u32 = 8;
/// The levels at the bottom of a larger tile that lie together, a block a subtree.
pub(crate) const BLOCK_LEVELS: u32 = 3;
/// Tiles of more levels than this consist of a top and blocks; a smaller one is all top.
pub(crate) const TOP_LEVELS: u32 = TILE_LEVELS - BLOCK_LEVELS;
/// Most cuts of a segment.
pub(crate) const MAX_CUTS: usize = 4096;
/// Most columns of a model that has tiles.
pub(crate) const MAX_COLUMNS: usize = 4096;
/// Most thresholds of a ranked column, so that a rank is a byte.
pub(crate) const MAX_RANKS: usize = 255;
/// Levels of the smallest search tree of a ranked column: two registers of 16 numbers.
pub(crate) const LEAST_SEARCH_LEVELS: u32 = 5;
/// Codes from here on have no place in a [`CodeTable`].
pub(crate) const TABLE_CODES: u32 = 8 * CodeTable::NOT_IN_SET as u32;

/// How the cuts of a column are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ColumnKind {
    /// By the value's rank; a missing value has rank 0.
    RankedLeft = 0,
    /// By the value's rank; a missing value has the highest.
    RankedRight = 1,
    /// By looking up the value's code in a table.
    Codes = 2,
    /// By looking up the value's code in a set of any size.
    LargeCodes = 3,
}

impl ColumnKind {
    /// The kind with this number, if there is one.
    #[inline(always)]
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(ColumnKind::RankedLeft),
            1 => Some(ColumnKind::RankedRight),
            2 => Some(ColumnKind::Codes),
            3 => Some(ColumnKind::LargeCodes),
            _ => None,
        }
    }
}

/// What the cuts of a run are compared with.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Column {
    /// The feature.
    pub(crate) feature: u32,
    /// A [`ColumnKind`].
    pub(crate) kind: u32,
    /// Of a ranked column: where its search tree begins, a multiple of 16.
    pub(crate) tree: u32,
    /// Of a ranked column: the levels of its search tree.
    pub(crate) levels: u32,
}

/// Successive groups whose tiles share cuts.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Segment {
    /// Index of the first group.
    pub(crate) first_group: u32,
    /// Number of groups.
    pub(crate) groups: u32,
    /// Index of the first run.
    pub(crate) first_run: u32,
    /// Number of runs.
    pub(crate) runs: u32,
    /// Number of cuts.
    pub(crate) cuts: u32,
    /// Nothing: a power of two is divided by faster.
    pub(crate) reserved: [u32; 3],
}

/// The cuts of a segment that belong to one column, in ascending order.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Run {
    /// The column.
    pub(crate) column: u32,
    /// The number of the first cut within the segment.
    pub(crate) first_cut: u32,
    /// Number of cuts.
    pub(crate) count: u32,
    /// Index of the first cut's operand, in the section for columns of this kind.
    pub(crate) operands: u32,
}

/// A set of category codes as bits by code, and what comes of values that are no code of it.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C, align(64))]
pub(crate) struct CodeTable(pub(crate) [u8; 64]);

impl CodeTable {
    /// The byte that is looked up for values which are in no set: always 0.
    pub(crate) const NOT_IN_SET: u8 = 62;
    /// The byte that is looked up for missing values: all bits where they go right.
    pub(crate) const MISSING: u8 = 63;
}

/// Successive trees with tiles of the same number of levels.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct TileGroup {
    /// Index of the first tree.
    pub(crate) first: u32,
    /// Number of trees.
    pub(crate) count: u32,
    /// Levels of the tiles.
    pub(crate) levels: u32,
    /// Steps from an exit to the deepest leaf; 0 if the tiles hold all of the trees.
    pub(crate) below: u32,
    /// The [`super::GroupKind`] of the nodes that the exits lead to.
    pub(crate) kind: u32,
    /// Index of the first tile's first node.
    pub(crate) nodes: u32,
    /// Index of the first tile's first leaf, or of its first exit.
    pub(crate) leaves: u32,
    /// Nothing: a power of two is divided by faster.
    pub(crate) reserved: u32,
}

/// Most columns that the nodes of chunks can name: two registers of ranks.
pub(crate) const CHUNK_COLUMNS: usize = 128;
/// Most trees of a chunk: a register of bytes.
pub(crate) const CHUNK_TREES: usize = 64;

/// Successive groups of tiles for the evaluation of one row: their nodes once more, with what they
/// compare in place of cuts, so that none but those of a way's end need be looked up.
///
/// Up to 6 levels lie as top nodes; of more levels the upper 5 do, and the others as blocks.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Chunk {
    /// Index of the first group.
    pub(crate) first_group: u32,
    /// Number of groups.
    pub(crate) groups: u32,
    /// Levels of the largest tile; the others are taken as if they had as many.
    pub(crate) levels: u32,
    /// Index of the first top node.
    pub(crate) top_nodes: u32,
    /// Index of the first block.
    pub(crate) blocks: u32,
    /// Number of trees.
    pub(crate) trees: u32,
    /// Nothing: a power of two is divided by faster.
    pub(crate) reserved: [u32; 2],
}

impl Chunk {
    /// The levels that lie as top nodes.
    #[inline(always)]
    pub(crate) const fn top_levels(levels: u32) -> u32 {
        if levels <= TOP_LEVELS + 1 { levels } else { TOP_LEVELS }
    }

    /// Number of blocks of a tree.
    #[inline(always)]
    pub(crate) const fn tree_blocks(levels: u32) -> usize {
        if levels <= TOP_LEVELS + 1 { 0 } else { 1 << TOP_LEVELS }
    }
}

/// The nodes of all trees of a chunk at one place: right if the rank in the column is at least that.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C, align(64))]
pub(crate) struct TopNode {
    pub(crate) columns: [u8; CHUNK_TREES],
    pub(crate) ranks: [u8; CHUNK_TREES],
}

/// Up to seven nodes of one tree, level by level, the root first.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C, align(16))]
pub(crate) struct NodeBlock {
    pub(crate) columns: [u8; 8],
    pub(crate) ranks: [u8; 8],
}

/// Number of nodes that a tile takes.
#[inline(always)]
pub(crate) const fn tile_nodes(levels: u32) -> usize {
    if levels <= TOP_LEVELS {
        let nodes = 1 << levels;
        if nodes < 8 { 8 } else { nodes }
    } else {
        let top = 1 << (levels - BLOCK_LEVELS);
        top + (top << BLOCK_LEVELS)
    }
}

/// Number of leaves that a tile takes; at least a register of 16.
#[inline(always)]
pub(crate) const fn tile_leaves(levels: u32) -> usize {
    if levels < 4 { 16 } else { 1 << levels }
}

/// Where a node lies in its tile; `path` has a bit for each step from the root, 1 for right.
///
/// The top lies level by level, its root at 1. Below it each block lies in the same way.
#[inline(always)]
pub(crate) const fn node_place(levels: u32, level: u32, path: usize) -> usize {
    let top = if levels <= TOP_LEVELS { levels } else { levels - BLOCK_LEVELS };
    if level < top {
        (1 << level) + path
    } else {
        let below = level - top;
        let block = path >> below;
        (1 << top) + (block << BLOCK_LEVELS) + (1 << below) + (path & ((1 << below) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_of_a_tile_has_its_own_place() {
        for levels in 0..=TILE_LEVELS {
            let mut places: Vec<usize> = (0..levels)
                .flat_map(|level| (0..1 << level).map(move |path| node_place(levels, level, path)))
                .collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), (1 << levels) - 1);
            assert!(places.last().is_none_or(|last| *last < tile_nodes(levels)));
        }
    }
}
