//! Look-ups of relations, functions, schemas and types in PostgreSQL's catalog caches, and quoting of
//! names.
//!
//! An extension finds its functions in the schema of the called one, which CREATE EXTENSION chose, and
//! not on the search path, which the user controls.

use std::ffi::{CStr, CString, c_char};

use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Datum, Oid};

use crate::varlena::owned_string;

pub use pg_sys::{ANYOID, FLOAT4OID, JSONBOID, JSONOID, TEXTOID, TIMESTAMPTZOID, UNKNOWNOID};

/// Returns the schema of a name.
pub fn schema(name: &CStr) -> Option<Oid> {
    // SAFETY: the name is zero-terminated; with missing_ok, returns an invalid OID if there is none.
    let schema = unsafe { pg_sys::get_namespace_oid(name.as_ptr(), true) };
    (schema != Oid::INVALID).then_some(schema)
}

/// Returns a type of a schema.
pub fn type_in(schema: Oid, name: &CStr) -> Option<Oid> {
    // SAFETY: the keys have the cache's types; returns an invalid OID if there is none.
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

/// Returns a table or an index of a schema.
pub fn relation(schema: Oid, name: &CStr) -> Option<Oid> {
    // SAFETY: the name is zero-terminated; returns an invalid OID if there is none.
    let relation = unsafe { pg_sys::get_relname_relid(name.as_ptr(), schema) };
    (relation != Oid::INVALID).then_some(relation)
}

/// Returns a schema's name, quoted where SQL needs it.
pub fn quoted_schema(schema: Oid) -> String {
    // SAFETY: the name is allocated in the current context, or null if the schema has just been
    // dropped; quote_identifier returns its argument or a new string.
    unsafe {
        let name = pg_sys::get_namespace_name(schema);
        if name.is_null() {
            return String::from("pg_temp");
        }
        owned(pg_sys::quote_identifier(name))
    }
}

/// Returns the table or view of a name; `None` for a name with NUL. Raises PostgreSQL's error if there
/// is none.
pub fn relation_named(name: &str) -> Option<Oid> {
    let name = CString::new(name).ok()?;
    // SAFETY: takes a C string and returns an OID, or raises.
    unsafe { pgrx::direct_function_call(pg_sys::regclassin, &[name.as_c_str().into_datum()]) }
}

/// Returns a relation's name, qualified and quoted; `None` if it has just been dropped.
pub fn quoted_relation(relation: Oid) -> Option<String> {
    // SAFETY: the names are allocated in the current context, or null if the relation is gone.
    unsafe {
        let table = pg_sys::get_rel_name(relation);
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        let exists = !table.is_null() && !schema.is_null();
        exists.then(|| owned(pg_sys::quote_qualified_identifier(schema, table)))
    }
}

/// Raises an error unless the current user may execute a function, as `ExecInitFunc` (execExpr.c) does.
pub fn require_execute(function: Oid) {
    // SAFETY: the function exists, since a plan that calls it depends on it; the hook takes its OID.
    unsafe {
        #[cfg(feature = "pg15")]
        let allowed =
            pg_sys::pg_proc_aclcheck(function, pg_sys::GetUserId(), pg_sys::ACL_EXECUTE as _);
        #[cfg(not(feature = "pg15"))]
        let allowed = pg_sys::object_aclcheck(
            pg_sys::ProcedureRelationId,
            function,
            pg_sys::GetUserId(),
            pg_sys::ACL_EXECUTE as _,
        );
        if allowed != pg_sys::AclResult::ACLCHECK_OK {
            let name = pg_sys::get_func_name(function);
            pg_sys::aclcheck_error(allowed, pg_sys::ObjectType::OBJECT_FUNCTION, name);
        }
        let hook = pg_sys::object_access_hook;
        if hook.is_some() {
            pg_sys::RunFunctionExecuteHook(function);
        }
    }
}

/// Returns whether a relation is a table with only stored columns, all readable by the current user.
pub fn may_read_rows(relation: Oid) -> bool {
    // SAFETY: the entry is null if the relation is gone, and is closed again.
    unsafe {
        let entry = pg_sys::RelationIdGetRelation(relation);
        if entry.is_null() {
            return false;
        }
        // C's char is signed on x86, unsigned on ARM.
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
/// `description` is valid.
#[cfg(any(feature = "pg18", feature = "pg19"))]
unsafe fn all_are_stored(description: pg_sys::TupleDesc) -> bool {
    // SAFETY: the description is valid.
    unsafe {
        let constraints = (*description).constr;
        constraints.is_null() || !(*constraints).has_generated_virtual
    }
}

/// # Safety
/// `description` is valid.
#[cfg(not(any(feature = "pg18", feature = "pg19")))]
unsafe fn all_are_stored(_description: pg_sys::TupleDesc) -> bool {
    true
}

/// Returns a name, quoted where SQL needs it.
pub fn quoted(name: &str) -> String {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: the name is zero-terminated; the result is the name or a new string.
    unsafe { owned(pg_sys::quote_identifier(name.as_ptr())) }
}

/// # Safety
/// `text` is a C string.
unsafe fn owned(text: *const c_char) -> String {
    // SAFETY: the text is a C string.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Returns a function's schema.
pub fn schema_of(function: Oid) -> Oid {
    // SAFETY: returns an invalid OID for an unknown function.
    unsafe { pg_sys::get_func_namespace(function) }
}

/// Returns a type's equality function, which the type cache keeps for the backend's life.
pub fn equality(type_oid: Oid) -> Option<*mut pg_sys::FmgrInfo> {
    // SAFETY: the type exists; the entry is never freed.
    unsafe {
        let flags = pg_sys::TYPECACHE_EQ_OPR_FINFO.cast_signed();
        let entry = pg_sys::lookup_type_cache(type_oid, flags);
        let function = &raw mut (*entry).eq_opr_finfo;
        ((*function).fn_oid != Oid::INVALID).then_some(function)
    }
}

/// Returns a text as an SQL literal.
pub fn quoted_literal(text: &str) -> String {
    pgrx::spi::quote_literal(text)
}

/// Returns the function of a schema, name and argument types.
pub fn function(schema: Oid, name: &str, arguments: &[Oid]) -> Option<Oid> {
    let name = CString::new(name).ok()?;
    // SAFETY: the keys have the cache's types; the tuple is null or one of pg_proc, and read before its
    // release.
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

/// Drops a function without checking privileges. Raises if anything depends on it.
pub fn drop_function(function: Oid) {
    let address = pg_sys::ObjectAddress {
        classId: pg_sys::ProcedureRelationId,
        objectId: function,
        objectSubId: 0,
    };
    // SAFETY: the function exists and is locked.
    unsafe { pg_sys::performDeletion(&address, pg_sys::DropBehavior::DROP_RESTRICT, 0) }
}

/// Returns a table's owner, unless it has just been dropped.
pub fn table_owner(table: Oid) -> Option<Oid> {
    let owner = |class: &pg_sys::FormData_pg_class| class.relowner;
    // SAFETY: the cache has rows of pg_class.
    unsafe { cached(pg_sys::SysCacheIdentifier::RELOID, table, owner) }
}

/// Returns what `read` extracts from a row of a catalog.
///
/// # Safety
/// The cache has rows that begin with `T`, by OID.
unsafe fn cached<T, R>(
    cache: pg_sys::SysCacheIdentifier::Type,
    oid: Oid,
    take: impl FnOnce(&T) -> R,
) -> Option<R> {
    // SAFETY: the tuple is null or one of the cache's, and read before its release.
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

/// Returns the index of a name, if it is one of the table: anyone who may create objects in the schema
/// could have given the name to another index.
pub fn index_of(table: Oid, schema: Oid, name: &CStr) -> Option<Oid> {
    // SAFETY: with missing_ok, returns an invalid OID if it is not an index.
    relation(schema, name)
        .filter(|index| unsafe { pg_sys::IndexGetRelation(*index, true) } == table)
}

/// Returns the path of a table's file below the data directory.
pub fn file_of(table: Oid) -> Option<String> {
    // SAFETY: takes an OID, and returns a text or NULL.
    unsafe {
        pgrx::direct_function_call::<String>(pg_sys::pg_relation_filepath, &[table.into_datum()])
    }
}

/// Returns whether a database exists.
pub fn database_exists(database: u32) -> bool {
    // SAFETY: returns a palloc'd name, or null for an unknown database.
    unsafe { !pg_sys::get_database_name(Oid::from(database)).is_null() }
}

/// Returns a domain's base type, or the type itself; an invalid OID stays invalid.
pub fn base_type(type_oid: Oid) -> Oid {
    if type_oid == Oid::INVALID {
        return type_oid;
    }
    // SAFETY: raises for an unknown type, which a statement cannot have.
    unsafe { pg_sys::getBaseType(type_oid) }
}

/// Returns the element type of an array type.
pub fn element_type(type_oid: Oid) -> Option<Oid> {
    // SAFETY: returns an invalid OID for other types.
    let element = unsafe { pg_sys::get_element_type(type_oid) };
    (element != Oid::INVALID).then_some(element)
}

/// Returns whether a type is composite.
pub fn is_row_type(type_oid: Oid) -> bool {
    // SAFETY: accepts any OID.
    unsafe { pg_sys::type_is_rowtype(type_oid) }
}

/// Returns whether a type is an enum.
pub fn is_enum(type_oid: Oid) -> bool {
    // SAFETY: accepts any OID.
    unsafe { pg_sys::type_is_enum(type_oid) }
}

/// Returns a type's name for messages.
pub fn type_name(type_oid: Oid) -> String {
    // SAFETY: returns a palloc'd name for any OID, "???" if it is unknown.
    unsafe { owned_string(pg_sys::format_type_be(type_oid)) }
}

/// Returns a type's output function.
pub fn output_function(type_oid: Oid) -> Oid {
    let (mut function, mut varlena) = (Oid::INVALID, false);
    // SAFETY: both pointers are valid; raises for an unknown type.
    unsafe { pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut varlena) };
    function
}
