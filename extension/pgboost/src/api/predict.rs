//! `predict` and its siblings: one call is one row.
//!
//! What the first call of a statement finds out is kept until its end: the image, how to read the
//! arguments, and the buffers. Every further call checks that nothing has changed, reads the
//! features, walks the trees and hands over the result; it allocates nothing of its own, takes no
//! lock and calls nothing in PostgreSQL that could raise an error.

use gbdt::model::Task;
use gbdt::Image;
use pgrx::pg_sys::Datum;

use super::statement::{Statement, Statements};
use crate::error::{Result, ShapeReason};
use crate::pg::arguments::Arguments;
use crate::pg::map::ImageBytes;
use crate::pg::{arrays, values};

/// The statement's state with the features of this call in it, or nothing for a NULL model.
#[inline]
fn row<'a>(arguments: Arguments) -> Result<Option<&'a mut Statement>> {
    let Some(model) = arguments.get(0) else {
        return Ok(None);
    };
    let statements = match arguments.kept::<Statements>() {
        Some(statements) => statements,
        None => arguments.keep(Statements::default()),
    };
    let statement = statements.of(arguments, &values::text(model))?;
    statement.read_features(arguments)?;
    Ok(Some(statement))
}

/// What is made of a row's margins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The value, of a model that has one a row.
    Value,
    /// All values.
    Array,
    /// The margins as they are.
    Margin,
    /// The winning class by its label, or by its number where there are no labels.
    Class,
}

impl Output {
    /// The result of a row with these margins, which are transformed in place.
    #[inline]
    pub(super) fn of(self, statement: &Statement, margins: &mut [f32]) -> Result<Datum> {
        let image = statement.image();
        match self {
            Output::Value => match transformed(image, margins) {
                [value] => Ok(real(*value)),
                several => {
                    let values = several.len();
                    let classes = image.task() == Task::Multiclass;
                    let reason = ShapeReason::SeveralValues { values, classes };
                    Err(statement.shape("predict", reason))
                }
            },
            Output::Array => Ok(arrays::real_array(transformed(image, margins))),
            Output::Margin => Ok(arrays::real_array(margins)),
            Output::Class => {
                let Some(class) = image.class(margins) else {
                    return Err(statement.shape("predict_class", ShapeReason::NoClasses));
                };
                Ok(match image.label(class as usize) {
                    Some(label) => arrays::text(label),
                    None => arrays::text(&class.to_string()),
                })
            }
        }
    }
}

/// The values of a row with these margins.
#[inline]
fn transformed<'a>(image: &Image<ImageBytes>, margins: &'a mut [f32]) -> &'a [f32] {
    let count = image.values(margins);
    margins.get(..count).unwrap_or_default()
}

/// `predict`, `predict_array`, `predict_margin` and `predict_class`, by what they give.
#[inline]
pub fn predict(arguments: Arguments, output: Output) -> Result<Datum> {
    let Some(statement) = row(arguments)? else {
        return Ok(arguments.null());
    };
    let mut margins = statement.margins();
    let result = output.of(statement, &mut margins);
    statement.keep(margins);
    result
}

/// `predict_leaf`: for each tree the id of the leaf that the row falls into.
pub fn predict_leaf(arguments: Arguments) -> Result<Datum> {
    let Some(statement) = row(arguments)? else {
        return Ok(arguments.null());
    };
    Ok(arrays::integer_array(statement.leaves()))
}

#[inline]
fn real(value: f32) -> Datum {
    Datum::from(value.to_bits())
}
