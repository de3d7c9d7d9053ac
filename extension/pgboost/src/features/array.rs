//! Features as one array, in the model's order.
//!
//! As in XGBoost, an array is not recoded: for a categorical feature it holds the category's code.

use pgrx::pg_sys::{self, Datum, Oid};

use super::Target;
use super::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::{types, values};

/// How to read the array.
pub struct Array {
    element: Oid,
    kind: Kind,
}

impl Array {
    /// Works out how to read the elements.
    pub fn bind(type_oid: Oid, element: Oid) -> Result<Self> {
        match Kind::of(element) {
            Some(
                kind @ (Kind::Float4
                | Kind::Float8
                | Kind::Int2
                | Kind::Int4
                | Kind::Int8
                | Kind::Numeric
                | Kind::Bool
                | Kind::Date
                | Kind::Timestamp),
            ) => Ok(Array { element, kind }),
            _ => Err(Error::ArrayType { type_name: types::type_name(type_oid) }),
        }
    }

    /// Reads the features of one call.
    pub fn read(&self, array: Datum, target: Target<'_>, features: &mut [f32]) -> Result<()> {
        if self.element == pg_sys::FLOAT4OID
            && let Some(reals) = values::plain_reals(array)
        {
            if reals.len() != features.len() {
                return Err(target.count(reals.len()));
            }
            features.copy_from_slice(reals);
            return Ok(());
        }
        let elements = values::elements(array, self.element);
        if elements.dimensions > 1 {
            return Err(Error::Dimensions { what: "feature", given: elements.dimensions });
        }
        if elements.len() != features.len() {
            return Err(target.count(elements.len()));
        }
        for (feature, element) in features.iter_mut().zip(elements.iter()) {
            *feature = element.map_or(f32::NAN, |datum| self.kind.number(datum));
        }
        Ok(())
    }
}
