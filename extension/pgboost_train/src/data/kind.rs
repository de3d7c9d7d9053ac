//! How a value of a column is read: as a number, as a category, or as the label of a class.

use std::borrow::Cow;

use gbdt::forest::CategoryView;
use pg_interface::{Exact, NumberType, ScalarType};
use pgrx::pg_sys::{Datum, Oid};

use crate::pg::values;

/// How to read a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(ScalarType);

impl Kind {
    /// How to read values of a type, or nothing if they can be neither a number nor a category.
    pub fn of(type_oid: Oid) -> Option<Kind> {
        ScalarType::of(type_oid).map(Kind)
    }

    /// Whether values are names of categories.
    pub fn is_text(self) -> bool {
        self.0.is_text()
    }

    /// Whether values are booleans.
    pub fn is_bool(self) -> bool {
        self.0 == ScalarType::Number(NumberType::Bool)
    }

    /// What XGBoost calls a feature of this type.
    pub fn xgboost(self) -> &'static str {
        match self.0 {
            ScalarType::Text(_) => "c",
            ScalarType::Number(NumberType::Int2 | NumberType::Int4 | NumberType::Int8) => "int",
            ScalarType::Number(NumberType::Bool) => "i",
            ScalarType::Number(_) => "float",
        }
    }

    /// A number as f32. One that is infinite, or out of range, becomes an infinity.
    #[inline]
    pub fn number(self, datum: Datum) -> f32 {
        match self.0 {
            ScalarType::Number(number_type) => values::number(datum, number_type),
            ScalarType::Text(_) => f32::NAN,
        }
    }

    /// The code of a value among the categories of a model, as `predict` finds it: NaN for a NaN, and
    /// nothing for a value that is none of them.
    pub fn category(self, datum: Datum, categories: CategoryView<'_>) -> Option<f32> {
        let code = match self.0 {
            ScalarType::Text(text_type) => {
                categories.code_of_text(&values::text(datum, text_type))
            }
            ScalarType::Number(number_type) => match values::exact(datum, number_type) {
                Exact::Integer(number) => categories.code_of_integer(number),
                Exact::Float(number) if number.is_nan() => return Some(f32::NAN),
                Exact::Float(number) => categories.code_of_float(number),
            },
        };
        code.map(|code| code as f32)
    }

    /// A category, or the label of a class, as text. It is what pgboost compares with.
    #[inline]
    pub fn text<'a>(self, datum: Datum, output: Oid) -> Cow<'a, str> {
        match self.0 {
            ScalarType::Text(text_type) => values::text(datum, text_type),
            ScalarType::Number(NumberType::Bool) => {
                Cow::Borrowed(if datum.value() as u8 == 0 { "false" } else { "true" })
            }
            ScalarType::Number(_) => Cow::Owned(values::written(output, datum)),
        }
    }
}
