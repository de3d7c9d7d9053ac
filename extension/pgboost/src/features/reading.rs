//! One value to one f32, for a feature that is a number or a category.
//!
//! Text and enums are categories, and become the code that the model file gives them. Numbers are
//! codes already where the file carries no values for them, or where features come as an array,
//! which XGBoost does not recode either.

use gbdt::forest::CategoryKind;
use pg_interface::{Exact, NumberType, ScalarType, TextType};
use pgrx::pg_sys::{self, Datum, Oid};

use super::Target;
use crate::error::{Error, Result, TypeReason};
use crate::pg::{encoding, values};
use crate::settings::{self, UnknownCategory};

/// How to read the values of one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A number, taken as it is.
    Number(NumberType),
    /// Text, looked up among the feature's categories.
    TextCategory(TextType),
    /// A number, looked up among the feature's categories.
    NumberCategory(NumberType),
    /// A literal without a type, which may only be NULL: why it may be nothing else.
    OnlyNull(TypeReason),
}

impl Reading {
    /// How to read values of a type for a feature, in a form that matches columns to features.
    ///
    /// # Errors
    /// [`Error::FeatureType`].
    pub fn of(target: Target<'_>, index: usize, type_oid: Oid) -> Result<Reading> {
        let Some(scalar_type) = ScalarType::of(type_oid) else {
            return Err(target.unusable(index, type_oid, TypeReason::Unusable));
        };
        let Some(reason) = mismatch(target, index, scalar_type.is_text()) else {
            return Ok(match scalar_type {
                ScalarType::Text(text) => Reading::TextCategory(text),
                ScalarType::Number(number) if target.image.categories(index).is_some() => {
                    Reading::NumberCategory(number)
                }
                ScalarType::Number(number) => Reading::Number(number),
            });
        };
        // A NULL without a type is what users write for a missing value.
        if type_oid == pg_sys::UNKNOWNOID {
            return Ok(Reading::OnlyNull(reason));
        }
        Err(target.unusable(index, type_oid, reason))
    }

    /// The f32 of a value that is not NULL.
    ///
    /// # Errors
    /// [`Error::UnknownCategory`], [`Error::FeatureType`].
    #[inline]
    pub fn read(self, target: Target<'_>, index: usize, datum: Datum) -> Result<f32> {
        match self {
            Reading::Number(kind) => Ok(values::number(datum, kind).single()),
            Reading::TextCategory(kind) => text_code(target, index, &values::category(datum, kind)),
            Reading::NumberCategory(kind) => number_code(target, index, kind, datum),
            Reading::OnlyNull(reason) => Err(target.unusable(index, pg_sys::UNKNOWNOID, reason)),
        }
    }
}

/// Why text, or else a number, cannot be a feature, matched by name or by position; nothing if it can.
pub fn mismatch(target: Target<'_>, index: usize, is_text: bool) -> Option<TypeReason> {
    let categories = target.image.categories(index).map(|categories| categories.kind());
    match (is_text, categories) {
        (true, Some(CategoryKind::Text)) | (false, None) => None,
        (false, Some(CategoryKind::Integer | CategoryKind::Float)) => None,
        (false, Some(CategoryKind::Text)) => Some(TypeReason::NumberForTextCategories),
        (true, Some(_)) => Some(TypeReason::TextForNumericCategories),
        (true, None) if target.image.is_categorical(index) => {
            Some(TypeReason::TextWithoutCategories)
        }
        (true, None) => Some(TypeReason::TextForNumber),
    }
}

/// The code of a category given as text.
pub fn text_code(target: Target<'_>, index: usize, value: &str) -> Result<f32> {
    let code = target.image.categories(index).and_then(|all| all.code_of_text(value));
    code_or_unknown(target, index, code, || value.to_owned())
}

/// The code of a category given as a number of that type; a NaN is a missing value.
fn number_code(target: Target<'_>, index: usize, kind: NumberType, datum: Datum) -> Result<f32> {
    match values::number(datum, kind).exact() {
        Exact::Integer(value) => integer_code(target, index, value),
        Exact::Float(value) => float_code(target, index, value),
    }
}

/// The code of a category given as a whole number.
pub fn integer_code(target: Target<'_>, index: usize, value: i64) -> Result<f32> {
    let code = target.image.categories(index).and_then(|all| all.code_of_integer(value));
    code_or_unknown(target, index, code, || value.to_string())
}

/// The code of a category given as a floating-point number; a NaN is a missing value.
pub fn float_code(target: Target<'_>, index: usize, value: f64) -> Result<f32> {
    if value.is_nan() {
        return Ok(f32::NAN);
    }
    let code = target.image.categories(index).and_then(|all| all.code_of_float(value));
    code_or_unknown(target, index, code, || value.to_string().replace("inf", "Infinity"))
}

fn code_or_unknown(
    target: Target<'_>,
    index: usize,
    code: Option<u32>,
    value: impl Fn() -> String,
) -> Result<f32> {
    match code {
        Some(code) => Ok(code as f32),
        None if settings::unknown_category() == UnknownCategory::Missing => Ok(f32::NAN),
        None => {
            let value = encoding::require_allowed(value(), "category")?;
            Err(Error::UnknownCategory { feature: target.feature(index), value })
        }
    }
}
