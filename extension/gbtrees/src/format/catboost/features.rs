//! The features of a file: which column each one is, and what splits may test.
//!
//! A row's columns are numbered through all kinds of features (CatBoost: the flat index); each kind has
//! separate numbers as well (the index), which splits use. A split is a *bin*: all borders of all
//! numeric features, all categories of all one-hot features, then all borders of all target statistics,
//! are numbered in one sequence
//! (`CalcBinFeatures` in catboost/libs/model/model.cpp).

use crate::ensemble::{Categories, FeatureType, check_limit};
use crate::format::sniff::{shown, unsupported};
use crate::{Error, ErrorKind, Limits, Result};

#[derive(Default)]
pub(super) struct Features {
    pub(super) floats: Vec<FloatFeature>,
    pub(super) categorical: Vec<Column>,
    pub(super) one_hots: Vec<OneHot>,
    /// What the model needs and is not scored.
    pub(super) unscored: Vec<Unscored>,
}

/// A feature of any kind.
#[derive(Clone, Default)]
pub(super) struct Column {
    /// Its number among the features of its kind.
    pub(super) index: i64,
    /// Its number among all features.
    pub(super) flat_index: i64,
    /// Empty if it has none.
    pub(super) name: String,
}

#[derive(Clone, Default)]
pub(super) struct FloatFeature {
    pub(super) column: Column,
    pub(super) borders: Vec<f32>,
    /// Whether there were missing values in training; only then does CatBoost look for them.
    pub(super) has_nans: bool,
    pub(super) nan_treatment: NanTreatment,
}

/// What a missing value is, if there were any in training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NanTreatment {
    /// NaN, which is above no border: CatBoost's AsIs.
    #[default]
    Nan,
    /// Below every border: AsFalse.
    Below,
    /// Above every border: AsTrue.
    Above,
}

/// The categories of a categorical feature that are tested one by one.
#[derive(Clone, Default)]
pub(super) struct OneHot {
    /// The index of the categorical feature.
    pub(super) index: i64,
    /// Hashes, as the file has them: signed.
    pub(super) values: Vec<i32>,
}

/// What a model has that is refused by its name.
pub(super) enum Unscored {
    Text(Column),
    Embedding(Column),
    /// Values computed from text or embeddings.
    Estimated,
}

const NUMBERS: &str =
    "Train the model without this feature, or with numbers computed from it beforehand.";

impl Features {
    /// Refuses what is not scored; the names are known only once all features have been read.
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

    /// What each of so many columns is; `hashes_of` returns the hashes of a categorical one, ascending.
    pub(super) fn columns(
        &self,
        count: usize,
        hashes_of: impl Fn(usize) -> Vec<u32>,
    ) -> Result<Columns> {
        let floats = self.floats.iter().map(|feature| (&feature.column, FeatureType::Numerical));
        let categorical = self.categorical.iter().map(|column| (column, FeatureType::Categorical));
        let mut types = vec![None; count];
        let mut names: Vec<String> = (0..count).map(|index| index.to_string()).collect();
        let mut named = false;
        for (column, kind) in floats.chain(categorical) {
            let index = column.flat_index as usize;
            if types.get_mut(index).and_then(|place| place.replace(kind)).is_some() {
                let message = format!("two features are column {index}");
                return Err(Error::new(ErrorKind::Parameter, message));
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
        Ok(Columns { names: if named { names } else { Vec::new() }, categories, types })
    }

    /// Number of columns: one more than the last has.
    pub(super) fn count(&self, limits: &Limits) -> Result<usize> {
        let floats = self.floats.iter().map(|feature| &feature.column);
        let mut count = 0;
        for column in floats.chain(&self.categorical) {
            let index = usize::try_from(column.flat_index).map_err(|_| {
                let message = format!("a feature is column {}", column.flat_index);
                Error::new(ErrorKind::FeatureRange, message)
            })?;
            check_limit(index, limits.features - 1, "features")?;
            count = count.max(index + 1);
        }
        Ok(count)
    }
}

/// One entry per column of a row.
pub(super) struct Columns {
    /// Empty if no feature has a name other than its number.
    pub(super) names: Vec<String>,
    pub(super) types: Vec<FeatureType>,
    pub(super) categories: Vec<Option<Categories>>,
}
