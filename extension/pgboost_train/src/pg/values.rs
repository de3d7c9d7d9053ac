//! Reads values whose type is known from a query's columns.
//!
//! A `Datum` does not say what it is. In this extension it comes only from a column of a row, whose
//! type the query declares, and `data::kind` chooses how to read it by that type alone. That
//! pairing is what makes the functions here safe to call. What they allocate lies in the current
//! memory context, which is the row's.

use std::borrow::Cow;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::varlena::{varatt_is_1b, varatt_is_1b_e, varatt_is_4b_u, varlena_to_byte_slice};

/// A text, varchar or char(n) value.
pub fn text<'a>(datum: Datum) -> Cow<'a, str> {
    let pointer: *mut pg_sys::varlena = datum.cast_mut_ptr();
    // SAFETY: the datum is of such a type, see above. A varlena's first byte tells how it is stored;
    // detoasting gives a plain one in the current context.
    let bytes = unsafe {
        let plain = varatt_is_4b_u(pointer) || (varatt_is_1b(pointer) && !varatt_is_1b_e(pointer));
        let pointer = if plain { pointer } else { pg_sys::pg_detoast_datum_packed(pointer) };
        varlena_to_byte_slice(pointer)
    };
    String::from_utf8_lossy(bytes)
}

/// A value of type name.
pub fn name<'a>(datum: Datum) -> Cow<'a, str> {
    // SAFETY: the datum is of that type, which is a C string.
    unsafe { CStr::from_ptr(datum.cast_mut_ptr()) }.to_string_lossy()
}

/// The label of an enum value.
pub fn enum_label(datum: Datum) -> String {
    direct(pg_sys::enum_out, datum)
}

/// A numeric as f32, rounded once, as PostgreSQL's cast to real rounds it, and as pgboost reads it.
pub fn numeric(datum: Datum) -> f32 {
    direct(pg_sys::numeric_out, datum).parse().unwrap_or(f32::NAN)
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

fn direct(function: unsafe fn(pg_sys::FunctionCallInfo) -> Datum, datum: Datum) -> String {
    // SAFETY: the callers pair output functions with their types; they never give NULL.
    let text = unsafe { pgrx::direct_function_call::<&CStr>(function, &[Some(datum)]) };
    text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}
