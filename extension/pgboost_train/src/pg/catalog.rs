//! Names as PostgreSQL resolves and quotes them.

use std::ffi::{CStr, CString, c_char};

use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Oid};

use crate::error::{Error, Result};

/// The table or view that a text names, as SQL would write it: qualified, and quoted where needed.
/// Raises PostgreSQL's own error where there is none.
pub fn quoted_relation(name: &str) -> Result<String> {
    let refuse = |detail| Error::NotOneSelect { argument: "source", detail };
    let name = CString::new(name).map_err(|_| refuse("It has a NUL character."))?;
    // SAFETY: the function takes a C string and returns an OID, and raises where there is no such
    // relation. The names are allocated in the current context, or null if it has just gone.
    unsafe {
        let relation: Option<Oid> =
            pgrx::direct_function_call(pg_sys::regclassin, &[name.as_c_str().into_datum()]);
        let relation = relation.unwrap_or(Oid::INVALID);
        let table = pg_sys::get_rel_name(relation);
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        if table.is_null() || schema.is_null() {
            return Err(refuse("No table or view has that number."));
        }
        Ok(owned(pg_sys::quote_qualified_identifier(schema, table)))
    }
}

/// A name, quoted where SQL needs it.
pub fn quoted(name: &str) -> String {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: the name ends in a NUL; the result is the name itself or a fresh string.
    unsafe { owned(pg_sys::quote_identifier(name.as_ptr())) }
}

/// # Safety
/// The pointer is a C string.
unsafe fn owned(text: *const c_char) -> String {
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
