//! Features as one array, in the model's order.
//!
//! As in XGBoost, an array is not recoded: for a categorical feature it holds the category's code.

use pg_interface::{NumberType, ScalarType, types};
use pgrx::pg_sys::{self, Datum, Oid};

use super::FeatureContext;
use crate::error::{Error, Result};
use crate::pg::values;

/// How to read the array.
pub struct Array {
    element: Oid,
    number_type: NumberType,
}

impl Array {
    /// Works out how to read the elements.
    pub fn bind(type_oid: Oid, element: Oid) -> Result<Self> {
        match ScalarType::of(element) {
            Some(ScalarType::Number(number_type)) => Ok(Array { element, number_type }),
            _ => Err(Error::ArrayType { type_name: types::type_name(type_oid) }),
        }
    }

    /// Reads the features of one call.
    pub fn read(
        &self,
        array: Datum,
        context: FeatureContext<'_>,
        features: &mut [f32],
    ) -> Result<()> {
        if self.element == pg_sys::FLOAT4OID
            && let Some(reals) = values::plain_reals(array)
        {
            if reals.len() != features.len() {
                return Err(context.count(reals.len()));
            }
            features.copy_from_slice(reals);
            return Ok(());
        }
        let elements = values::elements(array, self.element);
        if elements.dimensions > 1 {
            return Err(Error::Dimensions { what: "feature", given: elements.dimensions });
        }
        if elements.len() != features.len() {
            return Err(context.count(elements.len()));
        }
        for (feature, element) in features.iter_mut().zip(elements.iter()) {
            *feature =
                element.map_or(f32::NAN, |datum| values::number(datum, self.number_type).single());
        }
        Ok(())
    }
}
