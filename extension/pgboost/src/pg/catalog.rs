//! Finds the extension's own objects. The schema that CREATE EXTENSION was given is found from the called
//! function, not by name on the search path, which belongs to the user.

use std::ffi::{CStr, CString};

pub use pg_interface::catalog::{quoted, quoted_schema, relation, schema};
use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Datum, Oid};

pub fn schema_of(function: Oid) -> Oid {
    // SAFETY: returns an invalid OID for what is no function.
    unsafe { pg_sys::get_func_namespace(function) }
}

/// A text as a literal of SQL.
pub fn quoted_literal(text: &str) -> String {
    pgrx::spi::quote_literal(text)
}

/// The function of a schema with that name and arguments of those types.
pub fn function(schema: Oid, name: &str, arguments: &[Oid]) -> Option<Oid> {
    let name = CString::new(name).ok()?;
    // SAFETY: the keys are a name, a vector of OIDs and an OID, as the cache's are; the tuple is null or one of
    // pg_proc, which is read before it is given back.
    unsafe {
        let types = pg_sys::buildoidvector(arguments.as_ptr(), arguments.len() as i32);
        let tuple = pg_sys::SearchSysCache3(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as i32,
            Datum::from(name.as_ptr()),
            Datum::from(types),
            Datum::from(schema),
        );
        if tuple.is_null() {
            return None;
        }
        let oid = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_proc>()).oid;
        pg_sys::ReleaseSysCache(tuple);
        Some(oid)
    }
}

/// The function of a type's equality, which the type cache keeps as long as the backend lives.
pub fn equality(type_oid: Oid) -> Option<*mut pg_sys::FmgrInfo> {
    // SAFETY: the type exists; the entry is never freed.
    unsafe {
        let flags = pg_sys::TYPECACHE_EQ_OPR_FINFO.cast_signed();
        let entry = pg_sys::lookup_type_cache(type_oid, flags);
        let function = &raw mut (*entry).eq_opr_finfo;
        ((*function).fn_oid != Oid::INVALID).then_some(function)
    }
}

/// Drops a function, without asking for rights. Raises if something depends on it.
pub fn drop_function(function: Oid) {
    let address = pg_sys::ObjectAddress {
        classId: pg_sys::ProcedureRelationId,
        objectId: function,
        objectSubId: 0,
    };
    // SAFETY: the function exists and is locked.
    unsafe { pg_sys::performDeletion(&address, pg_sys::DropBehavior::DROP_RESTRICT, 0) }
}

/// The owner of a table, unless it has just gone.
pub fn table_owner(table: Oid) -> Option<Oid> {
    let owner = |class: &pg_sys::FormData_pg_class| class.relowner;
    // SAFETY: the cache has rows of pg_class.
    unsafe { cached(pg_sys::SysCacheIdentifier::RELOID, table, owner) }
}

/// The owner of a type, unless it has just gone.
pub fn type_owner(type_oid: Oid) -> Option<Oid> {
    let owner = |found: &pg_sys::FormData_pg_type| found.typowner;
    // SAFETY: the cache has rows of pg_type.
    unsafe { cached(pg_sys::SysCacheIdentifier::TYPEOID, type_oid, owner) }
}

/// What the closure takes from a row of a catalog.
///
/// # Safety
/// The cache has rows that begin with that structure, by their OIDs.
unsafe fn cached<T, R>(
    cache: pg_sys::SysCacheIdentifier::Type,
    oid: Oid,
    take: impl FnOnce(&T) -> R,
) -> Option<R> {
    // SAFETY: the tuple is null or one of the cache's, which is read before it is given back.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(cache as i32, oid.into());
        if tuple.is_null() {
            return None;
        }
        let taken = take(&*pg_sys::GETSTRUCT(tuple).cast::<T>());
        pg_sys::ReleaseSysCache(tuple);
        Some(taken)
    }
}

/// The index of that name, if it is one of that table: whoever may create objects in the schema may have
/// given the name to an index of their own.
pub fn index_of(table: Oid, schema: Oid, name: &CStr) -> Option<Oid> {
    // SAFETY: with missing_ok returns an invalid OID for what is no index.
    relation(schema, name)
        .filter(|index| unsafe { pg_sys::IndexGetRelation(*index, true) } == table)
}

/// The path of a table's file, from the data directory on.
pub fn file_of(table: Oid) -> Option<String> {
    // SAFETY: the function takes an OID, and returns a text, or NULL for what has no file.
    unsafe {
        pgrx::direct_function_call::<String>(pg_sys::pg_relation_filepath, &[table.into_datum()])
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
