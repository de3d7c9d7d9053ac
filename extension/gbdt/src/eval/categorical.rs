//! Categorical splits.
//!
//! A row's value is a category code in an f32. XGBoost sends a code right if it is in the split's
//! set. What cannot be a code, because it is negative or at least 2^24, goes left, as does a code
//! beyond the set's last word; a fraction is truncated (XGBoost: `InvalidCat` and `Decision` in
//! src/common/categorical.h). Missing values are not its business.

/// How many codes there can be: from here on f32 no longer has every whole number.
pub(crate) const CODES: usize = 1 << 24;
/// One above the largest code.
pub(super) const CODE_END: f32 = CODES as f32;

/// Whether a value is in a set, given as words, lowest codes first. The value is not NaN.
#[inline]
pub(crate) fn is_in_set(words: &[u32], value: f32) -> bool {
    code_of(value).is_some_and(|code| {
        words.get((code / 32) as usize).is_some_and(|word| word >> (code % 32) & 1 == 1)
    })
}

/// The code that a value is, if any.
#[inline(always)]
pub(super) fn code_of(value: f32) -> Option<u32> {
    // -0.5 is below zero and goes left, though truncated it would be code 0.
    (0.0..CODE_END).contains(&value).then_some(value as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_looked_up() {
        let words = [0b101, 1 << 31];
        for value in [0.0, -0.0, 0.9, 2.0, 2.99, 63.0, 63.9] {
            assert!(is_in_set(&words, value), "{value}");
        }
        for value in [1.0, 64.0, -0.5, -1.0, CODE_END, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(!is_in_set(&words, value), "{value}");
        }
    }

    #[test]
    fn the_largest_code_is_a_code() {
        let mut words = vec![0; (1 << 24) / 32];
        words[(1 << 24) / 32 - 1] = 1 << 31;
        assert!(is_in_set(&words, CODE_END - 1.0));
    }
}
