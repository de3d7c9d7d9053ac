//! A model that is ready to predict: what most programs need of this crate.
//!
//! [`Model`] has been read, checked, compiled and verified; it is never changed, so threads share it. A
//! [`Predictor`] has the buffers of one thread.

mod predictor;
mod rows;

use std::fmt;

pub use predictor::{Output, Predictor};
pub use rows::{Number, Rows};

use crate::compiled::CompiledModel;
use crate::compiled::aligned::AlignedBytes;
use crate::ensemble::Ensemble;
use crate::explain::{ImportanceKind, has_importance, importance};
use crate::lower::compile;
use crate::{Cancel, Limits, Result, format};

type Compiled = CompiledModel<AlignedBytes>;

/// A model, loaded from the file of any library.
///
/// It is [`Send`] and [`Sync`]: threads share one, each with its own [`Predictor`].
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

/// How a model is loaded.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LoadOptions<'a> {
    /// How large a model may be.
    pub limits: Limits,
    /// When to stop.
    pub cancel: Cancel<'a>,
    /// The first rounds that are used, `iteration_range=(0, rounds)` of XGBoost; nothing for all.
    pub rounds: Option<usize>,
    /// Names of the features, in place of the file's.
    pub feature_names: Option<Vec<String>>,
    /// Names of the classes, where the file has none.
    pub labels: Vec<String>,
}

impl<'a> LoadOptions<'a> {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// With other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// With a cancel.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel<'a>) -> Self {
        self.cancel = cancel;
        self
    }

    /// With the first rounds alone.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = Some(rounds);
        self
    }

    /// With names of the features, in their order.
    #[must_use]
    pub fn feature_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.feature_names = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// With names of the classes, in their order.
    #[must_use]
    pub fn labels<S: Into<String>>(mut self, labels: impl IntoIterator<Item = S>) -> Self {
        self.labels = labels.into_iter().map(Into::into).collect();
        self
    }
}

impl Model {
    /// Loads a model from the bytes of its file; the format is told by them.
    ///
    /// # Errors
    /// The kind says what is wrong with the file, the place where. No input makes this panic.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        Self::load_with(bytes, &LoadOptions::new())
    }

    /// As [`Model::load`], with options.
    ///
    /// # Errors
    /// As for [`Model::load`]; [`ErrorKind::Names`](crate::ErrorKind::Names) if names, labels or rounds do
    /// not fit the model; [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
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

    /// Predicts rows that lie one after another: `values.len() == rows * columns`, of which the model has
    /// [`Model::num_features`]. Returns what the library's `predict` does, [`Model::width`] numbers
    /// per row; those of f32, XGBoost's, are the same numbers as f64.
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`](crate::ErrorKind::RowLength) if a length is not these.
    pub fn predict<T: Number>(&self, values: &[T], shape: [usize; 2]) -> Result<Vec<f64>> {
        self.predictor().predict(&Rows::dense(values, shape)?, Output::Value)
    }

    /// The SHAP values of rows that lie one after another: see [`Predictor::contributions`].
    ///
    /// # Errors
    /// As for [`Predictor::contributions`].
    pub fn contributions<T: Number>(&self, values: &[T], shape: [usize; 2]) -> Result<Vec<f32>> {
        self.predictor().contributions(&Rows::dense(values, shape)?)
    }

    /// What predicts rows of this model again and again, for one thread.
    pub fn predictor(&self) -> Predictor<'_> {
        Predictor::new(self)
    }

    /// Number of features of a row.
    pub fn num_features(&self) -> usize {
        self.compiled.num_features()
    }

    /// Number of margins of a row: classes, targets or quantiles; 1 for two classes.
    pub fn num_outputs(&self) -> usize {
        self.compiled.num_outputs()
    }

    /// Number of trees.
    pub fn num_trees(&self) -> usize {
        self.compiled.num_trees()
    }

    /// Numbers of a row in an output.
    pub fn width(&self, output: Output) -> usize {
        match output {
            Output::Value => self.compiled.num_values(),
            Output::Margin => self.compiled.num_outputs(),
            Output::Class => 1,
        }
    }

    /// The names of the features, in the order of a row's numbers; none if the file has none.
    pub fn feature_names(&self) -> impl Iterator<Item = &str> {
        (0..self.num_features()).map_while(|feature| self.compiled.feature_name(feature))
    }

    /// The place of a feature in a row, by its name.
    pub fn feature_index(&self, name: &str) -> Option<usize> {
        self.feature_names().position(|own| own == name)
    }

    /// The names of the classes, in the order of their indices; none if nobody named them.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        (0..self.compiled.num_labels()).map_while(|class| self.compiled.label(class))
    }

    /// Whether a feature's numbers are codes of categories.
    pub fn is_categorical(&self, feature: usize) -> bool {
        self.compiled.is_categorical(feature)
    }

    /// What a row has for a text among the categories of a feature: its code, or for a category that CatBoost
    /// takes statistics of its hash, whose bits are those of an f32. Nothing if the file does not say it, or
    /// knows no such category.
    pub fn category<T: Number>(&self, feature: usize, category: &str) -> Option<T> {
        let categories = self.compiled.categories(feature)?;
        Some(categories.row_value(categories.code_of_text(category)?))
    }

    /// Importance of each feature, as XGBoost's `get_score` measures it; nothing if the file does not say it.
    pub fn importance(&self, kind: ImportanceKind) -> Option<&[f32]> {
        let (_, found) = self.importances.iter().find(|(known, _)| *known == kind)?;
        Some(found)
    }

    /// The file's format: `xgboost ubjson` for one.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// Release of the library that wrote the file, major, minor and patch; zeros if unknown.
    pub fn library_version(&self) -> [u32; 3] {
        self.library_version
    }

    /// The objective, by the library's name for it.
    pub fn objective(&self) -> &str {
        &self.objective
    }
}
