//! Tiles: the upper levels of trees, laid out for kernels that decide many nodes at once.
//!
//! A node tests whether a feature's value is below a threshold, or in a set of categories: its
//! *condition*. A forest's nodes share few conditions: 100,976 nodes of 500 trees on ten features have
//! 1,579. A kernel evaluates each condition once per block of rows, and a tile names each node's
//! condition, so traversal only looks up bits.
//!
//! A *condition column* is a feature, a direction of missing values, and up to [`MAX_RANKS`]
//! thresholds. A value's rank, the number of thresholds that it is not below, decides all conditions of
//! a column. More thresholds of a feature are spread over successive columns, of which up to
//! [`MAX_SHARING`] share one search. Category codes are looked up in a bit table per condition.
//!
//! A tile is a perfect binary tree of up to [`TILE_LEVELS`] levels. Missing nodes name any condition
//! and lead to copies of the leaf. A deeper tree has its top in the tile, whose exits lead to nodes of
//! interleaved traversal. A deep tree with few leaves is instead recoded into a tree of minimal height,
//! whose nodes test *compounds*, chains of conditions joined by AND and OR, and whose tile leads to
//! *codes* of leaves: see `codes`. If all nodes of a level share a condition, as in CatBoost's
//! symmetric trees, the tile names it once, and the bits are the path. Successive trees with tiles of
//! the same height form groups, and groups form *segments* of at most [`MAX_CONDITIONS`] conditions,
//! since nodes have 16 bits for a condition and kernels keep a block's outcomes in cache.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use crate::compiled::records::GroupKind;

/// Maximum levels of a plain tile.
pub(crate) const TILE_LEVELS: u32 = 8;
/// Maximum levels of a symmetric tree's tile.
pub(crate) const MAX_LEVELS: u32 = 16;
/// Levels per block at the bottom of a larger tile; a block is a contiguous subtree.
pub(crate) const BLOCK_LEVELS: u32 = 3;
/// Tiles with more levels consist of a top and blocks; smaller ones are all top.
pub(crate) const TOP_LEVELS: u32 = TILE_LEVELS - BLOCK_LEVELS;
pub(crate) const MAX_CONDITIONS: usize = 4096;
/// Maximum levels of a recoded tree's tile.
pub(crate) const CODE_LEVELS: u32 = 12;
/// Maximum leaves of a recoded tree.
pub(crate) const MAX_LEAVES: usize = 1 << CODE_LEVELS;
/// Maximum compounds of a group; a tree has fewer than leaves.
pub(crate) const MAX_COMPOUNDS: usize = MAX_LEAVES;
/// Maximum compounds of a group of several trees, so that their masks stay in the first-level cache.
pub(crate) const GROUP_COMPOUNDS: usize = 384;
/// Masks of a block: a segment's conditions, then a group's compounds.
pub(crate) const MAX_MASKS: usize = MAX_CONDITIONS + MAX_COMPOUNDS;
/// Maximum columns of a model with tiles.
pub(crate) const MAX_COLUMNS: usize = 4096;
/// Maximum thresholds of a ranked column, so that a rank is a byte.
pub(crate) const MAX_RANKS: usize = 255;
/// Places of the largest search tree: one per threshold, and one before the root.
pub(crate) const MAX_TREE: usize = MAX_RANKS + 1;
pub(crate) type LargestTree = [f32; MAX_TREE];
/// Minimum columns of a feature that share a search; for fewer, separate searches are as fast.
pub(crate) const MIN_SHARING: usize = 8;
/// Maximum columns that share a search, so that a common rank has 16 bits.
pub(crate) const MAX_SHARING: usize = u16::MAX as usize / MAX_RANKS;
/// Levels of the smallest search tree: two registers of 16 numbers.
pub(crate) const MIN_SEARCH_LEVELS: u32 = 5;
/// Codes from here on do not fit in a [`CodeTable`].
pub(crate) const TABLE_CODES: u32 = 8 * CodeTable::NOT_IN_SET as u32;

/// The evaluation of a column's conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern, NoUninit)]
#[repr(u32)]
pub(crate) enum ColumnKind {
    /// By rank; missing values have rank 0.
    RankedMissingLeft = 0,
    /// By rank; missing values have the highest.
    RankedMissingRight = 1,
    Codes = 2,
    /// By looking up the code in a set of any size.
    LargeCodes = 3,
}

impl ColumnKind {
    #[inline(always)]
    pub(crate) fn is_ranked(self) -> bool {
        matches!(self, ColumnKind::RankedMissingLeft | ColumnKind::RankedMissingRight)
    }
}

/// A condition column.
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct ConditionColumn {
    pub(crate) feature: u32,
    pub(crate) kind: ColumnKind,
    /// Start of a ranked column's search tree, a multiple of 16.
    pub(crate) tree: u32,
    /// Levels of a ranked column's search tree.
    pub(crate) levels: u32,
}

impl ConditionColumn {
    /// Returns whether ranks equal those of the column before, except for missing values: both have the
    /// same thresholds, for the two directions.
    pub(crate) fn follows(&self, before: &ConditionColumn) -> bool {
        let kinds = [before.kind, self.kind];
        kinds == [ColumnKind::RankedMissingLeft, ColumnKind::RankedMissingRight]
            && (self.feature, self.tree, self.levels)
                == (before.feature, before.tree, before.levels)
    }

    /// Returns whether the next column has further thresholds of the feature in an adjacent search tree
    /// of the same size, so that a value's rank among all thresholds gives both ranks.
    pub(crate) fn shares_search_with(&self, next: &ConditionColumn) -> bool {
        self.feature == next.feature
            && self.kind == next.kind
            && self.kind.is_ranked()
            && [self.levels, next.levels] == [MAX_TREE.ilog2(); 2]
            && self.tree.checked_add(MAX_TREE as u32) == Some(next.tree)
    }
}

/// Successive groups whose tiles share conditions.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Segment {
    pub(crate) first_group: u32,
    pub(crate) groups: u32,
    pub(crate) first_run: u32,
    pub(crate) runs: u32,
    pub(crate) conditions: u32,
    /// Padding to a power of two, which makes dividing by the size faster.
    pub(crate) reserved: [u32; 3],
}

/// A segment's conditions on one column, in ascending order.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct ConditionRun {
    pub(crate) column: u32,
    /// Index of the first condition within the segment.
    pub(crate) first_condition: u32,
    pub(crate) count: u32,
    /// Index of the first operand, in the section for this kind of column.
    pub(crate) operands: u32,
}

/// A set of category codes as bits, and the results for other values.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C, align(64))]
pub(crate) struct CodeTable(pub(crate) [u8; 64]);

impl CodeTable {
    /// The byte for values outside of all sets, always 0.
    pub(crate) const NOT_IN_SET: u8 = 62;
    /// The byte for missing values: all ones if they go right.
    pub(crate) const MISSING: u8 = 63;
}

/// Successive trees with tiles of the same height.
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct TileGroup {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) levels: u32,
    /// Steps from an exit to the deepest leaf; 0 if tiles hold whole trees, as recoded ones do.
    pub(crate) below: u32,
    /// The kind of nodes that exits lead to.
    pub(crate) kind: GroupKind,
    /// Index of the first tile's first node.
    pub(crate) nodes: u32,
    /// Index of the first tile's first leaf or exit.
    pub(crate) leaves: u32,
    pub(crate) form: TileForm,
}

/// The relation of tiles to trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern, NoUninit)]
#[repr(u32)]
pub(crate) enum TileForm {
    /// Node by node.
    Plain = 0,
    /// One condition per level of a tree.
    Symmetric = 1,
    /// Recoded; leaves have the order of codes.
    Coded = 2,
}

/// Further data of a group of recoded trees; empty for other groups.
#[derive(Clone, Copy, Debug, Default, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Coding {
    pub(crate) first_run: u32,
    pub(crate) runs: u32,
}

/// Compounds of the same length, and up to length [`CompoundRun::ALIKE`] of the same operations.
///
/// Their masks follow those of earlier runs; a group's first is [`MAX_CONDITIONS`].
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct CompoundRun {
    /// Number of operations, at least one.
    pub(crate) length: u32,
    pub(crate) count: u32,
    /// Index of the first word. If operations are the same, one word has them, a bit each, 1 for OR.
    /// Then come each compound's mask indices, innermost first, one more than operations. If operations
    /// differ, [`CompoundRun::OR`] is added to a mask's index whose operation is OR.
    pub(crate) words: u32,
    /// Padding to a power of two, which makes dividing by the size faster.
    pub(crate) reserved: u32,
}

impl CompoundRun {
    /// Maximum length of compounds grouped by operations; longer ones have too many combinations.
    pub(crate) const ALIKE: usize = 2;
    /// Above all mask indices.
    pub(crate) const OR: u16 = 1 << 15;

    /// Returns the number of words before those of compounds with `length` operations.
    #[inline(always)]
    pub(crate) const fn op_words(length: usize) -> usize {
        if length <= Self::ALIKE { 1 } else { 0 }
    }

    /// Returns the number of words of the run.
    #[inline(always)]
    pub(crate) const fn num_words(&self) -> usize {
        let length = self.length as usize;
        Self::op_words(length) + self.count as usize * (length + 1)
    }
}

const _: () = assert!(MAX_MASKS <= CompoundRun::OR as usize);

impl TileGroup {
    /// Returns whether its tiles hold whole trees in tree order.
    pub(crate) fn fits_chunk(&self) -> bool {
        self.below == 0 && self.levels <= TILE_LEVELS && self.form != TileForm::Coded
    }

    /// Returns the nodes per tile: one per level if symmetric, rounded up to a multiple of 8.
    #[inline(always)]
    pub(crate) fn tile_nodes(&self) -> usize {
        match self.form {
            TileForm::Symmetric => self.levels.max(1).next_multiple_of(8) as usize,
            TileForm::Plain | TileForm::Coded => tile_nodes(self.levels),
        }
    }
}

#[inline(always)]
pub(crate) const fn tile_nodes(levels: u32) -> usize {
    if levels > TILE_LEVELS {
        1 << levels
    } else if levels <= TOP_LEVELS {
        let nodes = 1 << levels;
        if nodes < 8 { 8 } else { nodes }
    } else {
        let top = 1 << (levels - BLOCK_LEVELS);
        top + (top << BLOCK_LEVELS)
    }
}

/// Returns the leaves per tile, at least a register of 16.
#[inline(always)]
pub(crate) const fn tile_leaves(levels: u32) -> usize {
    if levels < 4 { 16 } else { 1 << levels }
}

/// Returns the position of a node in its tile; `path` has a bit per step from the root, 1 for right.
///
/// The top is stored level by level, with the root at 1, and so is each block below it. Tiles of more
/// than [`TILE_LEVELS`] levels are all top.
#[inline(always)]
pub(crate) const fn node_index(levels: u32, level: u32, path: usize) -> usize {
    let blocks = levels > TOP_LEVELS && levels <= TILE_LEVELS;
    let top = if blocks { levels - BLOCK_LEVELS } else { levels };
    if level < top {
        (1 << level) + path
    } else {
        let below = level - top;
        let block = path >> below;
        (1 << top) + (block << BLOCK_LEVELS) + (1 << below) + (path & ((1 << below) - 1))
    }
}

/// Maximum columns that chunks can address: two registers of ranks.
pub(crate) const CHUNK_COLUMNS: usize = 128;
/// Maximum trees of a chunk: a register of bytes.
pub(crate) const CHUNK_TREES: usize = 64;

/// Successive groups of tiles for single rows: copies of their nodes with column and rank instead of a
/// condition's index.
///
/// Up to 6 levels are top nodes; larger tiles have 5 top levels, and blocks below.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Chunk {
    pub(crate) first_group: u32,
    pub(crate) groups: u32,
    /// Levels of the largest tile; others are treated as equally high.
    pub(crate) levels: u32,
    pub(crate) top_nodes: u32,
    pub(crate) blocks: u32,
    pub(crate) trees: u32,
    /// Padding to a power of two, which makes dividing by the size faster.
    pub(crate) reserved: [u32; 2],
}

impl Chunk {
    /// Returns the number of levels stored as top nodes.
    #[inline(always)]
    pub(crate) const fn top_levels(levels: u32) -> u32 {
        if levels <= TOP_LEVELS + 1 { levels } else { TOP_LEVELS }
    }

    #[inline(always)]
    pub(crate) const fn tree_blocks(levels: u32) -> usize {
        if levels <= TOP_LEVELS + 1 { 0 } else { 1 << TOP_LEVELS }
    }
}

/// The nodes of all trees of a chunk at one position: right if the column's rank is at least this.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C, align(64))]
pub(crate) struct TopNode {
    pub(crate) columns: [u8; CHUNK_TREES],
    pub(crate) ranks: [u8; CHUNK_TREES],
}

/// Up to seven nodes of one tree, level by level from the root.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C, align(16))]
pub(crate) struct NodeBlock {
    pub(crate) columns: [u8; 8],
    pub(crate) ranks: [u8; 8],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_of_a_tile_has_its_own_place() {
        for levels in 0..=CODE_LEVELS {
            let mut places: Vec<usize> = (0..levels)
                .flat_map(|level| (0..1 << level).map(move |path| node_index(levels, level, path)))
                .collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), (1 << levels) - 1);
            assert!(places.last().is_none_or(|last| *last < tile_nodes(levels)));
        }
    }
}
