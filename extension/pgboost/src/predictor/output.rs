//! From a row's margins, in the precision in which the model's library adds and transforms them, to the result of a
//! function.

use gbtrees::internals::{Margin, Task};
use pg_interface::{Datum, array, jsonb, varlena};
use serde_json::Value;

use super::statement_state::{Margins, Predictor};
use crate::cache::ModelImage;
use crate::error::{Result, ShapeReason};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// The value, of a model that has one per row; its error names the function.
    Value {
        function: &'static str,
    },
    Array,
    /// The margins as they are.
    Margin,
    /// A jsonb object with the probability of each class by its label, or by its number.
    Probabilities,
    /// The winning class by its label, or by its number where there are no labels.
    Class,
}

impl Output {
    /// The result of the row whose margins these are, which are transformed in place.
    #[inline]
    pub(crate) fn of_row(self, predictor: &Predictor, margins: &mut Margins) -> Result<Datum> {
        match margins {
            Margins::Single(margins) => self.of(predictor, margins),
            Margins::Double(margins) => self.of(predictor, margins),
        }
    }

    /// The result of a row with these margins, which are transformed in place.
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
                    let classes = image.task() == Task::Multiclass;
                    let reason = ShapeReason::SeveralValues { values, classes };
                    Err(predictor.shape(function, reason))
                }
            },
            Output::Array => Ok(reals(transformed(image, margins))),
            Output::Margin => Ok(reals(margins)),
            Output::Probabilities => probabilities(image, transformed(image, margins))
                .ok_or_else(|| predictor.shape("predict_proba", ShapeReason::NoProbabilities)),
            Output::Class => {
                let Some(class) = image.class(margins) else {
                    return Err(predictor.shape("predict_class", ShapeReason::NoClasses));
                };
                Ok(match image.label(class as usize) {
                    Some(label) => varlena::text_datum(label),
                    None => varlena::text_datum(&class.to_string()),
                })
            }
        }
    }
}

/// The probabilities of a row's classes as a jsonb object; nothing if the values are none.
fn probabilities<M: Margin>(image: &ModelImage, values: &[M]) -> Option<Datum> {
    let probable = |value: &M| (0.0..=1.0).contains(&value.double());
    if !image.predicts_probabilities() || !values.iter().all(probable) {
        return None;
    }
    let singles: Vec<f32> = match values {
        // The other class's probability as scikit-learn's wrappers compute it, in the width of the margins.
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

/// A row's values, which take the place of its margins.
#[inline]
pub(crate) fn transformed<'a, M: Margin>(image: &ModelImage, margins: &'a mut [M]) -> &'a mut [M] {
    let count = image.values(margins);
    margins.get_mut(..count).unwrap_or_default()
}

/// An array of them, rounded to real.
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
fn real(value: f32) -> Datum {
    Datum::from(value.to_bits())
}
