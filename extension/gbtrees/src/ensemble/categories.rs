//! Values of categorical features by code, and the sets of codes that splits test.
//!
//! XGBoost 3.1 and later store the values of models trained on data frames with category columns;
//! CatBoost stores the hashes tested by splits. Code `i` is the i-th value, and values are unique.
//!
//! A row holds a code as f32. XGBoost sends a code right if it is in the split's set. Values that
//! cannot be codes (negative, or at least 2^24) go left, as do codes beyond the set's last word;
//! fractions are truncated (`InvalidCat` and `Decision` in src/common/categorical.h). Missing values
//! take the default direction.

use std::hash::Hash;

use crate::Result;
use crate::memory::{filled, set_with_capacity};

/// The values of one categorical feature in code order.
#[derive(Clone, Debug, PartialEq)]
pub enum Categories {
    /// Text.
    Text(Vec<String>),
    /// Integers.
    Integer(Vec<i64>),
    /// Floating-point numbers as f64, whatever the file's width; never NaN.
    Float(Vec<f64>),
    /// CatBoost's hashes of text, or of an integer's digits; files have no values. Every value is
    /// valid, since another hash is just none of these.
    Hashed(Vec<u32>),
}

/// The number that stands for a category in an array of features, where the categories are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayCategories {
    /// Its code, as XGBoost and LightGBM read matrices.
    Codes,
    /// The category itself, as all others read them.
    Values,
}

impl ArrayCategories {
    /// The one of that name.
    pub fn named(name: &str) -> Option<ArrayCategories> {
        [ArrayCategories::Codes, ArrayCategories::Values].into_iter().find(|one| one.name() == name)
    }

    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            ArrayCategories::Codes => "codes",
            ArrayCategories::Values => "values",
        }
    }

    /// Returns the numbers that the library takes that wrote a file of this format.
    pub(crate) fn of_format(format: &str) -> ArrayCategories {
        if format.starts_with("xgboost") || format.starts_with("lightgbm") {
            ArrayCategories::Codes
        } else {
            ArrayCategories::Values
        }
    }
}

impl Categories {
    /// Upper bound of codes, exclusive.
    pub(crate) const MAX_CODES: usize = CODES;

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Categories::Text(values) => values.len(),
            Categories::Integer(values) => values.len(),
            Categories::Float(values) => values.len(),
            Categories::Hashed(hashes) => hashes.len(),
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Splits a run of bytes: value `i` is at `offsets[i]..offsets[i + 1]`.
    pub(crate) fn from_offsets(offsets: &[i64], bytes: &[u8]) -> Result<Categories> {
        let ends_match = match (offsets.first(), offsets.last()) {
            (Some(first), Some(last)) => *first == 0 && usize::try_from(*last) == Ok(bytes.len()),
            _ => bytes.is_empty(),
        };
        if !ends_match {
            bail!(Length, "the offsets of categories do not span their bytes");
        }
        let mut values = Vec::with_capacity(offsets.len().saturating_sub(1));
        for (start, end) in offsets.iter().zip(offsets.iter().skip(1)) {
            let value = usize::try_from(*start)
                .ok()
                .zip(usize::try_from(*end).ok())
                .and_then(|(start, end)| bytes.get(start..end))
                .ok_or_else(|| fault!(Length, "the offsets of categories do not ascend"))?;
            let value = std::str::from_utf8(value)
                .map_err(|_| fault!(Encoding, "a category is not UTF-8"))?;
            values.push(value.to_owned());
        }
        Ok(Categories::Text(values))
    }

    /// Checks that values are unique and not NaN.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Categories::Text(values) => check_unique(values.iter()),
            Categories::Integer(values) => check_unique(values.iter()),
            Categories::Float(values) => {
                if values.iter().any(|value| value.is_nan()) {
                    bail!(NotFinite, "a category is NaN");
                }
                // Adding zero merges -0.0 and 0.0, which are equal.
                check_unique(values.iter().map(|value| (value + 0.0).to_bits()))
            }
            Categories::Hashed(hashes) => check_unique(hashes.iter()),
        }
    }
}

fn check_unique<T: Hash + Eq>(values: impl ExactSizeIterator<Item = T>) -> Result<()> {
    let mut seen = set_with_capacity(values.len())?;
    for value in values {
        if !seen.insert(value) {
            bail!(Names, "a feature has the same category twice");
        }
    }
    Ok(())
}

/// A bit set of category codes: code `c` is bit `c % 32` of word `c / 32`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CategorySet {
    pub(crate) words: Vec<u32>,
}

impl CategorySet {
    /// Builds a set and deducts its words from `words_left`, the limit for all sets of a model.
    pub(crate) fn new(codes: &[i32], words_left: &mut usize) -> Result<Self> {
        let mut largest = 0;
        for code in codes {
            let code = usize::try_from(*code).ok().filter(|code| *code < CODES);
            largest =
                largest.max(code.ok_or_else(|| {
                    fault!(CategoryRange, "a split names a category that cannot be")
                })?);
        }
        let count = largest / 32 + 1;
        *words_left = words_left
            .checked_sub(count)
            .ok_or_else(|| fault!(Limit, "the category sets of the model are too large"))?;
        let mut words = filled(count, 0u32)?;
        for code in codes {
            if let Some(word) = words.get_mut((*code / 32) as usize) {
                *word |= 1 << (*code % 32);
            }
        }
        Ok(CategorySet { words })
    }

    /// Returns whether a code is in the set; codes beyond the last word are not.
    pub fn contains(&self, code: u32) -> bool {
        self.words.get((code / 32) as usize).is_some_and(|word| word >> (code % 32) & 1 == 1)
    }

    /// Returns the largest code plus one; 0 for an empty set.
    pub(crate) fn end(&self) -> usize {
        end_of_set(&self.words)
    }

    /// Returns the words, lowest codes first.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

/// Returns the largest code in a set's words plus one; 0 for an empty set.
pub(crate) fn end_of_set(words: &[u32]) -> usize {
    match words.iter().rposition(|word| *word != 0) {
        Some(last) => 32 * (last + 1) - words[last].leading_zeros() as usize,
        None => 0,
    }
}

/// Maximum number of codes: beyond, f32 no longer has every integer (`OutOfRangeCat` in XGBoost's
/// src/common/categorical.h).
pub(crate) const CODES: usize = 1 << 24;
/// The largest code plus one.
pub(crate) const CODE_END: f32 = CODES as f32;

/// Returns whether a value other than NaN is in the set of these words.
#[inline]
pub(crate) fn is_in_set(words: &[u32], value: f32) -> bool {
    code_of(value).is_some_and(|code| {
        words.get((code / 32) as usize).is_some_and(|word| word >> (code % 32) & 1 == 1)
    })
}

/// Returns a value's code, if it is one.
#[inline(always)]
pub(crate) fn code_of(value: f32) -> Option<u32> {
    // -0.5 is negative and goes left, although it truncates to code 0.
    (0.0..CODE_END).contains(&value).then_some(value as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn text_is_cut_at_the_offsets() {
        let categories = Categories::from_offsets(&[0, 1, 1, 3], "aé".as_bytes()).unwrap();
        assert_eq!(categories, Categories::Text(vec!["a".into(), String::new(), "é".into()]));
        assert!(Categories::from_offsets(&[], b"").unwrap().is_empty());
    }

    #[test]
    fn offsets_that_do_not_fit_are_refused() {
        let cases: [(&[i64], &[u8]); 6] = [
            (&[], b"a"),
            (&[1, 2], b"ab"),
            (&[0, 1], b"ab"),
            (&[0, 3], b"ab"),
            (&[0, 2, 1, 2], b"ab"),
            (&[0, -1, 2], b"ab"),
        ];
        for (offsets, bytes) in cases {
            let error = Categories::from_offsets(offsets, bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Length, "{offsets:?}");
        }
        let error = Categories::from_offsets(&[0, 1, 2], "é".as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Encoding);
    }

    #[test]
    fn equal_values_are_refused() {
        let text = |values: [&str; 2]| Categories::Text(values.map(String::from).to_vec());
        text(["a", "b"]).check().unwrap();
        Categories::Float(vec![0.0, f64::INFINITY]).check().unwrap();
        for categories in [
            text(["a", "a"]),
            Categories::Integer(vec![3, 4, 3]),
            Categories::Float(vec![0.0, -0.0]),
        ] {
            assert_eq!(categories.check().unwrap_err().kind(), ErrorKind::Names);
        }
        let nan = Categories::Float(vec![f64::NAN]);
        assert_eq!(nan.check().unwrap_err().kind(), ErrorKind::NotFinite);
    }

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
    fn the_largest_code_is_valid() {
        let mut words = vec![0; (1 << 24) / 32];
        words[(1 << 24) / 32 - 1] = 1 << 31;
        assert!(is_in_set(&words, CODE_END - 1.0));
    }
}
