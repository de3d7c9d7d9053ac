//! From a row's margins to the result of a function.

use gbdt::model::Task;
use pgrx::pg_sys::Datum;

use super::single::Predictor;
use crate::cache::ModelImage;
use crate::error::{Result, ShapeReason};
use crate::pg::arrays;

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
    /// The result of a row with these margins, which are transformed in place.
    #[inline]
    pub fn of(self, predictor: &Predictor, margins: &mut [f32]) -> Result<Datum> {
        let image = predictor.image();
        match self {
            Output::Value => match transformed(image, margins) {
                [value] => Ok(real(*value)),
                several => {
                    let values = several.len();
                    let classes = image.task() == Task::Multiclass;
                    let reason = ShapeReason::SeveralValues { values, classes };
                    Err(predictor.shape("predict", reason))
                }
            },
            Output::Array => Ok(arrays::real_array(transformed(image, margins))),
            Output::Margin => Ok(arrays::real_array(margins)),
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
fn transformed<'a>(image: &ModelImage, margins: &'a mut [f32]) -> &'a [f32] {
    let count = image.values(margins);
    margins.get(..count).unwrap_or_default()
}

#[inline]
fn real(value: f32) -> Datum {
    Datum::from(value.to_bits())
}
