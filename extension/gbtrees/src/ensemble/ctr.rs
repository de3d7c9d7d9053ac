//! Target statistics of categories (CatBoost's CTR), which splits test like numbers.
//!
//! A projection combines a row's categories and the outcomes of conditions into a 64-bit key
//! (`CalcHashes` in catboost/libs/model/ctr_provider.h). Its table has a line per key of the training
//! data and a last line for all others, with the number that CatBoost computes from the file's counts
//! for each statistic. Counts do not depend on the row, so these numbers are computed on loading.
//! Statistics are numbered after a row's features, projection by projection.
//!
//! A category here is its hash instead of a code, so that unlisted combinations have keys. Rows hold
//! such a hash as the bits of an f32, or as the value of an f64, and none is missing.

use std::collections::{BTreeSet, HashMap};

use crate::{Error, ErrorKind, Result};

/// The factor of [`combined`].
const FACTOR: u64 = 0x4906_ba49_4954_cb65;

/// Appends a part to a key (`CalcHash` in catboost/libs/model/hash.h).
#[inline(always)]
pub(crate) fn combined(key: u64, part: u64) -> u64 {
    FACTOR.wrapping_mul(key.wrapping_add(FACTOR.wrapping_mul(part)))
}

/// Returns a category's part of a key: its sign-extended hash.
#[inline(always)]
pub(crate) fn part_of_hash(hash: u32) -> u64 {
    i64::from(hash.cast_signed()).cast_unsigned()
}

/// A part of a key: a category, or the outcome of a condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KeyPart {
    /// A feature's category.
    Category { feature: u32 },
    /// Whether a number is above a border.
    Above { feature: u32, border: f32, missing_too: bool },
    /// Whether a category has this hash, where rows hold hashes.
    HasHash { feature: u32, hash: u32 },
    /// Whether a category has this code, where rows hold codes.
    HasCode { feature: u32, code: u32 },
}

/// The statistics with a common key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Projection {
    pub(crate) parts: Vec<KeyPart>,
    /// Ascending.
    pub(crate) keys: Vec<u64>,
    /// Number of statistics.
    pub(crate) width: usize,
    /// A line of `width` numbers per key, then the line of all other keys.
    pub(crate) lines: Vec<f32>,
}

/// A model's statistics; empty for most models.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ctrs {
    pub(crate) projections: Vec<Projection>,
    /// Whether rows hold a feature's hash, by feature; or empty.
    pub(crate) hashed: Vec<bool>,
}

/// A number of a row, which may encode a category's hash.
pub trait RowNumber: Copy + Into<f64> {
    /// Decodes the hash of a category.
    fn hash(self) -> u32;

    /// Encodes the hash of a category.
    fn of_hash(hash: u32) -> Self;

    /// Encodes the code of a category.
    fn of_code(code: u32) -> Self;
}

impl RowNumber for f32 {
    fn hash(self) -> u32 {
        self.to_bits()
    }

    fn of_hash(hash: u32) -> f32 {
        f32::from_bits(hash)
    }

    fn of_code(code: u32) -> f32 {
        code as f32
    }
}

impl RowNumber for f64 {
    fn hash(self) -> u32 {
        // Casts saturate: other numbers become some hash, since none is missing.
        self as u32
    }

    fn of_hash(hash: u32) -> f64 {
        hash.into()
    }

    fn of_code(code: u32) -> f64 {
        code.into()
    }
}

impl Ctrs {
    /// Returns the number of statistics.
    pub(crate) fn count(&self) -> usize {
        self.projections.iter().map(|projection| projection.width).sum()
    }

    pub(crate) fn takes_hash(&self, feature: usize) -> bool {
        self.hashed.get(feature) == Some(&true)
    }

    /// Returns, per statistic, the features in its key.
    pub(crate) fn features(&self) -> impl Iterator<Item = BTreeSet<usize>> {
        self.projections.iter().flat_map(|projection| {
            let features: BTreeSet<usize> =
                projection.parts.iter().map(|part| part.feature() as usize).collect();
            std::iter::repeat_n(features, projection.width)
        })
    }

    /// Returns the player of each split feature in explanations: the feature, or for a statistic of
    /// several categories the first projection that combines the same ones, numbered after the features
    /// (`MapBinFeaturesToClasses` in catboost/libs/fstr/shap_prepared_trees.cpp).
    pub(crate) fn players(&self, num_features: usize) -> Vec<u32> {
        let mut players: Vec<u32> = (0..num_features as u32).collect();
        let mut known = HashMap::new();
        for (own, projection) in (num_features as u32..).zip(&self.projections) {
            let categories: BTreeSet<u32> = projection.categories().collect();
            let only = categories.first().filter(|_| categories.len() == 1).copied();
            let player = *known.entry(categories).or_insert(only.unwrap_or(own));
            players.extend(std::iter::repeat_n(player, projection.width));
        }
        players
    }

    /// Checks the invariants that evaluation relies on.
    pub(crate) fn check(&self, num_features: usize) -> Result<()> {
        let fault = |kind, message: &str| Err(Error::new(kind, message));
        if ![0, num_features].contains(&self.hashed.len()) {
            return fault(ErrorKind::Length, "model has not one kind of row value per feature");
        }
        for projection in &self.projections {
            let in_range = projection.parts.iter().all(|part| {
                let feature = part.feature() as usize;
                let has_hash = matches!(part, KeyPart::Category { .. } | KeyPart::HasHash { .. });
                feature < num_features && has_hash == self.takes_hash(feature)
            });
            if !in_range || projection.categories().next().is_none() {
                let message =
                    "target statistics have no category, or a feature that the model does not have";
                return fault(ErrorKind::FeatureRange, message);
            }
            let lines = projection.keys.len().saturating_add(1);
            let fits = projection.lines.len() == lines.saturating_mul(projection.width);
            if !fits || projection.width == 0 || !projection.keys.is_sorted_by(|a, b| a < b) {
                return fault(ErrorKind::Length, "a table of target statistics is not complete");
            }
        }
        Ok(())
    }

    /// Returns a row's split values: its numbers, with hashes converted by `code_of`, then the
    /// statistics.
    pub(crate) fn split_values<V: RowNumber>(
        &self,
        features: &[V],
        code_of: impl Fn(usize, u32) -> u32,
    ) -> Vec<f64> {
        let numbers = features.iter().enumerate().map(|(feature, value)| {
            if self.takes_hash(feature) {
                code_of(feature, value.hash()).into()
            } else {
                (*value).into()
            }
        });
        let mut values: Vec<f64> = numbers.collect();
        for projection in &self.projections {
            values.extend(projection.line(features).iter().copied().map(f64::from));
        }
        values
    }
}

impl Projection {
    /// Returns the features whose categories are combined.
    pub(crate) fn categories(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().filter_map(|part| match part {
            KeyPart::Category { feature } => Some(*feature),
            _ => None,
        })
    }

    fn line<V: RowNumber>(&self, features: &[V]) -> &[f32] {
        let key = self.parts.iter().fold(0, |key, part| combined(key, part.of(features)));
        let line = self.keys.binary_search(&key).unwrap_or(self.keys.len());
        self.lines.chunks(self.width).nth(line).unwrap_or_default()
    }
}

impl KeyPart {
    fn feature(self) -> u32 {
        match self {
            KeyPart::Category { feature }
            | KeyPart::Above { feature, .. }
            | KeyPart::HasHash { feature, .. }
            | KeyPart::HasCode { feature, .. } => feature,
        }
    }

    fn of<V: RowNumber>(self, features: &[V]) -> u64 {
        let value = |feature: u32| features.get(feature as usize).copied();
        let number = |feature| value(feature).map_or(f32::NAN, |value| value.into() as f32);
        let hash = |feature| value(feature).map_or(0, V::hash);
        match self {
            KeyPart::Category { feature } => part_of_hash(hash(feature)),
            KeyPart::Above { feature, border, missing_too } => {
                let number = number(feature);
                (number > border || (missing_too && number.is_nan())).into()
            }
            KeyPart::HasHash { feature, hash: wanted } => (hash(feature) == wanted).into(),
            KeyPart::HasCode { feature, code } => (number(feature) == code as f32).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_the_same_categories_are_one_player() {
        let category = |feature| KeyPart::Category { feature };
        let above = KeyPart::Above { feature: 1, border: 0.5, missing_too: false };
        let projections = [
            vec![category(0)],
            vec![category(0), category(2)],
            vec![category(0), above],
            vec![category(0), category(2), above],
            vec![category(2)],
        ];
        let projections = projections.map(|parts| Projection {
            parts,
            keys: Vec::new(),
            width: 2,
            lines: vec![0.0; 2],
        });
        let ctrs = Ctrs { projections: projections.into(), hashed: vec![true, false, true] };
        assert_eq!(ctrs.check(3), Ok(()));
        assert_eq!(ctrs.players(3), [0, 1, 2, 0, 0, 4, 4, 0, 0, 4, 4, 2, 2]);
    }
}
