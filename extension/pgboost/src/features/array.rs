//! Features as one array, in the model's order.
//!
//! As in XGBoost, an array is not recoded: for a categorical feature it holds the category's code.

use super::FeatureContext;
use super::reader::narrowed;
use crate::error::{Error, Result};
use crate::pg::arrays::ArrayValue;
use gbdt::Narrowing;
use pg_interface::Value;

pub fn read(
    array: ArrayValue<'_>,
    context: FeatureContext<'_>,
    features: &mut [f32],
) -> Result<()> {
    if let Some(reals) = array.plain_reals() {
        if reals.len() != features.len() {
            return Err(context.count(reals.len(), None));
        }
        features.copy_from_slice(reals);
        if context.image.narrowing() == Narrowing::All {
            for (index, feature) in features.iter_mut().enumerate() {
                *feature = context.image.narrow(index, (*feature).into());
            }
        }
        return Ok(());
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
            Some(Value::Number(number)) => narrowed(context, index, number),
            _ => f32::NAN,
        };
    }
    Ok(())
}
