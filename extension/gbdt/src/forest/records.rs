//! The records that an image consists of.
//!
//! Every record is plain old data without padding, so an image can be read in place and two images
//! of the same model are the same bytes. Numbers are in the machine's own byte order; the header
//! says which, and another machine's image is refused.

use bytemuck::{Pod, Zeroable};

/// The first bytes of an image.
pub(super) const MAGIC: [u8; 8] = *b"pgbimage";
/// Reads differently in the other byte order.
pub(super) const ENDIANNESS: u32 = 0x0102_0304;
/// Where the checksummed part of an image begins: after the checksum.
pub(super) const CHECKSUMMED_FROM: usize = 32;

/// The sections, in their order in the image. What the evaluation of one row reads comes first: the
/// fewer pages it touches, the fewer addresses a processor shared by many backends has to look up.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(super) enum Section {
    /// u32 a tree: the output that it adds to.
    Outputs,
    /// f32 an output.
    BaseMargins,
    /// [`super::tiles::Column`].
    Columns,
    /// f32: the thresholds of ranked columns, each column's as a search tree.
    SearchTrees,
    /// [`super::tiles::Chunk`]: successive groups of tiles for the evaluation of one row.
    Chunks,
    /// [`super::tiles::TileGroup`]: the trees in the order of summation.
    TileGroups,
    /// [`super::tiles::TopNode`]: the tops of the tiles of chunks, tree beside tree.
    TopNodes,
    /// [`super::tiles::NodeBlock`]: what is below them.
    NodeBlocks,
    /// f32: the leaves of tiles.
    TileLeaves,
    /// u32: where trees go on below tiles that do not hold all of them.
    TileExits,
    /// [`super::tiles::Segment`]: successive groups of tiles that share cuts.
    Segments,
    /// [`super::tiles::Run`]: the cuts of a segment, by column.
    Runs,
    /// u8: what the ranks of ranked columns are compared with.
    Ranks,
    /// [`super::tiles::CodeTable`]: what codes are looked up in.
    CodeTables,
    /// u32: the sets of codes that have no table, twice their index, plus 1 where missing goes right.
    LargeSets,
    /// u16: the cuts that the nodes of tiles ask.
    TileNodes,
    /// u32 a tree: the tree of the model that it comes from.
    Sources,
    /// u32 a tree: index of its root in the nodes of its kind.
    Roots,
    /// [`Group`]: the trees in the order of summation.
    Groups,
    /// [`CompactNode`].
    CompactNodes,
    /// u32 a compact node: its id in the file.
    CompactIds,
    /// [`WideNode`].
    WideNodes,
    /// u32 a wide node: its id in the file.
    WideIds,
    /// [`SetSpan`] a category set.
    Sets,
    /// u32: the bits of the category sets.
    SetWords,
    /// u8 a feature: whether it is categorical.
    Categorical,
    /// u8 a feature: whether its zeros are missing; nothing if no feature's are.
    ZeroMissing,
    /// Text: one name a feature, or nothing.
    Names,
    /// Text: the class labels, if any.
    Labels,
    /// [`Dictionary`] a feature, or nothing.
    Dictionaries,
    /// u64: the values of numeric dictionaries, as bits.
    Numbers,
    /// Text: the values of text dictionaries.
    Words,
    /// u32 a dictionary value: codes in the order of their values.
    Sorted,
}

/// Number of sections.
pub(super) const SECTIONS: usize = Section::Sorted as usize + 1;

/// Where a section lies.
#[derive(Clone, Copy, Debug, Default, Zeroable, Pod)]
#[repr(C)]
pub(super) struct Span {
    /// From the image's start, a multiple of 64.
    pub(super) offset: u64,
    /// In bytes, without the zeros that fill its last cache line.
    pub(super) length: u64,
}

/// What an image begins with.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: [u8; 8],
    pub(super) version: u32,
    pub(super) endianness: u32,
    /// Of the whole image, in bytes.
    pub(super) length: u64,
    /// XXH3, 64 bits, of everything after this field.
    pub(super) checksum: u64,
    pub(super) num_features: u32,
    pub(super) num_outputs: u32,
    pub(super) num_trees: u32,
    pub(super) task: u32,
    pub(super) transform: u32,
    /// [`crate::Objective::slope`].
    pub(super) slope: f32,
    /// Sum over the trees of their depths.
    pub(super) total_depth: u64,
    pub(super) sections: [Span; SECTIONS],
}

/// A node that lock step can walk.
///
/// A split's right child is at `index + skip`, its left child behind that: a walk goes on to `index +
/// skip`, and one further if the key in `slot` is below `key`, which is one instruction, an addition
/// with carry. A leaf's `key` is its value's bits, its `skip` is 0, and its slot always holds
/// `u32::MAX`, which is below no key, so a walk that reaches it stays.
pub(crate) trait LockStepNode: Pod {
    /// The key that the row's is compared with.
    fn key(&self) -> u32;
    /// Where the row's key is found.
    fn slot(&self) -> usize;
    /// Distance from the node to its right child, 0 for a leaf.
    fn skip(&self) -> u32;
}

/// A node of a tree that is small enough; eight make a cache line.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct CompactNode {
    pub(crate) key: u32,
    pub(crate) slot: u16,
    pub(crate) skip: u16,
}

impl LockStepNode for CompactNode {
    #[inline(always)]
    fn key(&self) -> u32 {
        self.key
    }

    #[inline(always)]
    fn slot(&self) -> usize {
        usize::from(self.slot)
    }

    #[inline(always)]
    fn skip(&self) -> u32 {
        u32::from(self.skip)
    }
}

/// A node of any tree.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct WideNode {
    /// For a categorical split the index of its set.
    pub(crate) key: u32,
    pub(crate) slot: u32,
    pub(crate) skip: u32,
    /// [`CATEGORICAL`] for a categorical split, else 0.
    pub(crate) kind: u32,
}

/// The kind of a wide node that asks whether a code is in a set.
pub(crate) const CATEGORICAL: u32 = 1;

impl LockStepNode for WideNode {
    #[inline(always)]
    fn key(&self) -> u32 {
        self.key
    }

    #[inline(always)]
    fn slot(&self) -> usize {
        self.slot as usize
    }

    #[inline(always)]
    fn skip(&self) -> u32 {
        self.skip
    }
}

/// How the trees of a group are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum GroupKind {
    /// In lock step, over compact nodes.
    Compact = 0,
    /// In lock step, over wide nodes.
    Wide = 1,
    /// In lock step, over wide nodes, some of which are categorical splits.
    Categorical = 2,
}

impl GroupKind {
    /// The kind with this number, if there is one.
    #[inline(always)]
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(GroupKind::Compact),
            1 => Some(GroupKind::Wide),
            2 => Some(GroupKind::Categorical),
            _ => None,
        }
    }
}

/// Successive trees that are walked together.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Group {
    /// Index of the first tree.
    pub(crate) first: u32,
    /// Number of trees.
    pub(crate) count: u32,
    /// Of the deepest tree.
    pub(crate) depth: u32,
    /// A [`GroupKind`].
    pub(crate) kind: u32,
}

/// Where the bits of a category set lie.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct SetSpan {
    /// Index of its first word.
    pub(crate) start: u32,
    /// Number of words.
    pub(crate) count: u32,
}

/// The values of a categorical feature.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(super) struct Dictionary {
    /// 0 for none, else a [`super::CategoryKind`].
    pub(super) kind: u32,
    /// Number of values.
    pub(super) count: u32,
    /// Index of the first value among the numbers or the words.
    pub(super) start: u32,
    /// Index of the first code in the sorted section.
    pub(super) sorted: u32,
}
