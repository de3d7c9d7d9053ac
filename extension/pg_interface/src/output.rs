//! A value as text, as a query would show it.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::types;

/// The value by its type's output function, in the database's encoding.
///
/// # Safety
/// The datum is not NULL, is of that type, and is valid.
pub unsafe fn text_of(datum: Datum, type_oid: Oid) -> Vec<u8> {
    // SAFETY: the caller says so; an output function returns a palloc'd string that ends in a NUL.
    unsafe {
        let text = pg_sys::OidOutputFunctionCall(types::output_function(type_oid), datum);
        let bytes = CStr::from_ptr(text).to_bytes().to_vec();
        pg_sys::pfree(text.cast());
        bytes
    }
}
