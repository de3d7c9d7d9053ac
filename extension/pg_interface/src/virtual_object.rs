//! The object of `jsonb_build_object` without building it.
//!
//! Its values are columns of a row that was read ahead; [`VirtualObject::item`] gives what the object would
//! hold for each. jsonb keeps a number as the digits that the output function of its type writes, and has
//! strings for NaN and the infinities (`datum_to_jsonb` in src/backend/utils/adt/jsonb.c). Where the setting
//! extra_float_digits cuts digits off, `item` gives nothing, and the caller builds the object.

use std::rc::Rc;

use pgrx::pg_sys::{self, Datum};

use crate::jsonb::{Item, ObjectType};
use crate::tuple::VirtualValues;
use crate::value::{Number, NumberType, Value};

/// Whole numbers below are written with all their digits.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// An object that was not built.
#[derive(Clone, Copy)]
pub struct VirtualObject<'a> {
    values: VirtualValues<'a>,
    object_type: &'a Rc<ObjectType>,
}

impl<'a> VirtualObject<'a> {
    /// # Safety
    /// Values are of the types in `object_type`, or NULL.
    #[inline]
    pub unsafe fn new(values: VirtualValues<'a>, object_type: &'a Rc<ObjectType>) -> Self {
        VirtualObject { values, object_type }
    }

    /// Returns the keys, and the types of the values.
    #[inline]
    pub fn object_type(self) -> &'a Rc<ObjectType> {
        self.object_type
    }

    /// Returns the value at a position, or `None` where only the built object has it. A real stands for the decimal that
    /// the object would hold.
    #[inline]
    pub fn item(self, position: usize) -> Option<Item<'a>> {
        let Some(datum) = self.values.get(position) else { return Some(Item::Null) };
        let scalar_type = self.object_type.value_type(position)?;
        // SAFETY: `new` requires values of these types.
        match unsafe { Value::new(datum, scalar_type) } {
            Value::Text(text) => Some(Item::Text(text.text().into_owned())),
            Value::Number(number) => number_item(number),
        }
    }
}

fn number_item(number: Number<'_>) -> Option<Item<'_>> {
    match number.number_type() {
        NumberType::Bool => Some(Item::Boolean(number.single() != 0.0)),
        NumberType::Float4 | NumberType::Float8 => float_item(number),
        NumberType::Numeric if !number.double().is_finite() => {
            let text = number.numeric_text();
            let is_special = !text.ends_with(|last: char| last.is_ascii_digit());
            Some(if is_special { Item::Text(text) } else { Item::Number(number) })
        }
        _ => Some(Item::Number(number)),
    }
}

fn float_item(number: Number<'_>) -> Option<Item<'_>> {
    let special = |text: &str| Some(Item::Text(text.to_owned()));
    let value = number.double();
    match value {
        _ if value.is_nan() => special("NaN"),
        f64::INFINITY => special("Infinity"),
        f64::NEG_INFINITY => special("-Infinity"),
        _ if !writes_all_digits() => None,
        _ => Some(whole(value).unwrap_or(Item::Number(number))),
    }
}

/// The item of a whole number, of which zero has no sign.
fn whole(value: f64) -> Option<Item<'static>> {
    let is_whole = value.fract() == 0.0 && value.abs() < MAX_WHOLE;
    // SAFETY: the datum is a bigint.
    let item = || unsafe { Number::new(Datum::from(value as i64), NumberType::Int8) };
    is_whole.then(|| Item::Number(item()))
}

/// Whether a float is written such that reading it gives the same float.
fn writes_all_digits() -> bool {
    // SAFETY: an integer that only this backend's main thread sets.
    unsafe { pg_sys::extra_float_digits > 0 }
}
