//! Reads values whose type is known from the statement.
//!
//! A `Datum` does not say what it is. In this extension it comes only from a call's arguments, a
//! row's columns or an array's elements, each of which has a type that PostgreSQL declares, and
//! `features` chooses how to read it by that type alone. That pairing is what makes the functions
//! here safe to call; nothing else may call them. What they give lives as long as the call.

use std::borrow::Cow;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use super::arrays::{self, Elements};
use super::{numeric, varlena};

/// A text, varchar, char(n) or bytea value as text.
pub fn text<'a>(datum: Datum) -> Cow<'a, str> {
    // SAFETY: the datum is of such a type, see above.
    unsafe { varlena::text(datum) }
}

/// A name, or a literal of unknown type: both are C strings.
pub fn name<'a>(datum: Datum) -> Cow<'a, str> {
    // SAFETY: the datum is of such a type, see above.
    unsafe { CStr::from_ptr(datum.cast_mut_ptr()) }.to_string_lossy()
}

/// The label of an enum value.
pub fn enum_label(datum: Datum) -> String {
    output(pg_sys::enum_out, datum)
}

/// A numeric as f32, rounded once, as PostgreSQL's cast to real rounds it; beyond the range of
/// real it is infinite, as XGBoost would take it.
#[inline]
pub fn numeric(datum: Datum) -> f32 {
    // SAFETY: the datum is of that type, see above; a numeric is a varlena.
    let stored = unsafe { varlena::bytes(datum) };
    numeric::single(stored).unwrap_or_else(|| numeric_text(datum).parse().unwrap_or(f32::NAN))
}

/// A numeric as PostgreSQL writes it.
pub fn numeric_text(datum: Datum) -> String {
    output(pg_sys::numeric_out, datum)
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

/// A value in its text form, by the output function of its type.
fn output(function: unsafe fn(pg_sys::FunctionCallInfo) -> Datum, datum: Datum) -> String {
    // SAFETY: the callers pair output functions with their types; they never give NULL.
    let text = unsafe { pgrx::direct_function_call::<&CStr>(function, &[Some(datum)]) };
    text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}
