//! Features as one array, in the model's order.
//!
//! As in XGBoost, an array is not recoded: for a categorical feature it holds the category's code.
//! CatBoost has no codes, so there it holds the category itself, a whole number.

use super::FeatureContext;
use super::reader::{narrowed, number_code};
use crate::error::{Error, Result};
use crate::pg::arrays::ArrayValue;
use gbdt::Narrowing;
use gbdt::forest::CategoryKind;
use pg_interface::Value;

pub struct ArrayForm {
    /// Whether each feature holds categories themselves; empty if none does.
    hashed: Vec<bool>,
}

impl ArrayForm {
    pub fn bind(context: FeatureContext<'_>) -> Self {
        let kind = |index| context.image.categories(index).map(|categories| categories.kind());
        let all = 0..context.image.num_features();
        let hashed: Vec<bool> =
            all.map(|index| kind(index) == Some(CategoryKind::Hashed)).collect();
        ArrayForm { hashed: if hashed.contains(&true) { hashed } else { Vec::new() } }
    }

    pub fn read(
        &self,
        array: ArrayValue<'_>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        if self.hashed.is_empty()
            && let Some(reals) = array.plain_reals()
        {
            return read_reals(reals, context, features);
        }
        let (dimensions, elements) = array.elements();
        if dimensions > 1 {
            return Err(Error::Dimensions { what: "feature", given: dimensions });
        }
        if elements.len() != features.len() {
            return Err(context.count(elements.len(), None));
        }
        for (index, (feature, element)) in features.iter_mut().zip(elements).enumerate() {
            *feature = match element {
                Some(Value::Number(number)) if self.hashed.get(index) == Some(&true) => {
                    number_code(context, index, number)?
                }
                Some(Value::Number(number)) => narrowed(context, index, number),
                _ => f32::NAN,
            };
        }
        Ok(())
    }
}

fn read_reals(reals: &[f32], context: FeatureContext<'_>, features: &mut [f32]) -> Result<()> {
    if reals.len() != features.len() {
        return Err(context.count(reals.len(), None));
    }
    features.copy_from_slice(reals);
    if context.image.narrowing() == Narrowing::All {
        for (index, feature) in features.iter_mut().enumerate() {
            *feature = context.image.narrow(index, (*feature).into());
        }
    }
    Ok(())
}
