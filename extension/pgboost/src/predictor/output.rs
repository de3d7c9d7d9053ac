//! From a row's margins to the result of a function.

use gbdt::Margin;
use gbdt::model::Task;
use pgrx::pg_sys::Datum;

use super::margins::Margins;
use super::single::Predictor;
use crate::cache::ModelImage;
use crate::error::{Result, ShapeReason};
use crate::pg::{arrays, number_arrays};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The value, of a model that has one per row.
    Value,
    Array,
    /// The margins as they are.
    Margin,
    /// The winning class by its label, or by its number where there are no labels.
    Class,
}

impl Output {
    /// The result of the row whose margins these are, which are transformed in place.
    #[inline]
    pub fn of_row(self, predictor: &Predictor, margins: &mut Margins) -> Result<Datum> {
        match margins {
            Margins::Single(margins) => self.of(predictor, margins),
            Margins::Double(margins) => self.of(predictor, margins),
        }
    }

    /// The result of a row with these margins, which are transformed in place.
    #[inline]
    pub fn of<M: Margin + PartialOrd>(
        self,
        predictor: &Predictor,
        margins: &mut [M],
    ) -> Result<Datum> {
        let image = predictor.image();
        match self {
            Output::Value => match transformed(image, margins) {
                [value] => Ok(real(value.single())),
                several => {
                    let values = several.len();
                    let classes = image.task() == Task::Multiclass;
                    let reason = ShapeReason::SeveralValues { values, classes };
                    Err(predictor.shape("predict", reason))
                }
            },
            Output::Array => Ok(reals(transformed(image, margins))),
            Output::Margin => Ok(reals(margins)),
            Output::Class => {
                let Some(class) = image.class(margins) else {
                    return Err(predictor.shape("predict_class", ShapeReason::NoClasses));
                };
                Ok(match image.label(class as usize) {
                    Some(label) => arrays::text(label),
                    None => arrays::text(&class.to_string()),
                })
            }
        }
    }
}

#[inline]
fn transformed<'a, M: Margin>(image: &ModelImage, margins: &'a mut [M]) -> &'a mut [M] {
    let count = image.values(margins);
    margins.get_mut(..count).unwrap_or_default()
}

/// An array of them, rounded to real.
#[inline]
fn reals<M: Margin>(numbers: &mut [M]) -> Datum {
    match M::singles(numbers) {
        Some(reals) => number_arrays::real_array(reals),
        None => {
            let reals: Vec<f32> = numbers.iter().map(|number| number.single()).collect();
            number_arrays::real_array(&reals)
        }
    }
}

#[inline]
fn real(value: f32) -> Datum {
    Datum::from(value.to_bits())
}
