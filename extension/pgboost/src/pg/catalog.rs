//! Finds the extension's own objects, next to the function that was called.
//!
//! The schema is the one that CREATE EXTENSION was given. It is found from the called function, not
//! by name on the search path, which belongs to the user.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

/// The schema of a function.
pub fn schema_of(function: Oid) -> Oid {
    // SAFETY: gives an invalid OID for what is no function.
    unsafe { pg_sys::get_func_namespace(function) }
}

/// A table or an index of a schema.
pub fn relation(schema: Oid, name: &CStr) -> Option<Oid> {
    // SAFETY: the name ends in a NUL; gives an invalid OID if there is none.
    let relation = unsafe { pg_sys::get_relname_relid(name.as_ptr(), schema) };
    (relation != Oid::INVALID).then_some(relation)
}

/// The name of a schema, quoted where SQL needs it.
pub fn quoted_schema(schema: Oid) -> String {
    // SAFETY: the name is allocated in the current context, or null if the schema has just gone;
    // quote_identifier gives either its argument or a fresh string.
    unsafe {
        let name = pg_sys::get_namespace_name(schema);
        if name.is_null() {
            return String::from("pg_temp");
        }
        CStr::from_ptr(pg_sys::quote_identifier(name)).to_string_lossy().into_owned()
    }
}

/// The owner of a table.
pub fn table_owner(table: Oid) -> Oid {
    // SAFETY: the relation is opened, read and closed; opening raises if it does not exist.
    unsafe {
        let relation = pg_sys::table_open(table, pg_sys::AccessShareLock as i32);
        let owner = (*(*relation).rd_rel).relowner;
        pg_sys::table_close(relation, pg_sys::AccessShareLock as i32);
        owner
    }
}

/// Whether the cluster has a database of that OID.
pub fn database_exists(database: u32) -> bool {
    // SAFETY: gives a palloc'd name, or null if there is no such database.
    unsafe { !pg_sys::get_database_name(Oid::from(database)).is_null() }
}

/// The database that this backend is connected to.
pub fn database() -> u32 {
    // SAFETY: a backend sets this once, before it runs any function.
    unsafe { pg_sys::MyDatabaseId }.to_u32()
}
