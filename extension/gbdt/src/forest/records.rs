//! The records of trees, category sets and dictionaries in an image.
//!
//! Every record is plain data without padding, so an image can be read in place, and two images of
//! the same model are the same bytes. Numbers are in the machine's own byte order.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

/// A node that interleaved traversal can walk.
///
/// A split's right child is at `index + right_offset`, its left child behind that: a walk goes on to `index +
/// right_offset`, and one further if the key in `slot` is below `key`, which is one instruction, an addition
/// with carry. A leaf's `key` is its value's bits, its `right_offset` is 0, and its slot always holds
/// `u32::MAX`, which is below no key, so a walk that reaches it stays.
pub(crate) trait InterleavedNode: Pod {
    fn key(&self) -> u32;
    /// Where the row's key is found.
    fn slot(&self) -> usize;
    /// Distance from the node to its right child, 0 for a leaf.
    fn right_offset(&self) -> u32;

    /// What the row's key is multiplied by before it is compared.
    #[inline(always)]
    fn factor(&self) -> u32 {
        1
    }

    /// Whether a row goes left that has this key in the slot.
    #[inline(always)]
    fn is_left(&self, key: u32) -> bool {
        key.wrapping_mul(self.factor()) < self.key()
    }
}

/// A node of a tree that is small enough; eight make a cache line.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct CompactNode {
    pub(crate) key: u32,
    pub(crate) slot: u16,
    pub(crate) right_offset: u16,
}

/// A node of any tree.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct WideNode {
    /// For a categorical split the index of its set.
    pub(crate) key: u32,
    pub(crate) slot: u32,
    pub(crate) right_offset: u32,
    /// [`CATEGORICAL`] for a categorical split, else 0.
    pub(crate) kind: u32,
}

/// A node of a tree with categorical splits, for rows that have answers: see [`super::answers`].
///
/// There is one per wide node, at the same index. The factor of a categorical split moves its bit of
/// the word in `slot` to the top, which is the one bit of `key`; all other nodes have the factor 1.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct AnswerNode {
    pub(crate) key: u32,
    pub(crate) slot: u32,
    pub(crate) right_offset: u32,
    pub(crate) factor: u32,
}

/// The answers to the categorical splits of a feature.
///
/// A line of words per code, then one for what is in no set, and one for missing values.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct AnswerTable {
    pub(crate) feature: u32,
    pub(crate) codes: u32,
    /// Index of the first word.
    pub(crate) first: u32,
    /// Words of a line.
    pub(crate) width: u32,
    /// The first of as many slots of a row.
    pub(crate) slot: u32,
}

/// The kind of a wide node that asks whether a code is in a set.
pub(crate) const CATEGORICAL: u32 = 1;

macro_rules! interleaved_node {
    ($node:ty $(, $factor:ident)?) => {
        impl InterleavedNode for $node {
            #[inline(always)]
            fn key(&self) -> u32 {
                self.key
            }

            #[inline(always)]
            fn slot(&self) -> usize {
                self.slot as usize
            }

            #[inline(always)]
            fn right_offset(&self) -> u32 {
                self.right_offset.into()
            }

            $(
                #[inline(always)]
                fn factor(&self) -> u32 {
                    self.$factor
                }
            )?
        }
    };
}
interleaved_node!(CompactNode);
interleaved_node!(WideNode);
interleaved_node!(AnswerNode, factor);

/// Most trees of a group.
pub(crate) const LANES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern, NoUninit)]
#[repr(u32)]
pub(crate) enum GroupKind {
    Compact = 0,
    Wide = 1,
    /// Interleaved, over wide nodes, some of which are categorical splits.
    Categorical = 2,
}

/// Successive trees that are walked together.
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct Group {
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Of the deepest tree.
    pub(crate) depth: u32,
    pub(crate) kind: GroupKind,
}

/// What explanations know of a tree before.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct TreeSummary {
    /// Of the leaves, weighed by their shares.
    pub(crate) mean: f64,
    /// Of quadrature, as many as its contributions need.
    pub(crate) points: u32,
    pub(crate) splits: u32,
}

/// Where the bits of a category set lie.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct SetSpan {
    /// Index of its first word.
    pub(crate) start: u32,
    pub(crate) count: u32,
}

/// The words of a set.
#[inline(always)]
pub(crate) fn words_of<'a>(spans: &[SetSpan], words: &'a [u32], set: u32) -> &'a [u32] {
    let span = spans[set as usize];
    let start = span.start as usize;
    &words[start..start + span.count as usize]
}

/// The values of a categorical feature.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct Dictionary {
    /// 0 for none, else a [`super::CategoryKind`].
    pub(super) kind: u32,
    pub(super) count: u32,
    /// Index of the first value among the numbers or the words.
    pub(super) start: u32,
    /// Index of the first code in the sorted section.
    pub(super) sorted: u32,
}
