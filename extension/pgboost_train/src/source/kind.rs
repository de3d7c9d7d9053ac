//! How a field of a row is read: as a number, as a category, or as the label of a class.

use gbdt::forest::CategoryView;
use pg_interface::array::number_elements;
use pg_interface::{Exact, NumberType, ScalarType, Value};
use pgrx::pg_sys::Oid;
use row_source::Field;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(ScalarType);

impl Kind {
    /// What values of a type are, or else the elements of its arrays, which must be numbers: then `true`
    /// is beside it. Nothing if they can be neither a number nor a category.
    pub fn of(type_oid: Oid) -> Option<(Kind, bool)> {
        if let Some(scalar) = ScalarType::of(type_oid) {
            return Some((Kind(scalar), false));
        }
        number_elements(type_oid).map(|element| (Kind(element.scalar_type()), true))
    }

    pub fn is_text(self) -> bool {
        self.0.is_text()
    }

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
}

/// A number as f32. One that is infinite, or out of range, becomes an infinity; a text is no number.
#[inline]
pub fn number(field: Field<'_>) -> f32 {
    match field.value() {
        Some(Value::Number(number)) => number.single(),
        _ => f32::NAN,
    }
}

/// The code of a value among the categories of a model, as `predict` finds it: NaN for a NaN, and
/// nothing for a value that is none of them.
pub fn category(field: Field<'_>, categories: CategoryView<'_>) -> Option<f32> {
    let code = match field.value()? {
        Value::Text(text) => categories.code_of_text(&text.text()),
        Value::Number(number) => match number.exact() {
            Exact::Integer(number) => categories.code_of_integer(number),
            Exact::Float(number) if number.is_nan() => return Some(f32::NAN),
            Exact::Float(number) => categories.code_of_float(number),
        },
    };
    code.map(|code| code as f32)
}
