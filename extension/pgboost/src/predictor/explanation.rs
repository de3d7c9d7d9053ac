//! What the features contributed to the margins of rows.
//!
//! A row's explanation is an array in the order of XGBoost's `predict`: with several outputs its first
//! dimension is the output, then come the features with the bias last, and for interactions the
//! features again.

use std::cell::RefCell;

use gbtrees::internals::ContributionScratch;
use pg_interface::array::NewArray;
use pg_interface::report::check_for_interrupts;

use super::statement_state::Predictor;
use crate::cache::ModelImage;
use crate::error::{Error, Result};
use crate::guc::{self, KernelChoice};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explanation {
    /// `pred_contribs=True`.
    Contributions,
    /// `pred_interactions=True`.
    Interactions,
}

/// Buffers that have become larger than this are not kept.
const MAX_KEPT: usize = 16 << 20;

thread_local! {
    /// The engine's buffers, and what they were made for. Whoever explains takes them out meanwhile, so an
    /// error, which unwinds, leaves none behind that are half filled.
    static KEPT: RefCell<Option<(KernelChoice, ContributionScratch)>> = const { RefCell::new(None) };
}

impl Explanation {
    /// Numbers per row and output.
    fn width(self, image: &ModelImage) -> usize {
        let features = image.num_features() + 1;
        match self {
            Explanation::Contributions => features,
            Explanation::Interactions => features.saturating_mul(features),
        }
    }

    /// Numbers per row.
    pub(crate) fn numbers(self, image: &ModelImage) -> usize {
        self.width(image).saturating_mul(image.num_outputs())
    }

    /// An array for one row; its elements are the row's numbers.
    pub(crate) fn array(self, predictor: &Predictor) -> Result<NewArray<f32>> {
        let image = predictor.image();
        let (features, outputs) = (image.num_features(), image.num_outputs());
        let width = features + 1;
        let dimensions = [outputs, width, width];
        let dimensions = match (self, outputs) {
            (Explanation::Contributions, 1) => dimensions.get(1..2),
            (Explanation::Contributions, _) => dimensions.get(..2),
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
    pub(crate) fn explain(
        self,
        predictor: &Predictor,
        rows: &[f32],
        out: &mut [f32],
    ) -> Result<()> {
        let image = predictor.image();
        let choice = guc::kernel_choice();
        let kept = KEPT.take().filter(|(made_for, _)| *made_for == choice);
        let mut scratch = kept.map_or_else(
            || ContributionScratch::with_kernel(guc::kernel()),
            |(_, scratch)| scratch,
        );
        let cancel = gbtrees::Cancel::unwinding(&check_for_interrupts);
        match self {
            Explanation::Contributions => image.contributions(&mut scratch, rows, out, cancel)?,
            Explanation::Interactions => image.interactions(&mut scratch, rows, out, cancel)?,
        }
        if scratch.bytes() <= MAX_KEPT {
            KEPT.set(Some((choice, scratch)));
        }
        Ok(())
    }

    /// The explanation of a row.
    ///
    /// # Errors
    /// As for [`Explanation::explain`]; and if the explanation does not fit into an array.
    pub(crate) fn of_row(self, predictor: &Predictor, row: &[f32]) -> Result<NewArray<f32>> {
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
    pub(crate) fn explanation(&self, of: Explanation) -> Result<NewArray<f32>> {
        of.of_row(self, self.features())
    }
}
