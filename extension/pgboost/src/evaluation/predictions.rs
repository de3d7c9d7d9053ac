//! Predictions for the rows of a source, which are read one by one and evaluated in batches.
//!
//! Features, margins, values and errors are those of `predict`. The model's name is resolved once, under the
//! statement's snapshot, for all rows.

use gbtrees::internals::{Margin, Task};
use pg_interface::Oid;
use row_source::{PlacedColumn, Row};

use crate::cache::{self, ModelImage, Resolved};
use crate::error::Result;
use crate::features::by_name::{self, MatchedColumns};
use crate::features::{FeatureContext, read_doubles};
use crate::predictor::batch::{self, PooledScratch};
use crate::predictor::statement_state::Margins;
use crate::registry::model::ModelId;

pub(crate) struct SourcePredictor {
    model: String,
    resolved: Resolved,
    columns: Option<MatchedColumns>,
    scratch: PooledScratch,
    /// The features of the rows that were read.
    features: Vec<f32>,
    /// The numbers of a row, for a model with linear leaves.
    doubles: Vec<f64>,
    margins: Margins,
    /// The values of the rows evaluated last.
    values: Vec<f32>,
    classes: Vec<u32>,
}

/// A model's prediction for a row.
#[derive(Clone, Copy)]
pub(crate) struct Prediction<'a> {
    /// The result of `predict_array` or `predict`.
    pub(crate) values: &'a [f32],
    /// The class, if the model is a classifier.
    pub(crate) class: u32,
}

impl Prediction<'_> {
    /// Returns the first or only value.
    #[inline]
    pub(crate) fn value(&self) -> f32 {
        self.values.first().copied().unwrap_or(f32::NAN)
    }
}

/// A model's predictions for consecutive rows.
#[derive(Clone, Copy)]
pub(crate) struct Predictions<'a> {
    width: usize,
    values: &'a [f32],
    classes: &'a [u32],
}

impl<'a> Predictions<'a> {
    /// Returns the prediction of each row.
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = Prediction<'a>> {
        let class = move |row: usize| self.classes.get(row).copied().unwrap_or(0);
        let rows = self.values.chunks_exact(self.width).enumerate();
        rows.map(move |(row, values)| Prediction { values, class: class(row) })
    }

    /// Splits the predictions into those of the first rows and the rest.
    pub(crate) fn split_at(self, rows: usize) -> (Self, Self) {
        let values = self.values.split_at(self.values.len().min(rows * self.width));
        let classes = self.classes.split_at(self.classes.len().min(rows));
        let part = |values, classes| Predictions { values, classes, ..self };
        (part(values.0, classes.0), part(values.1, classes.1))
    }
}

impl SourcePredictor {
    /// Resolves a model's name for this statement; `function` is one of the extension's.
    pub(crate) fn new(model: &str, function: Oid) -> Result<SourcePredictor> {
        let resolved = cache::resolve_anew(model, function)?;
        let image = resolved.image.model();
        Ok(SourcePredictor {
            model: model.to_owned(),
            columns: None,
            scratch: PooledScratch::default(),
            features: Vec::new(),
            doubles: Vec::new(),
            margins: Margins::of(image, 0),
            values: Vec::new(),
            classes: Vec::new(),
            resolved,
        })
    }

    /// Returns the model's name as in the statement.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// Returns the model's id.
    pub(crate) fn resolved_model(&self) -> ModelId {
        self.resolved.identity.model
    }

    /// Returns the model's version.
    pub(crate) fn version(&self) -> i32 {
        self.resolved.identity.version
    }

    pub(crate) fn image(&self) -> &ModelImage {
        self.resolved.image.model()
    }

    fn context(&self) -> FeatureContext<'_> {
        let unknown_category = self.resolved.identity.unknown_category;
        FeatureContext { model: &self.model, image: self.image(), unknown_category }
    }

    pub(crate) fn column_names(&self) -> Vec<String> {
        by_name::column_names(self.image())
    }

    /// Binds the columns, one for each of [`SourcePredictor::column_names`].
    pub(crate) fn bind(&mut self, columns: &[PlacedColumn]) -> Result<()> {
        self.columns = Some(MatchedColumns::of_source(columns, self.context())?);
        Ok(())
    }

    /// Reads the features of a row.
    #[inline]
    pub(crate) fn read(&mut self, row: Row<'_>) -> Result<()> {
        let SourcePredictor { model, resolved, columns, features, doubles, .. } = self;
        let Some(columns) = columns else { return Ok(()) };
        let image = resolved.image.model();
        let unknown_category = resolved.identity.unknown_category;
        let context = FeatureContext { model, image, unknown_category };
        let first = features.len();
        features.resize(first + image.row_length(), 0.0);
        let features = features.get_mut(first..).unwrap_or_default();
        if image.has_linear_leaves() {
            let read = |doubles: &mut [f64]| columns.read_source(row, context, doubles);
            return read_doubles(image, doubles, features, read);
        }
        columns.read_source(row, context, features)
    }

    /// Returns the features of the rows that were read.
    pub(crate) fn features(&self) -> &[f32] {
        &self.features
    }

    /// Forgets the rows that were read.
    pub(crate) fn clear(&mut self) {
        self.features.clear();
    }

    /// Evaluates the `rows` that were read.
    pub(crate) fn evaluate(&mut self, rows: usize) -> Result<()> {
        let features = std::mem::take(&mut self.features);
        let evaluated = self.evaluate_rows(&features, rows);
        self.features = features;
        evaluated
    }

    /// Evaluates rows with these features.
    pub(crate) fn evaluate_rows(&mut self, features: &[f32], rows: usize) -> Result<()> {
        self.margins.fit(self.resolved.image.model(), rows);
        self.values.clear();
        self.classes.clear();
        let SourcePredictor { resolved, scratch, margins, values, classes, .. } = self;
        let image = resolved.image.model();
        match margins {
            Margins::Single(margins) => {
                batch::evaluate_margins(image, scratch, features, margins)?;
                finish(image, margins, values, classes);
            }
            Margins::Double(margins) => {
                batch::evaluate_margins(image, scratch, features, margins)?;
                finish(image, margins, values, classes);
            }
        }
        Ok(())
    }

    /// Returns the predictions for the rows of the last evaluation.
    pub(crate) fn predictions(&self) -> Predictions<'_> {
        let width = self.image().num_values().max(1);
        Predictions { width, values: &self.values, classes: &self.classes }
    }
}

/// Computes the values and classes of rows from their margins.
fn finish<M: Margin + PartialOrd>(
    image: &ModelImage,
    margins: &mut [M],
    values: &mut Vec<f32>,
    classes: &mut Vec<u32>,
) {
    let classifies = matches!(image.task(), Task::Binary | Task::Multiclass);
    let mut row = Vec::with_capacity(image.num_outputs());
    for margins in margins.chunks_mut(image.num_outputs().max(1)) {
        if let [margin] = margins {
            let class = image.class_and_value(margin);
            classes.extend(class);
            values.push(margin.single());
            continue;
        }
        if classifies {
            row.clear();
            row.extend_from_slice(margins);
            classes.push(image.class(&mut row).unwrap_or(0));
        }
        let count = image.values(margins);
        values.extend(margins.iter().take(count).map(|margin| margin.single()));
    }
}
