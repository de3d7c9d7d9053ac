//! Records of trees, category sets, dictionaries, target statistics and cuts in a compiled model.
//!
//! Records are plain data without padding in native byte order, so a compiled model is read in place,
//! and compiling a model twice gives the same bytes.
//!
//! The table of a target statistic ([`crate::ensemble::ctr`]) is an open hash table of 2^bits slots, at
//! least one of them empty, followed by the line of unknown keys. A slot is the two halves of a key,
//! lower first, and the key's line, so a look-up mostly reads one cache line. A key's first bits select
//! its first slot.
//!
//! A cut of a feature is a number such that exactly the smaller values go left (`lower::cuts` derives
//! cuts from splits). Splits only see a value's rank, the number of cuts that it is not below, which
//! narrowing to f32 preserves.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use crate::ensemble::MissingRule;

/// A node of interleaved traversal.
///
/// A split's right child is at `index + right_offset`, its left child after it: a walk continues at
/// `index + right_offset`, plus one if the key in `slot` is below `key`, in a single add with carry. A
/// leaf's `key` is its value's bits, its `right_offset` is 0, and its slot holds `u32::MAX`, which is
/// below no key, so a walk stays at it.
pub(crate) trait InterleavedNode: Pod {
    fn key(&self) -> u32;
    /// The slot of the row's key.
    fn slot(&self) -> usize;
    /// Distance from the node to its right child; 0 for a leaf.
    fn right_offset(&self) -> u32;

    /// The factor of the row's key before the comparison.
    #[inline(always)]
    fn factor(&self) -> u32 {
        1
    }

    /// Returns whether a row with this key in the slot goes left.
    #[inline(always)]
    fn is_left(&self, key: u32) -> bool {
        key.wrapping_mul(self.factor()) < self.key()
    }
}

/// A node of a small tree; eight fit in a cache line.
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
    /// For a categorical split, the index of its set.
    pub(crate) key: u32,
    pub(crate) slot: u32,
    pub(crate) right_offset: u32,
    /// [`CATEGORICAL`] for a categorical split, otherwise 0.
    pub(crate) kind: u32,
}

/// A node of a tree with categorical splits, for rows with outcomes: see [`crate::lower::outcomes`].
///
/// There is one per wide node, at the same index. A categorical split's factor shifts its bit of the
/// word in `slot` to the top, the only bit of `key`; other nodes have a factor of 1.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct OutcomeNode {
    pub(crate) key: u32,
    pub(crate) slot: u32,
    pub(crate) right_offset: u32,
    pub(crate) factor: u32,
}

/// The outcomes of a feature's categorical splits.
///
/// A line of words per code, one for values in no set, and one for missing values.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct OutcomeTable {
    pub(crate) feature: u32,
    pub(crate) codes: u32,
    /// Index of the first word.
    pub(crate) first: u32,
    /// Words per line.
    pub(crate) width: u32,
    /// The first of `width` slots of a row.
    pub(crate) slot: u32,
}

/// The kind of a wide node that tests a set.
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

/// Maximum trees walked together.
pub(crate) const LANES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern, NoUninit)]
#[repr(u32)]
pub(crate) enum GroupKind {
    Compact = 0,
    Wide = 1,
    /// Interleaved, over wide nodes, with categorical splits.
    Categorical = 2,
}

/// Successive trees that are walked together.
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct Group {
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Depth of the deepest tree.
    pub(crate) depth: u32,
    pub(crate) kind: GroupKind,
}

/// A leaf's linear model, found by the leaf's key; that of an ordinary leaf is its value.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct LinearLeaf {
    pub(crate) constant: f64,
    /// Index of the first term, and number of terms.
    pub(crate) first: u32,
    pub(crate) terms: u32,
}

/// A term of a linear model: a feature times a coefficient.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct LinearTerm {
    pub(crate) coefficient: f64,
    pub(crate) feature: u32,
    /// Padding.
    pub(crate) reserved: u32,
}

/// Precomputed data of a tree for explanations.
#[derive(Clone, Copy, Debug, Default, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct TreeSummary {
    /// Mean of the leaves, weighted by their shares.
    pub(crate) mean: f64,
    /// Number of quadrature points required.
    pub(crate) points: u32,
    /// Index of the first split, and number of splits.
    pub(crate) first_split: u32,
    pub(crate) splits: u32,
    /// Index of the first feature, and number of features.
    pub(crate) first_feature: u32,
    pub(crate) features: u32,
    /// Padding.
    pub(crate) reserved: u32,
}

/// The leaf children of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    None,
    Left,
    Right,
    Both,
}

/// A split for explanations: see [`crate::lower::splits`]. Values of leaves are relative to the tree's
/// mean; other splits are referred to by their index in the tree.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct SplitRecord {
    /// As in an [`OutcomeNode`]; or the index of a set.
    pub(crate) key: u32,
    /// The slot, and in the highest bits the position of the factor's bit.
    pub(crate) slot_and_shift: u32,
    /// The place of the feature in the tree; in the highest bits whether it is a set, which children
    /// are leaves, and which are splits of two leaves.
    pub(crate) place_and_kind: u32,
    /// The split on the right; the number of the tree's splits if that is a leaf; the bits of the mean
    /// of two leaves. A split on the left, or right of a leaf, is the next.
    pub(crate) other: u32,
    /// The nearest split above on the same feature, and this split's side of it: twice the index, plus
    /// 1 for left or 2 for right; 0 if there is none.
    pub(crate) above: u32,
    /// The share of training rows that went left.
    pub(crate) share: f32,
    /// The product of shares of the feature's splits above.
    pub(crate) product: f32,
    /// The value of a single leaf; of two leaves, the left value minus the right one.
    pub(crate) value: f32,
}

const SLOT_BITS: u32 = 27;
const PLACE_BITS: u32 = 27;
/// Marks a child that is a split of two leaves.
pub(crate) const LEFT_TWO_LEAVES: u32 = 1 << PLACE_BITS;
pub(crate) const RIGHT_TWO_LEAVES: u32 = 1 << (PLACE_BITS + 1);
const LEAVES_FROM: u32 = PLACE_BITS + 2;
/// Marks a child that is a leaf: see [`Leaves`].
pub(crate) const LEFT_LEAF: u32 = 1 << LEAVES_FROM;
pub(crate) const RIGHT_LEAF: u32 = 1 << (LEAVES_FROM + 1);
const SET: u32 = 1 << 31;

impl SplitRecord {
    /// Creates a split that tests whether the key in a slot, times a power of two, is below `key`.
    pub(crate) fn new(key: u32, slot: u32, factor: u32) -> Self {
        let slot_and_shift = slot & ((1 << SLOT_BITS) - 1) | factor.trailing_zeros() << SLOT_BITS;
        SplitRecord { key, slot_and_shift, ..SplitRecord::zeroed() }
    }

    /// Turns it into a split that tests the set at its key.
    pub(crate) fn of_set(self) -> Self {
        self.with(SET)
    }

    /// Sets the feature's place and the leaves.
    pub(crate) fn on(self, place: u32, leaves: Leaves) -> Self {
        self.with(place | (leaves as u32) << LEAVES_FROM)
    }

    /// Sets bits of [`SplitRecord::place_and_kind`], such as [`LEFT_TWO_LEAVES`].
    pub(crate) fn with(self, bits: u32) -> Self {
        SplitRecord { place_and_kind: self.place_and_kind | bits, ..self }
    }

    /// Returns whether one of these bits is set.
    #[inline(always)]
    pub(crate) fn has(&self, bit: u32) -> bool {
        self.place_and_kind & bit != 0
    }

    #[inline(always)]
    pub(crate) fn slot(&self) -> u32 {
        self.slot_and_shift & ((1 << SLOT_BITS) - 1)
    }

    /// Returns the shift of the row's key before the comparison.
    #[inline(always)]
    pub(crate) fn shift(&self) -> u32 {
        self.slot_and_shift >> SLOT_BITS
    }

    /// Returns the feature's place in the tree.
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

    /// Returns whether the left and the right child are leaves, as all bits or none.
    #[inline(always)]
    pub(crate) fn leaf_masks(&self) -> [usize; 2] {
        let kind = (self.place_and_kind >> LEAVES_FROM) as usize;
        [(kind & 1).wrapping_neg(), (kind >> 1 & 1).wrapping_neg()]
    }

    /// Returns the mean of two leaves.
    #[inline(always)]
    pub(crate) fn mean(&self) -> f32 {
        f32::from_bits(self.other)
    }
}

/// The words of a category set.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct SetSpan {
    /// Index of its first word.
    pub(crate) start: u32,
    pub(crate) count: u32,
}

/// Returns the words of a set.
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
    /// 0 for none, otherwise a [`crate::compiled::categories::CategoryKind`] with its flags
    /// `UNKNOWN_CODE` and `TAKES_HASH`.
    pub(crate) kind: u32,
    pub(crate) count: u32,
    /// Index of the first value among numbers or words.
    pub(crate) start: u32,
    /// Index of the first code in the sorted section.
    pub(crate) sorted: u32,
}

/// Maps a number other than NaN to a key of the same order.
#[inline(always)]
pub(crate) fn monotone_key(number: f32) -> u32 {
    // Adding zero turns -0.0 into 0.0 and changes nothing else.
    let bits = (number + 0.0).to_bits();
    // Negative numbers flip all bits, others only the sign.
    let flip = (bits.cast_signed() >> 31).cast_unsigned() | 0x8000_0000;
    bits ^ flip
}

/// Inverts [`monotone_key`]; 0.0 for both zeros.
pub(crate) fn number_of_key(key: u32) -> f32 {
    let flip = if key & 0x8000_0000 == 0 { u32::MAX } else { 0x8000_0000 };
    f32::from_bits(key ^ flip)
}

/// Returns the slot read by splits of a feature with this default.
pub(crate) fn default_slot(feature: usize, default_left: bool) -> usize {
    2 * feature + usize::from(!default_left)
}

/// Returns the slot that always holds `u32::MAX`, which is below no key.
pub(crate) fn leaf_slot(num_features: usize) -> usize {
    2 * num_features
}

/// The parts of a projection's keys, and its table.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct CtrProjection {
    pub(crate) first_part: u32,
    pub(crate) parts: u32,
    /// Index of the table's first word.
    pub(crate) first_word: u32,
    pub(crate) bits: u32,
    /// Numbers per line.
    pub(crate) width: u32,
}

/// The key of an empty slot, which look-ups never find.
pub(crate) const EMPTY: u64 = u64::MAX;

impl CtrProjection {
    /// Returns the words of a slot.
    pub(crate) fn slot_words(&self) -> usize {
        2 + self.width as usize
    }

    /// Returns the words of the table.
    pub(crate) fn words(&self) -> u64 {
        ((2 + u64::from(self.width)) << self.bits) + u64::from(self.width)
    }

    /// Returns the first slot of a key's look-up.
    #[inline(always)]
    pub(crate) fn first_slot(&self, key: u64) -> usize {
        // Shifting by all bits yields 0.
        key.checked_shr(u64::BITS - self.bits).unwrap_or(0) as usize
    }
}

/// Returns the key of a slot.
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
    /// A category's hash.
    Category = 0,
    /// Whether a number is above the operand.
    Above = 1,
    AboveOrMissing = 2,
    /// Whether a category's hash is the operand.
    HasBits = 3,
    /// Whether a category's code is the operand.
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
    /// The f32 next to the cuts decide like the cuts.
    Beside = 0,
    /// Values become ranks.
    Ranks = 1,
    /// Ranks, and zeros are missing.
    RanksWithoutZero = 2,
    /// Values are category codes.
    Codes = 3,
    /// Like the first, where a real lies on another side of some cut than its decimal.
    BesideDecimal = 4,
}

/// A feature's cuts in ascending order.
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct CutSpan {
    pub(crate) kind: CutKind,
    /// Index of the first cut.
    pub(crate) start: u32,
    pub(crate) count: u32,
}

impl CutSpan {
    /// Returns whether the span is within `cuts` cuts.
    pub(crate) fn is_within(self, cuts: usize) -> bool {
        u64::from(self.start) + u64::from(self.count) <= cuts as u64
    }

    pub(crate) fn of<T>(self, cuts: &[T]) -> &[T] {
        let start = self.start as usize;
        &cuts[start..start + self.count as usize]
    }

    /// The f32 that splits decide as the model decides the value. `ends` are the cuts as an f32 meets them.
    pub(crate) fn narrow(self, cuts: &[f64], ends: &[f32], value: f64) -> f32 {
        let nearest = value as f32;
        match self.kind {
            // Keeps the bits by which the caller may tell one NaN from another.
            _ if value.is_nan() => nearest,
            CutKind::Codes => value.trunc() as f32,
            CutKind::Beside if f64::from(nearest) == value => nearest,
            CutKind::BesideDecimal if is_own_decimal(value) => nearest,
            CutKind::Beside | CutKind::BesideDecimal => {
                let (cuts, ends) = (self.of(cuts), self.of(ends));
                let rank = rank(cuts, value);
                let below = rank.checked_sub(1).and_then(|last| ends.get(last));
                let least = below.map_or(nearest, |end| nearest.max(*end));
                match ends.get(rank) {
                    Some(end) if least >= *end => end.next_down(),
                    _ => least,
                }
            }
            CutKind::RanksWithoutZero if value.abs() <= f64::from(MissingRule::ZERO) => f32::NAN,
            CutKind::Ranks | CutKind::RanksWithoutZero => rank(self.of(cuts), value) as f32,
        }
    }

    /// The same of an f32, for which the model may decide its shortest decimal.
    pub(crate) fn narrow_real(self, ends: &[f32], value: f32) -> f32 {
        match self.kind {
            CutKind::Beside | CutKind::BesideDecimal => value,
            _ if value.is_nan() => f32::NAN,
            // The decimal is never on the other side of a whole number.
            CutKind::Codes => value.trunc(),
            CutKind::RanksWithoutZero if value.abs() <= MissingRule::ZERO => f32::NAN,
            CutKind::Ranks | CutKind::RanksWithoutZero => rank(self.of(ends), value) as f32,
        }
    }
}

/// Whether a number is an f32 whose shortest decimal is the number itself, as far as that is told quickly: it
/// is for sixteenths below 16,384, which have at most four places, and for whole numbers below 2^24.
#[inline]
fn is_own_decimal(value: f64) -> bool {
    // Adding a number whose last place is that, and taking it away again, rounds to it.
    const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;
    const SIXTEENTH: f64 = WHOLE / 16.0;
    (value + SIXTEENTH) - SIXTEENTH == value && value.abs() < 16_384.0
        || (value + WHOLE) - WHOLE == value && value.abs() < 16_777_216.0
}

/// The number of cuts that a value is not below.
pub(crate) fn rank<T: PartialOrd>(cuts: &[T], value: T) -> usize {
    cuts.partition_point(|cut| *cut <= value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::shortest_decimal;

    /// Numbers from end to end in ascending order.
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
    fn numbers_that_are_taken_for_their_own_decimals_are() {
        for bits in (0..f32::INFINITY.to_bits()).step_by(997) {
            let real = f32::from_bits(bits);
            let value = f64::from(real);
            assert!(!is_own_decimal(value) || shortest_decimal(real) == value, "{real:e}");
        }
        for sixteenths in 0..1 << 18 {
            let value = f64::from(sixteenths) / 16.0;
            assert!(is_own_decimal(value) && shortest_decimal(value as f32) == value, "{value}");
        }
    }

    #[test]
    fn no_number_has_the_key_of_a_missing_value() {
        assert!(monotone_key(f32::NEG_INFINITY) > 0);
        assert!(monotone_key(f32::INFINITY) < u32::MAX);
    }
}
