//! The API for most programs: load a model, predict and explain rows.
//!
//! A [`Model`] is parsed, checked, compiled, verified and immutable, so threads share it; a
//! [`Predictor`] has one thread's buffers.

mod predictor;
mod rows;

use std::fmt;

pub use predictor::{Buffers, Output, Predictor};
pub use rows::{Number, Rows};

use crate::compiled::aligned::AlignedBytes;
use crate::compiled::{CompiledModel, Narrowing};
use crate::ensemble::{Ensemble, Precision};
use crate::explain::{ImportanceKind, has_importance, importance};
use crate::lower::compile;
use crate::{Cancel, Limits, Result, format};

type Compiled = CompiledModel<AlignedBytes>;

/// A model loaded from any library's file.
///
/// [`Send`] and [`Sync`]: threads share one, each with a [`Predictor`].
pub struct Model {
    compiled: Compiled,
    format: &'static str,
    library_version: [u32; 3],
    objective: String,
    importances: Vec<(ImportanceKind, Vec<f32>)>,
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<Model>();
    sent::<Predictor<'static>>();
};

impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Model")
            .field("format", &self.format)
            .field("objective", &self.objective)
            .field("features", &self.num_features())
            .field("trees", &self.num_trees())
            .finish_non_exhaustive()
    }
}

/// A value of a categorical feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Category<'a> {
    /// Text.
    Text(&'a str),
    /// An integer.
    Integer(i64),
    /// A floating-point number other than NaN.
    Float(f64),
}

impl<'a> From<&'a str> for Category<'a> {
    fn from(text: &'a str) -> Self {
        Category::Text(text)
    }
}

/// Options for loading a model.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LoadOptions<'a> {
    /// Maximum sizes of the model.
    pub limits: Limits,
    /// Cancellation hook.
    pub cancel: Cancel<'a>,
    /// Number of first rounds to use, like `iteration_range=(0, rounds)` of XGBoost; `None` for all.
    pub rounds: Option<usize>,
    /// Feature names that replace the file's.
    pub feature_names: Option<Vec<String>>,
    /// Class names for files without.
    pub labels: Vec<String>,
}

impl<'a> LoadOptions<'a> {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the cancellation hook.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel<'a>) -> Self {
        self.cancel = cancel;
        self
    }

    /// Uses only the first rounds.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = Some(rounds);
        self
    }

    /// Sets the feature names, in order.
    #[must_use]
    pub fn feature_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.feature_names = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the class names, in order.
    #[must_use]
    pub fn labels<S: Into<String>>(mut self, labels: impl IntoIterator<Item = S>) -> Self {
        self.labels = labels.into_iter().map(Into::into).collect();
        self
    }
}

impl Model {
    /// Loads a model, detecting the format by content.
    ///
    /// # Errors
    /// The error's kind and place describe the first fault. No input causes a panic.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        Self::load_with(bytes, &LoadOptions::new())
    }

    /// Loads a model with options.
    ///
    /// # Errors
    /// As for [`Model::load`]; [`ErrorKind::Names`](crate::ErrorKind::Names) if names, labels or rounds
    /// do not fit the model; [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    pub fn load_with(bytes: &[u8], options: &LoadOptions<'_>) -> Result<Self> {
        let LoadOptions { limits, cancel, rounds, feature_names, labels } = options;
        let mut ensemble = format::parse(bytes, limits, *cancel)?;
        if let Some(rounds) = rounds {
            ensemble.keep_rounds(*rounds)?;
        }
        if let Some(names) = feature_names {
            ensemble.set_feature_names(names.clone())?;
        }
        Self::of(&ensemble, labels, *cancel)
    }

    fn of(ensemble: &Ensemble, labels: &[String], cancel: Cancel<'_>) -> Result<Self> {
        let compiled = Compiled::open_checking(compile(ensemble, labels, cancel)?, cancel)?;
        let kinds = ImportanceKind::NAMES.into_iter().map(|(kind, _)| kind);
        let known = kinds.filter(|kind| has_importance(ensemble, *kind));
        Ok(Model {
            compiled,
            format: ensemble.format(),
            library_version: ensemble.version(),
            objective: ensemble.objective().name().to_owned(),
            importances: known.map(|kind| (kind, importance(ensemble, kind))).collect(),
        })
    }

    /// Predicts contiguous rows: `values.len() == rows * columns`, with [`Model::num_features`]
    /// columns. Returns the result of the library's `predict`, [`Model::width`] numbers per row; f32
    /// results, such as XGBoost's, are exact in f64.
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`](crate::ErrorKind::RowLength) for other lengths.
    pub fn predict<T: Number>(&self, values: &[T], shape: [usize; 2]) -> Result<Vec<f64>> {
        self.predictor().predict(&Rows::dense(values, shape)?, Output::Value)
    }

    /// Computes the SHAP values of contiguous rows: see [`Predictor::contributions`].
    ///
    /// # Errors
    /// As for [`Predictor::contributions`].
    pub fn contributions<T: Number>(&self, values: &[T], shape: [usize; 2]) -> Result<Vec<f32>> {
        self.predictor().contributions(&Rows::dense(values, shape)?)
    }

    /// Creates a reusable predictor for one thread.
    pub fn predictor(&self) -> Predictor<'_> {
        self.predictor_with(Buffers::default())
    }

    /// Creates a predictor with buffers, which [`Predictor::into_buffers`] returns.
    pub fn predictor_with(&self, buffers: Buffers) -> Predictor<'_> {
        Predictor::new(self, buffers)
    }

    /// Returns the number of features of a row.
    pub fn num_features(&self) -> usize {
        self.compiled.num_features()
    }

    /// Returns the number of margins of a row: classes, targets or quantiles; 1 for two classes.
    pub fn num_outputs(&self) -> usize {
        self.compiled.num_outputs()
    }

    /// Returns the number of trees.
    pub fn num_trees(&self) -> usize {
        self.compiled.num_trees()
    }

    /// Returns the numbers per row in an output.
    pub fn width(&self, output: Output) -> usize {
        match output {
            Output::Value => self.compiled.num_values(),
            Output::Margin => self.compiled.num_outputs(),
            Output::Class => 1,
        }
    }

    /// Returns the feature names in the order of a row's numbers; empty if the file has none.
    pub fn feature_names(&self) -> impl Iterator<Item = &str> {
        (0..self.num_features()).map_while(|feature| self.compiled.feature_name(feature))
    }

    /// Returns the index of a feature by name.
    pub fn feature_index(&self, name: &str) -> Option<usize> {
        self.feature_names().position(|own| own == name)
    }

    /// Returns the class names in order of their indices; empty if there are none.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        (0..self.compiled.num_labels()).map_while(|class| self.compiled.label(class))
    }

    /// Returns whether a feature holds category codes.
    pub fn is_categorical(&self, feature: usize) -> bool {
        self.compiled.is_categorical(feature)
    }

    /// Returns whether the file has the categories of a feature, so that [`Model::category`] knows their
    /// numbers.
    pub fn has_categories(&self, feature: usize) -> bool {
        self.compiled.categories(feature).is_some()
    }

    /// Returns whether a matrix has the feature's categories themselves for its library, and not their codes,
    /// which XGBoost and LightGBM take. [`Rows`] have the numbers of [`Model::category`] for all.
    pub fn takes_value(&self, feature: usize) -> bool {
        self.compiled.categories(feature).is_some_and(|categories| categories.takes_value())
    }

    /// Returns the number of a category in a row: its code, or for a category that CatBoost takes
    /// statistics of, its hash, encoded as the bits of an f32. `None` if the file has no categories for
    /// the feature, or not this one.
    pub fn category<'c, T: Number>(
        &self,
        feature: usize,
        category: impl Into<Category<'c>>,
    ) -> Option<T> {
        let categories = self.compiled.categories(feature)?;
        let code = match category.into() {
            Category::Text(text) => categories.code_of_text(text),
            Category::Integer(number) => categories.code_of_integer(number),
            Category::Float(number) => categories.code_of_float(number),
        };
        Some(categories.row_value(code?))
    }

    /// Returns whether splits compare f64; others round a number to f32 first.
    pub fn compares_doubles(&self) -> bool {
        self.compiled.narrowing() != Narrowing::Rounded
    }

    /// Returns whether results are f64 in the model's library; others are exact in f32.
    pub fn has_double_results(&self) -> bool {
        self.compiled.sum_precision() == Precision::Double
    }

    /// Returns whether the model has classes, which [`Output::Class`] needs.
    pub fn has_classes(&self) -> bool {
        self.compiled.has_classes()
    }

    /// Returns whether [`Output::Value`] has class probabilities: of the second of two, or of each.
    pub fn predicts_probabilities(&self) -> bool {
        self.compiled.predicts_probabilities()
    }

    /// Returns each feature's importance, as XGBoost's `get_score` does; `None` if the file lacks the
    /// numbers.
    pub fn importance(&self, kind: ImportanceKind) -> Option<&[f32]> {
        let (_, found) = self.importances.iter().find(|(known, _)| *known == kind)?;
        Some(found)
    }

    /// Returns the file's format, such as `xgboost ubjson`.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// Returns the major, minor and patch release of the library that wrote the file; zeros if unknown.
    pub fn library_version(&self) -> [u32; 3] {
        self.library_version
    }

    /// Returns the library's name of the objective.
    pub fn objective(&self) -> &str {
        &self.objective
    }
}
