//! Features as one jsonb object, matched to the model's feature names.
//!
//! JSON's null is a missing value. A key that is absent is an error, as a column is, because a
//! misspelt key would otherwise score wrongly in silence.

use gbdt::layout::CategoryKind;

use super::kind::Kind;
use super::reading::{Reading, integer_code, text_code};
use super::row::require_names;
use super::{FIRST, Target};
use crate::error::{Error, Result, TypeReason};
use crate::pg::arguments::Arguments;
use crate::pg::jsonb::{Object, Value};

const FORM: &str = "jsonb object";

/// How to read the object.
pub struct ObjectForm;

impl ObjectForm {
    /// Checks that objects can be matched.
    pub fn bind(target: Target<'_>) -> Result<Self> {
        require_names(target, FORM)?;
        Ok(ObjectForm)
    }

    /// Reads the features of one call; in a NULL object everything is missing.
    pub fn read(
        &self,
        arguments: Arguments,
        target: Target<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        let Some(datum) = arguments.get(FIRST) else {
            features.fill(f32::NAN);
            return Ok(());
        };
        let Some(object) = Object::of(datum) else {
            return Err(Error::NotAnObject);
        };
        for (index, feature) in features.iter_mut().enumerate() {
            let name = target.image.feature_name(index).unwrap_or_default();
            let value = object.get(name).ok_or_else(|| Error::NoSuchFeature {
                model: target.model.to_owned(),
                feature: name.to_owned(),
                form: FORM,
                unnamed: false,
            })?;
            *feature = read(target, index, value)?;
        }
        Ok(())
    }
}

fn read(target: Target<'_>, index: usize, value: Value) -> Result<f32> {
    let fail = |reason| {
        Err(Error::FeatureType {
            feature: target.feature(index),
            type_name: format!("JSON {}", value.type_name()),
            reason,
        })
    };
    let categories = target.image.categories(index).map(|categories| categories.kind());
    match (&value, categories) {
        (Value::Null, _) => Ok(f32::NAN),
        (Value::Container, _) => fail(TypeReason::Unusable),
        (Value::Text(text), Some(CategoryKind::Text)) => text_code(target, index, text),
        (Value::Text(_), Some(_)) => fail(TypeReason::TextForNumericCategories),
        (Value::Text(_), None) if target.image.is_categorical(index) => {
            fail(TypeReason::TextWithoutCategories)
        }
        (Value::Text(_), None) => fail(TypeReason::TextForNumber),
        (_, Some(CategoryKind::Text)) => fail(TypeReason::NumberForTextCategories),
        (Value::Number(number), Some(_)) => {
            Reading::NumberCategory(Kind::Numeric).read(target, index, *number)
        }
        (Value::Boolean(truth), Some(_)) => integer_code(target, index, i64::from(*truth)),
        (Value::Number(number), None) => Ok(Kind::Numeric.number(*number)),
        (Value::Boolean(truth), None) => Ok(f32::from(u8::from(*truth))),
    }
}
