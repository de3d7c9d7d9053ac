//! Relations and schemas by PostgreSQL's caches of its catalog, and names as PostgreSQL quotes them.

use std::ffi::{CStr, CString, c_char};

use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Oid};

use crate::source::SourceError;

/// A table or an index of a schema.
pub fn relation(schema: Oid, name: &CStr) -> Option<Oid> {
    // SAFETY: the name ends in a NUL; returns an invalid OID if there is none.
    let relation = unsafe { pg_sys::get_relname_relid(name.as_ptr(), schema) };
    (relation != Oid::INVALID).then_some(relation)
}

/// The name of a schema, quoted where SQL needs it.
pub fn quoted_schema(schema: Oid) -> String {
    // SAFETY: the name is allocated in the current context, or null if the schema has just gone;
    // quote_identifier returns either its argument or a fresh string.
    unsafe {
        let name = pg_sys::get_namespace_name(schema);
        if name.is_null() {
            return String::from("pg_temp");
        }
        CStr::from_ptr(pg_sys::quote_identifier(name)).to_string_lossy().into_owned()
    }
}

/// The table or view that a text names, as SQL would write it: qualified, and quoted where needed.
/// Raises PostgreSQL's own error where there is none.
pub fn quoted_relation(name: &str) -> Result<String, SourceError> {
    let refuse = |detail| SourceError::NotOneSelect { argument: "source", detail };
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
