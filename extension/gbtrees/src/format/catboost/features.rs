//! The features of a file: their columns, and the bins that splits test.
//!
//! A row's columns are numbered across all kinds of features (CatBoost's flat index); splits use
//! numbers per kind (the index). A *bin* numbers in one sequence all borders of numeric features, all
//! categories of one-hot features, then all borders of target statistics (`CalcBinFeatures` in
//! catboost/libs/model/model.cpp).

use crate::ensemble::{Categories, FeatureType, check_limit};
use crate::format::sniff::{shown, unsupported};
use crate::{Limits, Result};

#[derive(Default)]
pub(super) struct Features {
    pub(super) floats: Vec<FloatFeature>,
    pub(super) categorical: Vec<Column>,
    pub(super) one_hots: Vec<OneHot>,
    /// Features that the model needs and that are not supported.
    pub(super) unscored: Vec<Unscored>,
}

/// A feature of any kind.
#[derive(Clone, Default)]
pub(super) struct Column {
    /// Index among the features of its kind.
    pub(super) index: i64,
    /// Index among all features.
    pub(super) flat_index: i64,
    /// Empty for an unnamed feature.
    pub(super) name: String,
}

#[derive(Clone, Default)]
pub(super) struct FloatFeature {
    pub(super) column: Column,
    pub(super) borders: Vec<f32>,
    /// Whether training data had missing values; CatBoost ignores `nan_treatment` otherwise.
    pub(super) has_nans: bool,
    pub(super) nan_treatment: NanTreatment,
}

/// Treatment of missing values, if the training data had any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NanTreatment {
    /// CatBoost's AsIs: NaN is above no border.
    #[default]
    Nan,
    /// AsFalse: below every border.
    Below,
    /// AsTrue: above every border.
    Above,
}

/// A categorical feature whose categories are tested one by one.
#[derive(Clone, Default)]
pub(super) struct OneHot {
    /// Index of the categorical feature.
    pub(super) index: i64,
    /// Hashes, signed as in the file.
    pub(super) values: Vec<i32>,
}

/// An unsupported feature, refused by name.
pub(super) enum Unscored {
    Text(Column),
    Embedding(Column),
    /// Computed from text or embeddings.
    Estimated,
}

const NUMBERS: &str =
    "Train the model without this feature, or with numbers computed from it beforehand.";

impl Features {
    /// Refuses unsupported features; runs after all features have been read, since names come last.
    pub(super) fn check_scored(&self) -> Result<()> {
        let Some(first) = self.unscored.first() else { return Ok(()) };
        let named = |column: &Column| match column.name.as_str() {
            "" => column.flat_index.to_string(),
            name => format!("\"{}\"", shown(name)),
        };
        Err(match first {
            Unscored::Text(column) => {
                unsupported(&format!("text feature {}", named(column)), NUMBERS)
            }
            Unscored::Embedding(column) => {
                unsupported(&format!("embedding feature {}", named(column)), NUMBERS)
            }
            Unscored::Estimated => unsupported("a feature computed from text", NUMBERS),
        })
    }

    /// Describes each column; `hashes_of` returns the ascending hashes of a categorical one.
    pub(super) fn columns(
        &self,
        count: usize,
        hashes_of: impl Fn(usize) -> Vec<u32>,
    ) -> Result<FeatureColumns> {
        let floats = self.floats.iter().map(|feature| (&feature.column, FeatureType::Numerical));
        let categorical = self.categorical.iter().map(|column| (column, FeatureType::Categorical));
        let mut types = vec![None; count];
        let mut names: Vec<String> = (0..count).map(|index| index.to_string()).collect();
        let mut named = false;
        for (column, kind) in floats.chain(categorical) {
            let index = column.flat_index as usize;
            if types.get_mut(index).and_then(|place| place.replace(kind)).is_some() {
                bail!(Parameter, "two features are column {index}");
            }
            let is_other = |own: &&mut String| !column.name.is_empty() && **own != column.name;
            if let Some(name) = names.get_mut(index).filter(is_other) {
                name.clone_from(&column.name);
                named = true;
            }
        }
        let numerical = FeatureType::Numerical;
        let types: Vec<_> = types.into_iter().map(|kind| kind.unwrap_or(numerical)).collect();
        let categories = types.iter().enumerate().map(|(column, kind)| {
            (*kind == FeatureType::Categorical).then(|| Categories::Hashed(hashes_of(column)))
        });
        let categories = categories.collect();
        Ok(FeatureColumns { names: if named { names } else { Vec::new() }, categories, types })
    }

    /// Returns the number of columns: the largest flat index plus one.
    pub(super) fn count(&self, limits: &Limits) -> Result<usize> {
        let floats = self.floats.iter().map(|feature| &feature.column);
        let mut count = 0;
        for column in floats.chain(&self.categorical) {
            let index = usize::try_from(column.flat_index)
                .map_err(|_| fault!(FeatureRange, "a feature is column {}", column.flat_index))?;
            check_limit(index + 1, limits.features, "features")?;
            count = count.max(index + 1);
        }
        Ok(count)
    }
}

/// Names and types of a row's columns.
pub(super) struct FeatureColumns {
    /// Empty if all features are named by their numbers.
    pub(super) names: Vec<String>,
    pub(super) types: Vec<FeatureType>,
    pub(super) categories: Vec<Option<Categories>>,
}
