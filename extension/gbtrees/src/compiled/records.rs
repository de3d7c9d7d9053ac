//! The records of trees, category sets, dictionaries, target statistics and cuts in a compiled model.
//!
//! Every record is plain data without padding, so a compiled model can be read in place, and two compiled
//! models of the same model are the same bytes. Numbers are in the machine's own byte order.
//!
//! The table of a target statistic ([`crate::ensemble::ctr`]) is an open hash table of 2^bits slots, at least
//! one of them empty, then the line of all keys that are not in it. A slot is the two halves of a key, lower
//! first, and the key's line, so a look-up mostly reads one line of the caches. A key's first bits are where
//! it begins to be looked for.
//!
//! A cut of a feature is a number that exactly the values which go left are below; how a model's splits
//! become cuts is written where a model is lowered (`lower::cuts`). All that splits see of a value is its
//! rank, the number of cuts that it is not below, and the f32 that a value becomes has the same rank.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use crate::ensemble::MissingRule;

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

/// A node of a tree with categorical splits, for rows that have outcomes: see [`crate::lower::outcomes`].
///
/// There is one per wide node, at the same index. The factor of a categorical split moves its bit of
/// the word in `slot` to the top, which is the one bit of `key`; all other nodes have the factor 1.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct OutcomeNode {
    pub(crate) key: u32,
    pub(crate) slot: u32,
    pub(crate) right_offset: u32,
    pub(crate) factor: u32,
}

/// The outcomes of the categorical splits of a feature.
///
/// A line of words per code, then one for what is in no set, and one for missing values.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct OutcomeTable {
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
interleaved_node!(OutcomeNode, factor);

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

/// The linear model of a leaf, which is found by the leaf's key. That of any other leaf is its value.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct LinearLeaf {
    pub(crate) constant: f64,
    /// Index of its first term; and how many it has.
    pub(crate) first: u32,
    pub(crate) terms: u32,
}

/// What is added to a leaf's constant: a feature times this.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct LinearTerm {
    pub(crate) coefficient: f64,
    pub(crate) feature: u32,
    /// Fills the record.
    pub(crate) reserved: u32,
}

/// What explanations know of a tree before.
#[derive(Clone, Copy, Debug, Default, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct TreeSummary {
    /// Of the leaves, weighed by their shares.
    pub(crate) mean: f64,
    /// Of quadrature, as many as its contributions need.
    pub(crate) points: u32,
    /// Index of its first split; and how many it has.
    pub(crate) first_split: u32,
    pub(crate) splits: u32,
    /// Index of the first of its features; and how many its splits are on.
    pub(crate) first_feature: u32,
    pub(crate) features: u32,
    /// Fills the record.
    pub(crate) reserved: u32,
}

/// Which children of a split are leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    None,
    Left,
    Right,
    Both,
}

/// A split as explanations walk it: see [`crate::lower::splits`]. Values of leaves are those beyond the mean
/// of the tree. Other splits of the tree are known by their index in it.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct SplitRecord {
    /// What decides, as in an [`OutcomeNode`]; or the index of a set.
    pub(crate) key: u32,
    /// The slot, and in the highest bits the place of the one bit of the factor.
    pub(crate) slot_and_shift: u32,
    /// The place of the feature among those of the tree; in the highest bits what is a set, which children are
    /// leaves, and which have two.
    pub(crate) place_and_kind: u32,
    /// The split on the right, the number of the tree's splits if that is a leaf, and of two leaves the bits of
    /// their mean. A split on the left is the next, and so is one on the right of a leaf.
    pub(crate) other: u32,
    /// The nearest split above on the same feature, and the side on which this one is: twice its index, and 1
    /// for the left side or 2 for the right one. 0 if there is none.
    pub(crate) above: u32,
    /// Of the training rows, the part that went left.
    pub(crate) share: f32,
    /// The product of the shares of the feature's splits above.
    pub(crate) product: f32,
    /// The value of the only leaf; of two leaves, the left one's less the right one's.
    pub(crate) value: f32,
}

const SLOT_BITS: u32 = 27;
const PLACE_BITS: u32 = 27;
/// A split whose child on that side is a split of two leaves.
pub(crate) const LEFT_TWO_LEAVES: u32 = 1 << PLACE_BITS;
pub(crate) const RIGHT_TWO_LEAVES: u32 = 1 << (PLACE_BITS + 1);
const LEAVES_FROM: u32 = PLACE_BITS + 2;
/// A split whose child on that side is a leaf: see [`Leaves`].
pub(crate) const LEFT_LEAF: u32 = 1 << LEAVES_FROM;
pub(crate) const RIGHT_LEAF: u32 = 1 << (LEAVES_FROM + 1);
const SET: u32 = 1 << 31;

impl SplitRecord {
    /// What asks whether the key in a slot, times a power of two, is below this one.
    pub(crate) fn new(key: u32, slot: u32, factor: u32) -> Self {
        let slot_and_shift = slot & ((1 << SLOT_BITS) - 1) | factor.trailing_zeros() << SLOT_BITS;
        SplitRecord { key, slot_and_shift, ..SplitRecord::zeroed() }
    }

    /// What asks whether a code is in the set that is its key.
    pub(crate) fn of_set(self) -> Self {
        self.with(SET)
    }

    /// On the feature of that place, with these leaves.
    pub(crate) fn on(self, place: u32, leaves: Leaves) -> Self {
        self.with(place | (leaves as u32) << LEAVES_FROM)
    }

    /// With these bits of [`SplitRecord::place_and_kind`], such as [`LEFT_TWO_LEAVES`].
    pub(crate) fn with(self, bits: u32) -> Self {
        SplitRecord { place_and_kind: self.place_and_kind | bits, ..self }
    }

    /// Whether it has one of them.
    #[inline(always)]
    pub(crate) fn has(&self, bit: u32) -> bool {
        self.place_and_kind & bit != 0
    }

    #[inline(always)]
    pub(crate) fn slot(&self) -> u32 {
        self.slot_and_shift & ((1 << SLOT_BITS) - 1)
    }

    /// By how many bits the key is moved up before it is compared.
    #[inline(always)]
    pub(crate) fn shift(&self) -> u32 {
        self.slot_and_shift >> SLOT_BITS
    }

    /// The place of the feature among those of the tree.
    #[inline(always)]
    pub(crate) fn place(&self) -> u32 {
        self.place_and_kind & ((1 << PLACE_BITS) - 1)
    }

    #[inline(always)]
    pub(crate) fn leaves(&self) -> Leaves {
        match self.place_and_kind >> LEAVES_FROM & 3 {
            0 => Leaves::None,
            1 => Leaves::Left,
            2 => Leaves::Right,
            _ => Leaves::Both,
        }
    }

    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        self.has(SET)
    }

    /// What [`Leaves`] says, as all bits or none: whether the left child is a leaf, and the right one.
    #[inline(always)]
    pub(crate) fn leaf_masks(&self) -> [usize; 2] {
        let kind = (self.place_and_kind >> LEAVES_FROM) as usize;
        [(kind & 1).wrapping_neg(), (kind >> 1 & 1).wrapping_neg()]
    }

    /// The mean of two leaves.
    #[inline(always)]
    pub(crate) fn mean(&self) -> f32 {
        f32::from_bits(self.other)
    }
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
    /// 0 for none, else a [`crate::compiled::categories::CategoryKind`], with the flags `UNKNOWN_CODE` and
    /// `TAKES_HASH` of that module.
    pub(crate) kind: u32,
    pub(crate) count: u32,
    /// Index of the first value among the numbers or the words.
    pub(crate) start: u32,
    /// Index of the first code in the sorted section.
    pub(crate) sorted: u32,
}

/// The key of a number, which must not be NaN.
#[inline(always)]
pub(crate) fn monotone_key(number: f32) -> u32 {
    // Adding zero turns -0.0 into 0.0 and changes nothing else.
    let bits = (number + 0.0).to_bits();
    // Negative numbers: all bits flipped. Others: the sign bit alone.
    let flip = (bits.cast_signed() >> 31).cast_unsigned() | 0x8000_0000;
    bits ^ flip
}

/// The number that has a key, 0.0 for that of both zeros.
pub(crate) fn number_of_key(key: u32) -> f32 {
    let flip = if key & 0x8000_0000 == 0 { u32::MAX } else { 0x8000_0000 };
    f32::from_bits(key ^ flip)
}

/// The slot that a split on this feature reads.
pub(crate) fn default_slot(feature: usize, default_left: bool) -> usize {
    2 * feature + usize::from(!default_left)
}

/// The slot that always holds `u32::MAX`, which is below no key.
pub(crate) fn leaf_slot(num_features: usize) -> usize {
    2 * num_features
}

/// The parts of the keys of a projection, and its table.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct CtrProjection {
    pub(crate) first_part: u32,
    pub(crate) parts: u32,
    /// Index of the first word of the table.
    pub(crate) first_word: u32,
    pub(crate) bits: u32,
    /// Numbers of a line.
    pub(crate) width: u32,
}

/// The key of an empty slot, which no row's key is found by.
pub(crate) const EMPTY: u64 = u64::MAX;

impl CtrProjection {
    /// Words of a slot.
    pub(crate) fn slot_words(&self) -> usize {
        2 + self.width as usize
    }

    /// Words of the table.
    pub(crate) fn words(&self) -> u64 {
        ((2 + u64::from(self.width)) << self.bits) + u64::from(self.width)
    }

    /// The slot at which a key begins to be looked for.
    #[inline(always)]
    pub(crate) fn first_slot(&self, key: u64) -> usize {
        // Shifting by all bits leaves none.
        key.checked_shr(u64::BITS - self.bits).unwrap_or(0) as usize
    }
}

/// The key of a slot.
#[inline(always)]
pub(crate) fn key_of(slot: &[u32]) -> u64 {
    match slot {
        [low, high, ..] => u64::from(*low) | u64::from(*high) << u32::BITS,
        _ => EMPTY,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern, NoUninit)]
#[repr(u32)]
pub(crate) enum PartKind {
    /// The hash of a category.
    Category = 0,
    /// Whether a number is above the one with the operand's bits.
    Above = 1,
    AboveOrMissing = 2,
    /// Whether a category has the operand as its hash.
    HasBits = 3,
    /// Whether a category has the operand as its code.
    HasCode = 4,
}

/// A part of a key.
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct CtrPart {
    pub(crate) kind: PartKind,
    pub(crate) feature: u32,
    pub(crate) operand: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern, NoUninit)]
#[repr(u32)]
pub(crate) enum CutKind {
    /// The f32 next to the cuts decide as the cuts do.
    Beside = 0,
    /// Values become ranks.
    Ranks = 1,
    /// As ranks, and zeros are missing.
    RanksWithoutZero = 2,
    /// Values are category codes.
    Codes = 3,
}

/// The cuts of a feature, in ascending order.
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct CutSpan {
    pub(crate) kind: CutKind,
    /// Index of the first.
    pub(crate) start: u32,
    pub(crate) count: u32,
}

impl CutSpan {
    /// Whether its cuts are among so many.
    pub(crate) fn is_within(self, cuts: usize) -> bool {
        u64::from(self.start) + u64::from(self.count) <= cuts as u64
    }

    pub(crate) fn of(self, cuts: &[f64]) -> &[f64] {
        let start = self.start as usize;
        &cuts[start..start + self.count as usize]
    }

    /// The f32 that splits decide as the model decides the value.
    pub(crate) fn narrow(self, cuts: &[f64], value: f64) -> f32 {
        let nearest = value as f32;
        match self.kind {
            _ if value.is_nan() => f32::NAN,
            CutKind::Codes => value.trunc() as f32,
            CutKind::Beside if f64::from(nearest) == value => nearest,
            CutKind::Beside => {
                let cuts = self.of(cuts);
                let rank = rank(cuts, value);
                let below = rank.checked_sub(1).and_then(|last| cuts.get(last));
                let least = below.map_or(nearest, |cut| nearest.max(not_below(*cut)));
                let end = cuts.get(rank).map_or(f32::INFINITY, |cut| not_below(*cut));
                if least < end || cuts.len() == rank { least } else { end.next_down() }
            }
            CutKind::RanksWithoutZero if value.abs() <= f64::from(MissingRule::ZERO) => f32::NAN,
            CutKind::Ranks | CutKind::RanksWithoutZero => rank(self.of(cuts), value) as f32,
        }
    }
}

/// The number of cuts that a value is not below.
pub(crate) fn rank(cuts: &[f64], value: f64) -> usize {
    cuts.partition_point(|cut| *cut <= value)
}

/// The smallest f32 that is not below a number.
pub(crate) fn not_below(number: f64) -> f32 {
    let nearest = number as f32;
    if f64::from(nearest) < number { nearest.next_up() } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in ascending order, from end to end.
    fn ascending() -> impl Iterator<Item = f32> + Clone {
        let positive =
            [1e-45, f32::MIN_POSITIVE, 0.1, 1.0, 1.5, 16_777_216.0, f32::MAX, f32::INFINITY];
        let negative = positive.into_iter().rev().map(|number| -number);
        negative.chain([-0.0, 0.0]).chain(positive)
    }

    #[test]
    fn keys_are_ordered_as_their_numbers() {
        for a in ascending() {
            for b in ascending() {
                assert_eq!(a < b, monotone_key(a) < monotone_key(b), "{a} and {b}");
                assert_eq!(a == b, monotone_key(a) == monotone_key(b), "{a} and {b}");
            }
            assert_eq!(number_of_key(monotone_key(a)), a);
        }
    }

    #[test]
    fn no_number_has_the_key_of_a_missing_value() {
        assert!(monotone_key(f32::NEG_INFINITY) > 0);
        assert!(monotone_key(f32::INFINITY) < u32::MAX);
    }
}
