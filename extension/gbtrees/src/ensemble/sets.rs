//! Sets of category codes, and whether a row's value is in one.
//!
//! A row's value is a category code in an f32. XGBoost sends a code right if it is in the split's
//! set. What cannot be a code, because it is negative or at least 2^24, goes left, as does a code
//! beyond the set's last word; a fraction is truncated (XGBoost: `InvalidCat` and `Decision` in
//! src/common/categorical.h). Missing values are not its business.

use crate::ensemble::Categories;
use crate::{Error, ErrorKind, Result};

/// A set of category codes, as bits: code `c` is bit `c % 32` of word `c / 32`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CategorySet {
    pub(crate) words: Vec<u32>,
}

impl CategorySet {
    /// The set of these codes. Its words, up to that of its largest code, are taken off
    /// `words_left`: whoever reads a file bounds with it what all sets of a model take.
    pub(crate) fn new(codes: &[i32], words_left: &mut usize) -> Result<Self> {
        let mut largest = 0;
        for code in codes {
            let code = usize::try_from(*code).ok().filter(|code| *code < Categories::MAX_CODES);
            largest = largest.max(code.ok_or_else(|| {
                Error::new(ErrorKind::CategoryRange, "a split names a category that cannot be")
            })?);
        }
        let count = largest / 32 + 1;
        *words_left = words_left.checked_sub(count).ok_or_else(|| {
            Error::new(ErrorKind::Limit, "the category sets of the model are too large")
        })?;
        let mut words = vec![0u32; count];
        for code in codes {
            if let Some(word) = words.get_mut((*code / 32) as usize) {
                *word |= 1 << (*code % 32);
            }
        }
        Ok(CategorySet { words })
    }

    /// Whether the code is in the set; codes beyond the last word are not.
    pub fn contains(&self, code: u32) -> bool {
        self.words.get((code / 32) as usize).is_some_and(|word| word >> (code % 32) & 1 == 1)
    }

    /// The largest code and 1; 0 if the set is empty.
    pub(crate) fn end(&self) -> usize {
        end_of_set(&self.words)
    }

    /// The words, the lowest codes first.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

/// The largest code of a set's words and 1; 0 if it is empty.
pub(crate) fn end_of_set(words: &[u32]) -> usize {
    match words.iter().rposition(|word| *word != 0) {
        Some(last) => 32 * (last + 1) - words[last].leading_zeros() as usize,
        None => 0,
    }
}

/// How many codes there can be: from here on f32 no longer has every whole number.
pub(crate) const CODES: usize = 1 << 24;
/// One above the largest code.
pub(crate) const CODE_END: f32 = CODES as f32;

/// Whether a value is in a set, given as words, lowest codes first. The value is not NaN.
#[inline]
pub(crate) fn is_in_set(words: &[u32], value: f32) -> bool {
    code_of(value).is_some_and(|code| {
        words.get((code / 32) as usize).is_some_and(|word| word >> (code % 32) & 1 == 1)
    })
}

/// The code that a value is, if any.
#[inline(always)]
pub(crate) fn code_of(value: f32) -> Option<u32> {
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
