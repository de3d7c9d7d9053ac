//! Resolves the splits of a file to tests on columns.
//!
//! `cbm` names a split by its bin. JSON also names the feature and its border or value; both must
//! agree, since CatBoost itself uses the bin.

use std::collections::HashMap;

use crate::ensemble::ctr::KeyPart;
use crate::ensemble::{CategorySet, Comparison, MissingRule, Node, SplitCondition};
use crate::format::catboost::ctr::{Combination, RawCtrs};
use crate::format::catboost::features::{Features, NanTreatment};
use crate::format::reader::CancelChecks;
use crate::format::sniff::unsupported;
use crate::{Error, Result};

/// A split as read. Indices are per kind of feature.
#[derive(Clone, Copy)]
pub(super) enum RawSplit {
    Bin(i64),
    Border {
        index: i64,
        border: f32,
        bin: Option<i64>,
    },
    Category {
        index: i64,
        value: i32,
        bin: Option<i64>,
    },
    /// A target statistic, identified only by its bin.
    Statistic {
        border: f32,
        bin: i64,
    },
    /// Tests a value computed from text.
    Unscored,
}

/// The condition for bit 1; `column` is a feature of the model, or a statistic after them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BinSplit {
    Above { column: u32, border: f32, missing_too: bool },
    Is { column: u32, hash: u32 },
}

/// Resolves bins to splits.
pub(super) struct Bins<'a> {
    features: &'a Features,
    ctrs: &'a RawCtrs,
    num_features: u32,
    /// The feature number of each statistic.
    ctr_columns: Vec<u32>,
    /// The first bin of each numeric feature, one-hot feature and statistic, then the number of bins.
    starts: Vec<usize>,
    /// Positions of numeric features by index.
    floats: HashMap<i64, usize>,
    /// Columns of categorical features by index.
    categorical: HashMap<i64, u32>,
}

impl<'a> Bins<'a> {
    /// Numbers the bins of features whose columns have been counted.
    pub(super) fn of(features: &'a Features, ctrs: &'a RawCtrs, num_features: usize) -> Self {
        let floats = features.floats.iter().map(|feature| feature.borders.len());
        let one_hots = features.one_hots.iter().map(|feature| feature.values.len());
        let sizes = floats.chain(one_hots).chain(ctrs.ctrs.iter().map(|ctr| ctr.borders.len()));
        let mut starts = vec![0];
        let mut end = 0;
        starts.extend(sizes.map(|size| {
            end += size;
            end
        }));
        let floats = features.floats.iter().enumerate();
        let categorical = features.categorical.iter();
        Bins {
            features,
            ctrs,
            num_features: num_features as u32,
            ctr_columns: ctrs.split_features(num_features),
            starts,
            floats: floats.map(|(place, feature)| (feature.column.index, place)).collect(),
            categorical: categorical.map(|all| (all.index, all.flat_index as u32)).collect(),
        }
    }

    pub(super) fn split(&self, raw: RawSplit) -> Result<BinSplit> {
        let (split, bin) = match raw {
            RawSplit::Bin(bin) => return self.at(bin),
            RawSplit::Border { index, border, bin } => {
                (self.features.above(self.number(index)?, border), bin)
            }
            RawSplit::Category { index, value, bin } => (self.is(index, value)?, bin),
            RawSplit::Statistic { border, bin } => {
                let split = self.at(bin)?;
                let is_same = |column, other| column >= self.num_features && other == border;
                return match split {
                    BinSplit::Above { column, border, .. } if is_same(column, border) => Ok(split),
                    _ => Err(differs(bin)),
                };
            }
            RawSplit::Unscored => {
                let what = "a split on a value computed from text";
                return Err(unsupported(what, "Train the model with numbers and categories."));
            }
        };
        match bin {
            Some(bin) if self.at(bin)? != split => Err(differs(bin)),
            _ => Ok(split),
        }
    }

    fn at(&self, bin: i64) -> Result<BinSplit> {
        let none = || {
            let count = self.starts.last().copied().unwrap_or(0);
            fault!(FeatureRange, "a split is number {bin} of {count}")
        };
        let bin = usize::try_from(bin).map_err(|_| none())?;
        // Features without bins share their start with the next one.
        let feature = self.starts.partition_point(|start| *start <= bin);
        let feature = feature.checked_sub(1).ok_or_else(none)?;
        let place = bin - self.starts.get(feature).copied().unwrap_or(bin);
        if let Some(float) = self.features.floats.get(feature) {
            let border = float.borders.get(place).ok_or_else(none)?;
            return Ok(self.features.above(feature, *border));
        }
        let feature = feature - self.features.floats.len();
        if let Some(one_hot) = self.features.one_hots.get(feature) {
            return self.is(one_hot.index, *one_hot.values.get(place).ok_or_else(none)?);
        }
        let index = feature - self.features.one_hots.len();
        let column = *self.ctr_columns.get(index).ok_or_else(none)?;
        let ctr = self.ctrs.ctrs.get(index).ok_or_else(none)?;
        let border = *ctr.borders.get(place).ok_or_else(none)?;
        Ok(BinSplit::Above { column, border, missing_too: false })
    }

    fn is(&self, index: i64, value: i32) -> Result<BinSplit> {
        Ok(BinSplit::Is { column: self.category(index)?, hash: value.cast_unsigned() })
    }

    /// Returns the position of a numeric feature.
    fn number(&self, index: i64) -> Result<usize> {
        self.floats.get(&index).copied().ok_or_else(|| no_feature("numeric", index))
    }

    /// Returns the column of a categorical feature.
    pub(super) fn category(&self, index: i64) -> Result<u32> {
        let column = self.categorical.get(&index).copied();
        column.ok_or_else(|| no_feature("categorical", index))
    }

    /// Returns the parts of a combination's keys. `hashed` marks the columns that rows have hashes of.
    pub(super) fn key_parts(
        &self,
        combination: &Combination,
        dictionaries: &Dictionaries,
        hashed: &[bool],
    ) -> Result<Vec<KeyPart>> {
        let mut parts = Vec::new();
        for index in &combination.categories {
            parts.push(KeyPart::Category { feature: self.category(*index)? });
        }
        for (index, border) in &combination.borders {
            let (feature, missing_too) = self.features.column(self.number(*index)?);
            parts.push(KeyPart::Above { feature, border: f32::from_bits(*border), missing_too });
        }
        for (index, value) in &combination.hashes {
            let (feature, hash) = (self.category(*index)?, value.cast_unsigned());
            parts.push(match hashed.get(feature as usize) {
                Some(true) => KeyPart::HasHash { feature, hash },
                _ => KeyPart::HasCode { feature, code: dictionaries.code_of(feature, hash) },
            });
        }
        Ok(parts)
    }
}

fn differs(bin: i64) -> Error {
    fault!(Parameter, "a split differs from number {bin} of the features' splits")
}

fn no_feature(kind: &str, index: i64) -> Error {
    fault!(FeatureRange, "a split tests {kind} feature {index}, which the model does not have")
}

impl Features {
    /// Returns the split at a border of a numeric feature.
    fn above(&self, place: usize, border: f32) -> BinSplit {
        let (column, missing_too) = self.column(place);
        BinSplit::Above { column, border, missing_too }
    }

    /// Returns the column of a numeric feature, and whether missing values are above all borders.
    fn column(&self, place: usize) -> (u32, bool) {
        let feature = self.floats.get(place);
        let column = feature.map_or(0, |feature| feature.column.flat_index as u32);
        let missing_too = feature.is_some_and(|feature| {
            feature.has_nans && feature.nan_treatment == NanTreatment::Above
        });
        (column, missing_too)
    }
}

impl BinSplit {
    /// Builds the node; a row with bit 0 goes left. `set` comes from [`Dictionaries::set_of`].
    pub(super) fn node(self, set: u32, [left, right]: [u32; 2], cover: f32) -> Node {
        let (feature, condition, default_left) = match self {
            BinSplit::Above { column, border, missing_too } => {
                let (comparison, threshold) = (Comparison::LessOrEqual, border.into());
                let missing = MissingRule::Nan;
                let condition = SplitCondition::Compare { comparison, threshold, missing };
                (column, condition, !missing_too)
            }
            BinSplit::Is { column, .. } => {
                (column, SplitCondition::InSet { set, members_left: false }, true)
            }
        };
        let gain = 0.0;
        let split =
            crate::ensemble::Split { feature, condition, default_left, left, right, gain, cover };
        Node::Split(split)
    }
}

/// The hashes tested by splits, by column; a hash's code is its position.
pub(super) struct Dictionaries(Vec<Vec<u32>>);

impl Dictionaries {
    /// Collects the hashes of `columns` columns.
    pub(super) fn of(
        splits: impl Iterator<Item = BinSplit>,
        columns: usize,
        checks: &mut CancelChecks<'_>,
    ) -> Self {
        let mut hashes = vec![Vec::new(); columns];
        for split in splits {
            checks.note();
            if let BinSplit::Is { column, hash } = split
                && let Some(hashes) = hashes.get_mut(column as usize)
            {
                hashes.push(hash);
            }
        }
        for hashes in &mut hashes {
            hashes.sort_unstable_by(|a, b| {
                checks.note();
                a.cmp(b)
            });
            hashes.dedup();
        }
        Dictionaries(hashes)
    }

    /// Returns a column's ascending hashes; empty if no split tests its category.
    pub(super) fn of_column(&self, column: usize) -> &[u32] {
        self.0.get(column).map_or(&[], Vec::as_slice)
    }

    /// Adds the category set of a split and returns its index, or 0 for other splits.
    pub(super) fn set_of(
        &self,
        split: &BinSplit,
        sets: &mut Vec<CategorySet>,
        words_left: &mut usize,
    ) -> Result<u32> {
        let BinSplit::Is { column, hash } = *split else { return Ok(0) };
        let code = self.code_of(column, hash).cast_signed();
        sets.push(CategorySet::new(&[code], words_left)?);
        Ok(sets.len() as u32 - 1)
    }

    fn code_of(&self, column: u32, hash: u32) -> u32 {
        let hashes = self.of_column(column as usize);
        // There are fewer hashes than bytes in the file, so a code fits in i32.
        hashes.binary_search(&hash).unwrap_or(hashes.len()) as u32
    }
}
