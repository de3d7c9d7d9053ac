//! The object of `jsonb_build_object` without building it.
//!
//! Its values are columns of a row read ahead; [`VirtualObject::item`] returns what the object would
//! contain. jsonb stores a number as the digits of its type's output function, and NaN and infinities
//! as strings (`datum_to_jsonb` in src/backend/utils/adt/jsonb.c). If the digits may give another float
//! than the value, `item` returns `None`, and the caller builds the object.

use std::rc::Rc;

use pgrx::pg_sys::{self, Datum};

use crate::jsonb::{Item, ObjectType};
use crate::tuple::VirtualValues;
use crate::value::{Number, NumberType, Value};

/// Smaller integers are written with all their digits.
const MAX_WHOLE_DOUBLE: f64 = 9_007_199_254_740_992.0;
/// Up to here, PostgreSQL and Rust write the same digits of a real.
const MAX_REAL: f32 = 16_777_216.0;
/// Smaller reals are subnormal.
const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;

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

    /// Returns the value at a position, for readers of f32 or (`double`) f64 numbers; `None` if it
    /// takes the built object.
    #[inline]
    pub fn item(self, position: usize, double: bool) -> Option<Item<'a>> {
        let Some(datum) = self.values.get(position) else { return Some(Item::Null) };
        let scalar_type = self.object_type.value_type(position)?;
        // SAFETY: `new` requires values of these types.
        match unsafe { Value::new(datum, scalar_type) } {
            Value::Text(text) => Some(Item::Text(text.text().into_owned())),
            Value::Number(number) => number_item(number, double),
        }
    }
}

fn number_item(number: Number<'_>, double: bool) -> Option<Item<'_>> {
    match number.number_type() {
        NumberType::Bool => Some(Item::Boolean(number.single() != 0.0)),
        NumberType::Float4 | NumberType::Float8 => float_item(number, double),
        NumberType::Numeric if !number.double().is_finite() => {
            let text = number.numeric_text();
            let is_special = !text.ends_with(|last: char| last.is_ascii_digit());
            Some(if is_special { Item::Text(text) } else { Item::Number(number) })
        }
        _ => Some(Item::Number(number)),
    }
}

fn float_item(number: Number<'_>, double: bool) -> Option<Item<'static>> {
    let special = |text: &str| Some(Item::Text(text.to_owned()));
    let value = number.double();
    match value {
        _ if value.is_nan() => special("NaN"),
        f64::INFINITY => special("Infinity"),
        f64::NEG_INFINITY => special("-Infinity"),
        _ if !writes_all_digits() => None,
        _ if number.number_type() == NumberType::Float4 => of_real(number.single(), double),
        _ => of_double(value),
    }
}

/// Returns the item of a double: the digits' nearest float is the value's nearest float, unless the
/// value lies halfway between two floats.
fn of_double(value: f64) -> Option<Item<'static>> {
    if let Some(item) = whole(value) {
        return Some(item);
    }
    let discarded = u64::from(f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS);
    let is_middle = value.to_bits() & ((1 << discarded) - 1) == 1 << (discarded - 1);
    let is_safe = !is_middle && (MIN_NORMAL..MAX_WHOLE_DOUBLE).contains(&value.abs());
    is_safe.then(|| double_item(value))
}

/// Returns the item of a real. As f64 it is the number of its few digits, not the real's exact value.
fn of_real(value: f32, double: bool) -> Option<Item<'static>> {
    if value.abs() >= MAX_REAL {
        return None;
    }
    if let Some(item) = whole(value.into()) {
        return Some(item);
    }
    if !value.is_normal() {
        return None;
    }
    if !double {
        return Some(double_item(value.into()));
    }
    let digits: f64 = value.to_string().parse().ok()?;
    (digits as f32 == value).then(|| double_item(digits))
}

/// Returns the item of an integer; zero has no sign.
fn whole(value: f64) -> Option<Item<'static>> {
    let is_whole = value.fract() == 0.0 && value.abs() < MAX_WHOLE_DOUBLE;
    // SAFETY: the datum is a bigint.
    let item = || unsafe { Number::new(Datum::from(value as i64), NumberType::Int8) };
    is_whole.then(|| Item::Number(item()))
}

fn double_item(value: f64) -> Item<'static> {
    // SAFETY: the datum is a double precision.
    Item::Number(unsafe { Number::new(Datum::from(value.to_bits()), NumberType::Float8) })
}

/// Returns whether floats are written to be read back exactly.
fn writes_all_digits() -> bool {
    // SAFETY: an integer that only this backend's main thread sets.
    unsafe { pg_sys::extra_float_digits > 0 }
}
