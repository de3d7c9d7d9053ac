//! Tiles: the upper levels of every tree, laid out for kernels that decide many nodes at once.
//!
//! A node tests whether its feature's value is below its threshold, or in its set of categories: its
//! *condition*. The nodes of a forest share a few conditions: 100,976 nodes of 500 trees over ten
//! features have 1,579. A kernel evaluates each condition once for a block of rows, and a tile names
//! the condition of each node, so that traversal is looking up bits.
//!
//! A *condition column* is a feature, the direction of its missing values, and up to [`MAX_RANKS`] of
//! its thresholds. A value's rank is the number of thresholds that it is not below, so one small
//! number decides all conditions of a column. Where a feature has more thresholds, successive columns
//! have them, and one search finds a value's ranks in up to [`MAX_SHARING`] of these. Category codes are
//! looked up in one bit table per condition.
//!
//! A tile is a perfect binary tree of up to [`TILE_LEVELS`] levels. Nodes that the tree does not have
//! name any condition and lead to copies of the leaf that is there. A deeper tree has its top in the
//! tile, whose exits lead to the nodes of interleaved traversal. Groups of successive trees have tiles
//! of the same number of levels. A tree of few leaves that is deep all the same becomes another tree, as high
//! as its number of leaves needs, whose nodes ask for chains of conditions joined by AND and OR: *compounds*,
//! which a kernel evaluates group by group. Its tile leads to *codes*, of which each means a leaf: see
//! `codes`. Where all nodes of a level share a condition, as in CatBoost's symmetric trees, the tile names it
//! once, and traversal is nothing but its bits. A node has 16 bits for its condition, and kernels keep the
//! outcomes of a block at hand, so successive groups form *segments* of at most [`MAX_CONDITIONS`]
//! conditions.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use crate::compiled::records::GroupKind;

/// Most levels of a tree that its tile holds.
pub(crate) const TILE_LEVELS: u32 = 8;
/// Most levels of the tile of a symmetric tree.
pub(crate) const MAX_LEVELS: u32 = 16;
/// The levels at the bottom of a larger tile that lie together, a block a subtree.
pub(crate) const BLOCK_LEVELS: u32 = 3;
/// Tiles of more levels than this consist of a top and blocks; a smaller one is all top.
pub(crate) const TOP_LEVELS: u32 = TILE_LEVELS - BLOCK_LEVELS;
pub(crate) const MAX_CONDITIONS: usize = 4096;
/// Most levels of the tile of a recoded tree.
pub(crate) const CODE_LEVELS: u32 = 12;
/// Most leaves of a tree that is recoded.
pub(crate) const MAX_LEAVES: usize = 1 << CODE_LEVELS;
/// Most compounds of a group: a tree has fewer than it has leaves.
pub(crate) const MAX_COMPOUNDS: usize = MAX_LEAVES;
/// Most of a group of several trees, so that their masks stay in a processor's first cache.
pub(crate) const GROUP_COMPOUNDS: usize = 384;
/// The masks of a block: of a segment's conditions, then of a group's compounds.
pub(crate) const MAX_MASKS: usize = MAX_CONDITIONS + MAX_COMPOUNDS;
/// Most columns of a model that has tiles.
pub(crate) const MAX_COLUMNS: usize = 4096;
/// Most thresholds of a ranked column, so that a rank is a byte.
pub(crate) const MAX_RANKS: usize = 255;
/// Places of the search tree of a column with so many thresholds: one for each, and one before the root.
pub(crate) const MAX_TREE: usize = MAX_RANKS + 1;
pub(crate) type LargestTree = [f32; MAX_TREE];
/// Fewer columns with the same feature never share a search: one of each takes no longer.
pub(crate) const MIN_SHARING: usize = 8;
/// Most columns that share a search, so that a rank among their thresholds has 16 bits.
pub(crate) const MAX_SHARING: usize = u16::MAX as usize / MAX_RANKS;
/// Levels of the smallest search tree of a ranked column: two registers of 16 numbers.
pub(crate) const MIN_SEARCH_LEVELS: u32 = 5;
/// Codes from here on have no place in a [`CodeTable`].
pub(crate) const TABLE_CODES: u32 = 8 * CodeTable::NOT_IN_SET as u32;

/// How the conditions of a column are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern, NoUninit)]
#[repr(u32)]
pub(crate) enum ColumnKind {
    /// By the value's rank; a missing value has rank 0.
    RankedMissingLeft = 0,
    /// By the value's rank; a missing value has the highest.
    RankedMissingRight = 1,
    Codes = 2,
    /// By looking up the value's code in a set of any size.
    LargeCodes = 3,
}

impl ColumnKind {
    #[inline(always)]
    pub(crate) fn is_ranked(self) -> bool {
        matches!(self, ColumnKind::RankedMissingLeft | ColumnKind::RankedMissingRight)
    }
}

/// How the conditions of a run are evaluated.
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct ConditionColumn {
    pub(crate) feature: u32,
    pub(crate) kind: ColumnKind,
    /// Of a ranked column: where its search tree begins, a multiple of 16.
    pub(crate) tree: u32,
    /// Of a ranked column: the levels of its search tree.
    pub(crate) levels: u32,
}

impl ConditionColumn {
    /// Whether a value's rank is that in the column before unless it is missing: both have the same
    /// thresholds, for both directions of missing values.
    pub(crate) fn follows(&self, before: &ConditionColumn) -> bool {
        let kinds = [before.kind, self.kind];
        kinds == [ColumnKind::RankedMissingLeft, ColumnKind::RankedMissingRight]
            && (self.feature, self.tree, self.levels)
                == (before.feature, before.tree, before.levels)
    }

    /// Whether the next column has more of the same thresholds, in a search tree of the same size that lies
    /// next: then a value's ranks in both follow from its rank among all of them.
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
    /// Fills the record to a power of two, by which a length is divided faster.
    pub(crate) reserved: [u32; 3],
}

/// The conditions of a segment that belong to one column, in ascending order.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct ConditionRun {
    pub(crate) column: u32,
    /// Index of the first condition within the segment.
    pub(crate) first_condition: u32,
    pub(crate) count: u32,
    /// Index of the first condition's operand, in the section for columns of this kind.
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
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct TileGroup {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) levels: u32,
    /// Steps from an exit to the deepest leaf; 0 if the tiles hold all of the trees, as those of codes do.
    pub(crate) below: u32,
    /// Of the nodes that the exits lead to.
    pub(crate) kind: GroupKind,
    /// Index of the first tile's first node.
    pub(crate) nodes: u32,
    /// Index of the first tile's first leaf, or of its first exit.
    pub(crate) leaves: u32,
    pub(crate) form: TileForm,
}

/// How tiles come from trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern, NoUninit)]
#[repr(u32)]
pub(crate) enum TileForm {
    /// Node by node.
    Plain = 0,
    /// Each level of a tree has one condition.
    Symmetric = 1,
    /// The tree was recoded; leaves have the order of codes.
    Coded = 2,
}

/// What a group of recoded trees has besides its tiles; nothing for other groups.
#[derive(Clone, Copy, Debug, Default, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Coding {
    pub(crate) first_run: u32,
    pub(crate) runs: u32,
}

/// Compounds of the same length, and if that is at most [`CompoundRun::ALIKE`] of the same operations.
///
/// Their masks follow those of the runs before; the first of a group is [`MAX_CONDITIONS`].
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct CompoundRun {
    /// Number of operations, at least one.
    pub(crate) length: u32,
    pub(crate) count: u32,
    /// Index of the first word. There is one for the operations, if they are the same, a bit each, 1 for OR;
    /// then of each compound the indices of its masks, the innermost first, one more than there are
    /// operations. If those differ, a mask's index is joined by [`CompoundRun::OR`] where its operation is
    /// that.
    pub(crate) words: u32,
    /// Fills the record to a power of two, by which a length is divided faster.
    pub(crate) reserved: u32,
}

impl CompoundRun {
    /// The longest compounds that lie by operations: of longer ones there are too many kinds.
    pub(crate) const ALIKE: usize = 2;
    /// Above all indices of masks.
    pub(crate) const OR: u16 = 1 << 15;

    /// Words before those of compounds of so many operations.
    #[inline(always)]
    pub(crate) const fn op_words(length: usize) -> usize {
        if length <= Self::ALIKE { 1 } else { 0 }
    }

    /// Words of the run.
    #[inline(always)]
    pub(crate) const fn num_words(&self) -> usize {
        let length = self.length as usize;
        Self::op_words(length) + self.count as usize * (length + 1)
    }
}

const _: () = assert!(MAX_MASKS <= CompoundRun::OR as usize);

impl TileGroup {
    /// Whether its tiles lie as trees do, all of them.
    pub(crate) fn fits_chunk(&self) -> bool {
        self.below == 0 && self.levels <= TILE_LEVELS && self.form != TileForm::Coded
    }

    /// Number of nodes that a tile has: one per level if it is symmetric, and a multiple of 8.
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

/// Number of leaves that a tile takes; at least a register of 16.
#[inline(always)]
pub(crate) const fn tile_leaves(levels: u32) -> usize {
    if levels < 4 { 16 } else { 1 << levels }
}

/// Where a node lies in its tile; `path` has a bit for each step from the root, 1 for right.
///
/// The top lies level by level, its root at 1. Below it each block lies in the same way. A tile of more than
/// [`TILE_LEVELS`] levels is all top.
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

/// Most columns that the nodes of chunks can name: two registers of ranks.
pub(crate) const CHUNK_COLUMNS: usize = 128;
/// Most trees of a chunk: a register of bytes.
pub(crate) const CHUNK_TREES: usize = 64;

/// Successive groups of tiles for the evaluation of one row: their nodes once more, with the column
/// and rank that they compare in place of a condition's index.
///
/// Up to 6 levels lie as top nodes; of more levels the upper 5 do, and the others as blocks.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Chunk {
    pub(crate) first_group: u32,
    pub(crate) groups: u32,
    /// Levels of the largest tile; the others are taken as if they had as many.
    pub(crate) levels: u32,
    pub(crate) top_nodes: u32,
    pub(crate) blocks: u32,
    pub(crate) trees: u32,
    /// Fills the record to a power of two, by which a length is divided faster.
    pub(crate) reserved: [u32; 2],
}

impl Chunk {
    /// The levels that lie as top nodes.
    #[inline(always)]
    pub(crate) const fn top_levels(levels: u32) -> u32 {
        if levels <= TOP_LEVELS + 1 { levels } else { TOP_LEVELS }
    }

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
