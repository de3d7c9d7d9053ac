//! What the features contributed to the margins of rows.
//!
//! A row's explanation is an array in the order of XGBoost's `predict`: with several outputs its first
//! dimension is the output, then come the features with the bias last, and for interactions the
//! features again.

use gbdt::ContributionKind;
use pg_interface::report::check_for_interrupts;

use super::single::Predictor;
use crate::cache::{ModelImage, explaining};
use crate::error::{Error, Result};
use crate::pg::number_arrays::NewArray;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explanation {
    /// `pred_contribs=True`, exact or by `approx_contribs=True`.
    Contributions(ContributionKind),
    /// `pred_interactions=True`.
    Interactions,
}

pub const CONTRIBUTIONS: Explanation = Explanation::Contributions(ContributionKind::Exact);
pub const APPROXIMATE: Explanation = Explanation::Contributions(ContributionKind::Approximate);

impl Explanation {
    /// Numbers per row and output.
    fn width(self, image: &ModelImage) -> usize {
        let features = image.num_features() + 1;
        match self {
            Explanation::Contributions(_) => features,
            Explanation::Interactions => features.saturating_mul(features),
        }
    }

    /// Numbers per row.
    pub fn numbers(self, image: &ModelImage) -> usize {
        self.width(image).saturating_mul(image.num_outputs())
    }

    /// An array for one row; its elements are the row's numbers.
    pub fn array(self, predictor: &Predictor) -> Result<NewArray<f32>> {
        let image = predictor.image();
        let (features, outputs) = (image.num_features(), image.num_outputs());
        let width = features + 1;
        let dimensions = [outputs, width, width];
        let dimensions = match (self, outputs) {
            (Explanation::Contributions(_), 1) => dimensions.get(1..2),
            (Explanation::Contributions(_), _) => dimensions.get(..2),
            (Explanation::Interactions, 1) => dimensions.get(1..),
            (Explanation::Interactions, _) => dimensions.get(..),
        };
        NewArray::reals(dimensions.unwrap_or_default()).ok_or_else(|| Error::ExplanationSize {
            model: predictor.model().to_owned(),
            features,
            outputs,
        })
    }

    /// Explains rows whose features are those that the predictor's model reads.
    /// `out.len() == rows * numbers`.
    ///
    /// # Errors
    /// The engine's, if the model cannot be explained.
    pub fn explain(self, predictor: &Predictor, rows: &[f32], out: &mut [f32]) -> Result<()> {
        let image = predictor.image();
        let check = &mut check_for_interrupts;
        let kind = match self {
            Explanation::Contributions(kind) => Some(kind),
            Explanation::Interactions => None,
        };
        explaining::with_scratch(predictor.cached(), kind, |scratch, is_new| {
            // Results must not depend on how many rows were explained before.
            match kind {
                Some(kind) => {
                    if is_new {
                        image.make_tables(scratch, kind, check);
                    }
                    image.contributions(scratch, kind, rows, out, check)
                }
                None => {
                    if is_new {
                        image.make_interaction_tables(scratch, check);
                    }
                    image.interactions(scratch, rows, out, check)
                }
            }
        })
    }

    /// The explanation of a row.
    ///
    /// # Errors
    /// As for [`Explanation::explain`]; and if the explanation does not fit into an array.
    pub fn of_row(self, predictor: &Predictor, row: &[f32]) -> Result<NewArray<f32>> {
        let mut array = self.array(predictor)?;
        self.explain(predictor, row, array.elements())?;
        Ok(array)
    }
}

impl Predictor {
    /// The explanation of the row that was read.
    ///
    /// # Errors
    /// As for [`Explanation::of_row`].
    pub fn explanation(&self, of: Explanation) -> Result<NewArray<f32>> {
        of.of_row(self, self.features())
    }
}
