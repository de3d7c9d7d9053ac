//! Reads values whose type is known from a query's columns.
//!
//! A `Datum` does not say what it is. In this extension it comes only from a column of a row, whose
//! type the query declares, and `data::kind` chooses how to read it by that type alone. That
//! pairing is what makes the functions here safe to call. What they allocate lies in the current
//! memory context, which is the row's.

use std::borrow::Cow;
use std::ffi::CStr;

use pg_interface::{Exact, Number, NumberType, Text, TextType};
use pgrx::pg_sys::{self, Datum, Oid};

/// A number as f32.
#[inline]
pub fn number(datum: Datum, number_type: NumberType) -> f32 {
    // SAFETY: the datum is of that type, see above.
    unsafe { Number::new(datum, number_type) }.single()
}

/// A number without loss.
pub fn exact(datum: Datum, number_type: NumberType) -> Exact {
    // SAFETY: the datum is of that type, see above.
    unsafe { Number::new(datum, number_type) }.exact()
}

/// The name of a category.
pub fn text<'a>(datum: Datum, text_type: TextType) -> Cow<'a, str> {
    // SAFETY: the datum is of that type, see above.
    unsafe { Text::new(datum, text_type) }.text()
}

/// A value as text, by the output function of its type.
pub fn written(function: Oid, datum: Datum) -> String {
    // SAFETY: the callers pair output functions with their types.
    unsafe {
        CStr::from_ptr(pg_sys::OidOutputFunctionCall(function, datum))
            .to_string_lossy()
            .into_owned()
    }
}
