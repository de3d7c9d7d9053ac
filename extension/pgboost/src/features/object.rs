//! Features as one jsonb object, matched to the model's feature names.
//!
//! JSON's null is a missing value. A key that is absent is an error, as a column is, because a
//! misspelt key would otherwise score wrongly in silence. NaN and the infinities, which JSON has no
//! numbers for, may be strings as `to_jsonb` writes them.

use pg_interface::jsonb::{Item, KeyPositions, Object};

use super::FeatureContext;
use super::by_name::require_names;
use super::feature_reader::{float_code, integer_code, mismatch, narrowed, number_code, text_code};
use crate::error::{Error, Result, TypeReason};

const FORM: &str = "jsonb object";

pub(crate) struct ObjectForm {
    /// The features' names, which the image would check at each look.
    names: Vec<Box<str>>,
    /// Where the last object had them.
    places: KeyPositions,
}

impl ObjectForm {
    pub(crate) fn bind(context: FeatureContext<'_>) -> Result<Self> {
        require_names(context, FORM)?;
        let name = |index| context.image.feature_name(index).unwrap_or_default().into();
        let names = (0..context.image.num_features()).map(name).collect();
        Ok(ObjectForm { names, places: KeyPositions::default() })
    }

    pub(crate) fn read(
        &mut self,
        object: Option<Object<'_>>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        let object = object.ok_or(Error::NotAnObject)?;
        let values = self.places.find(&object, &self.names);
        for (index, (feature, name)) in features.iter_mut().zip(&self.names).enumerate() {
            let value = values.get(index).ok_or_else(|| Error::NoSuchFeature {
                model: context.model.to_owned(),
                feature: name.to_string(),
                form: FORM,
                unnamed: false,
            })?;
            *feature = read(context, index, value)?;
        }
        Ok(())
    }

    /// The features' values as text, nothing for null.
    pub(crate) fn texts(&self, object: Option<Object<'_>>) -> Vec<Option<Vec<u8>>> {
        let text = |name: &str| Some(object.as_ref()?.get(name)?.text()?.into_bytes());
        self.names.iter().map(|name| text(name)).collect()
    }
}

#[inline]
fn read(context: FeatureContext<'_>, index: usize, value: Item<'_>) -> Result<f32> {
    match value {
        Item::Number(number) if context.image.categories(index).is_none() => {
            Ok(narrowed(context, index, number))
        }
        other => read_other(context, index, other),
    }
}

#[inline(never)]
fn read_other(context: FeatureContext<'_>, index: usize, value: Item<'_>) -> Result<f32> {
    let type_name = value.type_name();
    let fail = |reason| {
        Err(Error::FeatureType {
            feature: context.feature(index),
            type_name: format!("JSON {type_name}"),
            reason,
        })
    };
    let is_text = match value {
        Item::Null => return context.missing(index),
        Item::Container => return fail(TypeReason::Unusable),
        Item::Text(_) => true,
        Item::Number(_) | Item::Boolean(_) => false,
    };
    let coded = context.image.categories(index).is_some();
    if let Some(reason) = mismatch(context, index, is_text) {
        let special = if let Item::Text(text) = &value { special(text) } else { None };
        return match special {
            Some(number) if coded => float_code(context, index, number.into()),
            Some(number) => Ok(context.image.narrow(index, number.into())),
            None => fail(reason),
        };
    }
    match value {
        Item::Text(text) => text_code(context, index, &text),
        Item::Number(number) => number_code(context, index, number),
        Item::Boolean(truth) if coded => integer_code(context, index, i64::from(truth)),
        Item::Boolean(truth) => Ok(context.image.narrow(index, f64::from(truth))),
        Item::Null | Item::Container => Ok(f32::NAN),
    }
}

/// The number that JSON has no number for, as `to_jsonb` writes it.
fn special(text: &str) -> Option<f32> {
    match text {
        "NaN" => Some(f32::NAN),
        "Infinity" => Some(f32::INFINITY),
        "-Infinity" => Some(f32::NEG_INFINITY),
        _ => None,
    }
}
