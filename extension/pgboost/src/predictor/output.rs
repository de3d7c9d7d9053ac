//! The results of functions: from a row's margins, in the precision in which the model's library adds and
//! transforms them, and from the contributions of features to them.
//!
//! A row's explanation is an array in the order of XGBoost's `predict`: the first dimension is the output, if
//! there are several, followed by the features with the bias last, and for interactions by the features
//! again.

use std::cell::RefCell;

use gbtrees::internals::{ContributionScratch, Margin, Task};
use pg_interface::array::NewArray;
use pg_interface::report::check_for_interrupts;
use pg_interface::{Datum, array, jsonb, varlena};
use serde_json::Value;

use super::single_row::Predictor;
use super::statement_state::Margins;
use crate::cache::ModelImage;
use crate::error::{Error, Result, ShapeReason};
use crate::guc::{self, KernelChoice};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// The value, for a model with one per row; its error names the function.
    Value {
        function: &'static str,
    },
    Array,
    /// The margins.
    Margin,
    /// A jsonb object with the probability of each class by its label, or by its number.
    Probabilities,
    /// The most probable class by its label, or by its number without labels.
    Class,
}

impl Output {
    /// Returns the result of a row; transforms the margins in place.
    #[inline]
    pub(crate) fn of_row(self, predictor: &Predictor, margins: &mut Margins) -> Result<Datum> {
        match margins {
            Margins::Single(margins) => self.of(predictor, margins),
            Margins::Double(margins) => self.of(predictor, margins),
        }
    }

    /// Returns the result of a row with these margins, which are transformed in place.
    #[inline]
    pub(crate) fn of<M: Margin + PartialOrd>(
        self,
        predictor: &Predictor,
        margins: &mut [M],
    ) -> Result<Datum> {
        let image = predictor.image();
        match self {
            Output::Value { function } => match transformed(image, margins) {
                [value] => Ok(real(value.single())),
                several => {
                    let values = several.len();
                    let classes = image.has_classes();
                    let reason = ShapeReason::SeveralValues { values, classes };
                    Err(predictor.shape(function, reason))
                }
            },
            Output::Array => Ok(reals(transformed(image, margins))),
            Output::Margin => Ok(reals(margins)),
            Output::Probabilities => {
                probabilities(image, transformed(image, margins)).ok_or_else(|| {
                    let (several, classes) = (image.num_values() > 1, image.has_classes());
                    let reason = ShapeReason::NoProbabilities { several, classes };
                    predictor.shape("predict_proba", reason)
                })
            }
            Output::Class => {
                let Some(class) = image.class(margins) else {
                    let reason = ShapeReason::NoClasses { several: image.num_values() > 1 };
                    return Err(predictor.shape("predict_class", reason));
                };
                Ok(match image.label(class as usize) {
                    Some(label) => varlena::text_datum(label),
                    None => varlena::text_datum(&class.to_string()),
                })
            }
        }
    }
}

/// Returns the probabilities of a row's classes as a jsonb object, or `None` if the values are not probabilities.
fn probabilities<M: Margin>(image: &ModelImage, values: &[M]) -> Option<Datum> {
    let probable = |value: &M| (0.0..=1.0).contains(&value.double());
    if !image.predicts_probabilities() || !values.iter().all(probable) {
        return None;
    }
    let singles: Vec<f32> = match values {
        // The other class's probability, computed as by scikit-learn's wrappers, in the margins' precision.
        [value] if image.task() == Task::Binary => vec![value.opposite().single(), value.single()],
        values => values.iter().map(|value| value.single()).collect(),
    };
    let mut object = String::from("{");
    for (class, probability) in singles.into_iter().enumerate() {
        let label = image.label(class).map_or_else(|| class.to_string(), str::to_owned);
        let separator = if class == 0 { "" } else { ", " };
        object.push_str(&format!("{separator}{}: {probability}", Value::from(label)));
    }
    object.push('}');
    Some(jsonb::of_text(&object))
}

/// Transforms a row's margins to values in place.
#[inline]
pub(crate) fn transformed<'a, M: Margin>(image: &ModelImage, margins: &'a mut [M]) -> &'a mut [M] {
    let count = image.values(margins);
    margins.get_mut(..count).unwrap_or_default()
}

/// Makes an array of the numbers, rounded to real.
#[inline]
fn reals<M: Margin>(numbers: &mut [M]) -> Datum {
    match M::singles(numbers) {
        Some(reals) => array::real_array(reals),
        None => {
            let reals: Vec<f32> = numbers.iter().map(|number| number.single()).collect();
            array::real_array(&reals)
        }
    }
}

#[inline]
pub(super) fn real(value: f32) -> Datum {
    Datum::from(value.to_bits())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explanation {
    /// `pred_contribs=True`.
    Contributions,
    /// `pred_interactions=True`.
    Interactions,
}

/// The largest buffers that are kept.
const MAX_KEPT: usize = 16 << 20;

thread_local! {
    /// The engine's buffers, and the kernel for which they were made. An explanation takes them out meanwhile, so
    /// that an error, which unwinds, does not leave half-filled ones behind.
    static KEPT: RefCell<Option<(KernelChoice, ContributionScratch)>> = const { RefCell::new(None) };
}

impl Explanation {
    /// Returns the number of contributions per row and output.
    fn width(self, image: &ModelImage) -> usize {
        let features = image.num_features() + 1;
        match self {
            Explanation::Contributions => features,
            Explanation::Interactions => features.saturating_mul(features),
        }
    }

    /// Returns the number of contributions per row.
    pub(crate) fn numbers(self, image: &ModelImage) -> usize {
        self.width(image).saturating_mul(image.num_outputs())
    }

    /// Makes an array for one row's contributions.
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

    /// Explains rows of the predictor's features.
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

    /// Returns the explanation of a row.
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
    /// Returns the explanation of the row that was read.
    pub(crate) fn explanation(&self, of: Explanation) -> Result<NewArray<f32>> {
        of.of_row(self, self.features())
    }
}
