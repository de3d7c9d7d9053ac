//! Relations and schemas by PostgreSQL's caches of its catalog, and names as PostgreSQL quotes them.

use std::ffi::{CStr, CString, c_char};

use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Oid};

use crate::source::SourceError;

/// The schema of that name.
pub fn schema(name: &CStr) -> Option<Oid> {
    // SAFETY: the name ends in a NUL; with missing_ok returns an invalid OID if there is none.
    let schema = unsafe { pg_sys::get_namespace_oid(name.as_ptr(), true) };
    (schema != Oid::INVALID).then_some(schema)
}

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

/// The table or view that a text names. Raises PostgreSQL's own error where there is none.
pub fn relation_named(name: &str) -> Result<Oid, SourceError> {
    let name = CString::new(name).map_err(|_| refused("It has a NUL character."))?;
    // SAFETY: the function takes a C string and returns an OID, and raises where there is no such
    // relation.
    let relation: Option<Oid> =
        unsafe { pgrx::direct_function_call(pg_sys::regclassin, &[name.as_c_str().into_datum()]) };
    Ok(relation.unwrap_or(Oid::INVALID))
}

/// A table or view as SQL would write it: qualified, and quoted where needed.
pub fn quoted_relation(relation: Oid) -> Result<String, SourceError> {
    // SAFETY: the names are allocated in the current context, or null if it has just gone.
    unsafe {
        let table = pg_sys::get_rel_name(relation);
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        if table.is_null() || schema.is_null() {
            return Err(refused("No table or view has that number."));
        }
        Ok(owned(pg_sys::quote_qualified_identifier(schema, table)))
    }
}

fn refused(detail: &'static str) -> SourceError {
    SourceError::NotOneSelect { argument: "source", detail }
}

/// Whether a relation is a table, all columns of which are stored and may be read by the current user.
pub fn may_read_rows(relation: Oid) -> bool {
    // SAFETY: the entry is null if the relation has just gone, and is closed again.
    unsafe {
        let entry = pg_sys::RelationIdGetRelation(relation);
        if entry.is_null() {
            return false;
        }
        // C's char has a sign on x86, and none on ARM.
        let [kind] = (*(*entry).rd_rel).relkind.to_ne_bytes();
        let stored = all_are_stored((*entry).rd_att);
        pg_sys::RelationClose(entry);
        let allowed =
            pg_sys::pg_class_aclcheck(relation, pg_sys::GetUserId(), pg_sys::ACL_SELECT as _);
        let tables = [pg_sys::RELKIND_RELATION, pg_sys::RELKIND_MATVIEW];
        tables.contains(&kind) && stored && allowed == pg_sys::AclResult::ACLCHECK_OK
    }
}

/// # Safety
/// The description is valid.
#[cfg(any(feature = "pg18", feature = "pg19"))]
unsafe fn all_are_stored(description: pg_sys::TupleDesc) -> bool {
    // SAFETY: the caller says so.
    unsafe {
        let constraints = (*description).constr;
        constraints.is_null() || !(*constraints).has_generated_virtual
    }
}

#[cfg(not(any(feature = "pg18", feature = "pg19")))]
unsafe fn all_are_stored(_description: pg_sys::TupleDesc) -> bool {
    true
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
