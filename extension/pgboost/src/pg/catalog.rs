//! Finds the extension's own objects, next to the function that was called.
//!
//! The schema is the one that CREATE EXTENSION was given. It is found from the called function, not
//! by name on the search path, which belongs to the user.

pub use pg_interface::catalog::{quoted, quoted_schema, relation};
use pgrx::pg_sys::{self, Oid};

pub fn schema_of(function: Oid) -> Oid {
    // SAFETY: returns an invalid OID for what is no function.
    unsafe { pg_sys::get_func_namespace(function) }
}

/// A text as a literal of SQL.
pub fn quoted_literal(text: &str) -> String {
    pgrx::spi::quote_literal(text)
}

pub fn table_owner(table: Oid) -> Oid {
    // SAFETY: the relation is opened, read and closed; opening raises if it does not exist.
    unsafe {
        let relation = pg_sys::table_open(table, pg_sys::AccessShareLock as i32);
        let owner = (*(*relation).rd_rel).relowner;
        pg_sys::table_close(relation, pg_sys::AccessShareLock as i32);
        owner
    }
}

pub fn database_exists(database: u32) -> bool {
    // SAFETY: returns a palloc'd name, or null if there is no such database.
    unsafe { !pg_sys::get_database_name(Oid::from(database)).is_null() }
}

pub fn database() -> u32 {
    // SAFETY: a backend sets this once, before it runs any function.
    unsafe { pg_sys::MyDatabaseId }.to_u32()
}
