//! Relations, functions, schemas and types by PostgreSQL's caches of its catalogs, and names as PostgreSQL
//! quotes them.
//!
//! An extension finds its functions for users next to the one that was called: in the schema that CREATE
//! EXTENSION was given, not by name on the search path, which belongs to the user.

use std::ffi::{CStr, CString, c_char};

use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::varlena::owned_string;

pub use pg_sys::{ANYOID, FLOAT4OID, JSONBOID, JSONOID, TEXTOID, UNKNOWNOID};

/// The schema of that name.
pub fn schema(name: &CStr) -> Option<Oid> {
    // SAFETY: the name ends in a NUL; with missing_ok returns an invalid OID if there is none.
    let schema = unsafe { pg_sys::get_namespace_oid(name.as_ptr(), true) };
    (schema != Oid::INVALID).then_some(schema)
}

/// A type of a schema.
pub fn type_in(schema: Oid, name: &CStr) -> Option<Oid> {
    // SAFETY: the keys are a name and an OID, as the cache's are; returns an invalid OID if there is none.
    let type_oid = unsafe {
        pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::TYPENAMENSP as i32,
            pg_sys::Anum_pg_type_oid as i16,
            Datum::from(name.as_ptr()),
            Datum::from(schema),
            Datum::from(0),
            Datum::from(0),
        )
    };
    (type_oid != Oid::INVALID).then_some(type_oid)
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
        owned(pg_sys::quote_identifier(name))
    }
}

/// The table or view that a text names; nothing for a text with a NUL. Raises PostgreSQL's own error where
/// there is none.
pub fn relation_named(name: &str) -> Option<Oid> {
    let name = CString::new(name).ok()?;
    // SAFETY: the function takes a C string and returns an OID, and raises where there is no such
    // relation.
    unsafe { pgrx::direct_function_call(pg_sys::regclassin, &[name.as_c_str().into_datum()]) }
}

/// A table or view as SQL would write it: qualified, and quoted where needed; nothing if it has just gone.
pub fn quoted_relation(relation: Oid) -> Option<String> {
    // SAFETY: the names are allocated in the current context, or null if it has just gone.
    unsafe {
        let table = pg_sys::get_rel_name(relation);
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        let exists = !table.is_null() && !schema.is_null();
        exists.then(|| owned(pg_sys::quote_qualified_identifier(schema, table)))
    }
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
    // SAFETY: guaranteed by the caller.
    unsafe {
        let constraints = (*description).constr;
        constraints.is_null() || !(*constraints).has_generated_virtual
    }
}

/// # Safety
/// The description is valid.
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
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The schema of a function.
pub fn schema_of(function: Oid) -> Oid {
    // SAFETY: returns an invalid OID for what is no function.
    unsafe { pg_sys::get_func_namespace(function) }
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

/// A text as a literal of SQL.
pub fn quoted_literal(text: &str) -> String {
    pgrx::spi::quote_literal(text)
}

/// The function of a schema with that name and arguments of those types.
pub fn function(schema: Oid, name: &str, arguments: &[Oid]) -> Option<Oid> {
    let name = CString::new(name).ok()?;
    // SAFETY: the keys are a name, a vector of OIDs and an OID, as the cache's are; the tuple is null or one
    // of pg_proc, which is read before it is given back.
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
/// given the name to another index.
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

/// Whether a database has that OID.
pub fn database_exists(database: u32) -> bool {
    // SAFETY: returns a palloc'd name, or null if there is no such database.
    unsafe { !pg_sys::get_database_name(Oid::from(database)).is_null() }
}

/// The type below a domain, or the type itself; where PostgreSQL does not know the type, neither.
pub fn base_type(type_oid: Oid) -> Oid {
    if type_oid == Oid::INVALID {
        return type_oid;
    }
    // SAFETY: raises for an OID that is no type, which a statement cannot have.
    unsafe { pg_sys::getBaseType(type_oid) }
}

/// The type of an array's elements, if it is an array type.
pub fn element_type(type_oid: Oid) -> Option<Oid> {
    // SAFETY: returns an invalid OID for what is no array.
    let element = unsafe { pg_sys::get_element_type(type_oid) };
    (element != Oid::INVALID).then_some(element)
}

/// Whether values of the type are rows.
pub fn is_row_type(type_oid: Oid) -> bool {
    // SAFETY: takes any OID.
    unsafe { pg_sys::type_is_rowtype(type_oid) }
}

/// Whether the type is an enum.
pub fn is_enum(type_oid: Oid) -> bool {
    // SAFETY: takes any OID.
    unsafe { pg_sys::type_is_enum(type_oid) }
}

/// The type's name as a user would write it.
pub fn type_name(type_oid: Oid) -> String {
    // SAFETY: returns a palloc'd name for any OID, "???" if there is no such type.
    unsafe { owned_string(pg_sys::format_type_be(type_oid)) }
}

/// The function that writes a value of the type as text.
pub fn output_function(type_oid: Oid) -> Oid {
    let (mut function, mut varlena) = (Oid::INVALID, false);
    // SAFETY: both places are valid; raises for an OID that is no type.
    unsafe { pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut varlena) };
    function
}
