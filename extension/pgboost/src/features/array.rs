//! Features as one array, in the model's order.
//!
//! As in XGBoost, an array is not recoded: for a categorical feature it holds the category's code.
//! CatBoost has no codes, so there it holds the category itself, a whole number.

use gbdt::Narrowing;
use gbdt::forest::CategoryKind;
use pg_interface::Value;
use pg_interface::array::{ArrayValue, VirtualArray};

use super::FeatureContext;
use super::reader::{narrowed, number_code};
use crate::cache::ModelImage;
use crate::error::{Error, Result};

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

    /// Whether elements of type real are features of that model as they are.
    pub fn takes_reals(&self, image: &ModelImage) -> bool {
        self.hashed.is_empty() && image.narrowing() != Narrowing::All
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
        self.read_values(elements, context, features)
    }

    /// Reads the elements of an array that was not formed.
    pub fn read_elements(
        &self,
        elements: VirtualArray<'_>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        if self.takes_reals(context.image)
            && elements.len() == features.len()
            && let Some(reals) = elements.reals()
        {
            reals.read_reals(0, features);
            return Ok(());
        }
        self.read_values(elements.values(), context, features)
    }

    fn read_values<'v>(
        &self,
        elements: impl ExactSizeIterator<Item = Option<Value<'v>>>,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
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
