//! Reads values whose type is known from the statement.
//!
//! A `Datum` does not say what it is. In this extension it comes only from a call's arguments, a
//! row's columns or an array's elements, each of which has a type that PostgreSQL declares, and
//! `features` chooses how to read it by that type alone. That pairing is what makes the functions
//! here safe to call; nothing else may call them. What they return lives as long as the call.

use std::borrow::Cow;

use pg_interface::{Number, NumberType, Text, TextType, varlena};
use pgrx::pg_sys::{Datum, Oid};

use super::arrays::{self, Elements};

/// A number.
#[inline]
pub fn number<'a>(datum: Datum, number_type: NumberType) -> Number<'a> {
    // SAFETY: the datum is of that type, see above.
    unsafe { Number::new(datum, number_type) }
}

/// The name of a category.
#[inline]
pub fn category<'a>(datum: Datum, text_type: TextType) -> Cow<'a, str> {
    // SAFETY: the datum is of that type, see above.
    unsafe { Text::new(datum, text_type) }.text()
}

/// A text, varchar, char(n) or bytea value as text.
pub fn text<'a>(datum: Datum) -> Cow<'a, str> {
    // SAFETY: the datum is of such a type, see above.
    unsafe { varlena::text(datum) }
}

/// The elements of a real[] that has no NULLs and one dimension, without a copy.
#[inline]
pub fn plain_reals<'a>(datum: Datum) -> Option<&'a [f32]> {
    // SAFETY: the datum is of that type, see above.
    unsafe { arrays::plain_reals(datum) }
}

/// The elements of an array of that element type.
pub fn elements(datum: Datum, element: Oid) -> Elements {
    // SAFETY: the datum is of that type, see above.
    unsafe { Elements::of(datum, element) }
}
