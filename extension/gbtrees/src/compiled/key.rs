//! Keys: numbers as u32, so that one unsigned comparison decides a split.
//!
//! For all numbers but NaN, `a < b` if and only if `key(a) < key(b)`, -0.0 and 0.0 having one key.
//! No number has the keys 0 and `u32::MAX`, which leaves them for a missing value: each feature has
//! two slots, one where missing is 0, below every threshold, and one where it is `u32::MAX`, above
//! them. A split whose default is left reads the first, one whose default is right the second, and
//! missing values need no branch. One more slot always holds `u32::MAX`; leaves read it.

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
