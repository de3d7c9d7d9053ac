//! Grants on a type, by which PostgreSQL knows that a role is in use.
//!
//! They are made in C, as the type's owner, so that no event trigger runs with that owner's privileges. A grant
//! changes the type's row in pg_type. PostgreSQL fails with an internal error ("tuple concurrently updated") where
//! another transaction has just done so, unless the row is locked first.

use std::ffi::CString;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::{catalog, session};

/// Returns whether the type's grants name the role itself, not PUBLIC or a role that it is a member of.
pub fn is_grantee(type_oid: Oid, role: Oid) -> bool {
    let cache = pg_sys::SysCacheIdentifier::TYPEOID as i32;
    let column = pg_sys::Anum_pg_type_typacl as i16;
    // SAFETY: the tuple is null or one of pg_type, and given back after the list was read; a list that is
    // there is an array without NULLs of that many items. A copy of it stays until its context is reset.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(cache, type_oid.into());
        if tuple.is_null() {
            return false;
        }
        let mut null = true;
        let list = pg_sys::SysCacheGetAttr(cache, tuple, column, &raw mut null);
        let found = !null && {
            let list: *mut pg_sys::ArrayType = pg_sys::pg_detoast_datum(list.cast_mut_ptr()).cast();
            let dimensions = list.add(1).cast::<i32>();
            let count = pg_sys::ArrayGetNItems((*list).ndim, dimensions);
            let offset = array_header((*list).ndim);
            let first = list.byte_add(offset).cast::<pg_sys::AclItem>();
            let items = std::slice::from_raw_parts(first, usize::try_from(count).unwrap_or(0));
            items.iter().any(|item| item.ai_grantee == role)
        };
        pg_sys::ReleaseSysCache(tuple);
        found
    }
}

/// Bytes before the elements of an array without NULLs.
fn array_header(dimensions: i32) -> usize {
    let dimensions = usize::try_from(dimensions).unwrap_or(0);
    (size_of::<pg_sys::ArrayType>() + 2 * dimensions * size_of::<i32>()).next_multiple_of(8)
}

/// Locks the type's row until the transaction ends. Returns whether it did: unless told to wait, it does not wait
/// for another transaction that has changed the row. The type may differ from what was read before.
pub fn lock(type_oid: Oid, wait: bool) -> bool {
    let policy = if wait {
        pg_sys::LockWaitPolicy::LockWaitBlock
    } else {
        pg_sys::LockWaitPolicy::LockWaitSkip
    };
    // SAFETY: what is opened is closed below, or by the abort of the transaction; the tuple is a copy that stays
    // until its context is reset, and the buffer is pinned by the call that fills it.
    unsafe {
        let catalog =
            pg_sys::table_open(pg_sys::TypeRelationId, pg_sys::RowExclusiveLock.cast_signed());
        let result = loop {
            pg_sys::AcceptInvalidationMessages();
            let zero = Datum::from(0);
            let cache = pg_sys::SysCacheIdentifier::TYPEOID as i32;
            let tuple = pg_sys::SearchSysCacheCopy(cache, type_oid.into(), zero, zero, zero);
            if tuple.is_null() {
                break pg_sys::TM_Result::TM_Deleted;
            }
            let mut buffer = 0;
            let mut failure = pg_sys::TM_FailureData::default();
            let result = pg_sys::heap_lock_tuple(
                catalog,
                tuple,
                pg_sys::GetCurrentCommandId(true),
                pg_sys::LockTupleMode::LockTupleNoKeyExclusive,
                policy,
                false,
                &raw mut buffer,
                &raw mut failure,
            );
            pg_sys::ReleaseBuffer(buffer);
            // Another transaction has changed it meanwhile: the next version of the row is to be locked.
            if result != pg_sys::TM_Result::TM_Updated {
                break result;
            }
        };
        pg_sys::table_close(catalog, pg_sys::NoLock.cast_signed());
        result == pg_sys::TM_Result::TM_Ok
    }
}

/// Grants the role USAGE on a type.
pub fn grant(owner: Oid, type_name: &str, role: Oid) {
    run(owner, role, |role| format!("GRANT USAGE ON TYPE {type_name} TO {role}"));
}

/// Revokes it.
pub fn revoke(owner: Oid, type_name: &str, role: Oid) {
    run(owner, role, |role| format!("REVOKE USAGE ON TYPE {type_name} FROM {role}"));
}

fn run(owner: Oid, role: Oid, statement: impl FnOnce(String) -> String) {
    let statement = statement(catalog::quoted(&session::role_name(role)));
    let Ok(statement) = CString::new(statement) else { return };
    session::as_user(owner, || {
        // SAFETY: the text is one GRANT or REVOKE, which the parser makes such a statement of. What a script of
        // an extension grants would be a privilege that pg_dump leaves out, which this one is not.
        unsafe {
            let parsed =
                pg_sys::raw_parser(statement.as_ptr(), pg_sys::RawParseMode::RAW_PARSE_DEFAULT);
            let statement: *mut pg_sys::RawStmt = (*(*parsed).elements).ptr_value.cast();
            let in_script = pg_sys::creating_extension;
            pg_sys::creating_extension = false;
            pg_sys::ExecuteGrantStmt((*statement).stmt.cast());
            pg_sys::creating_extension = in_script;
        }
    });
}
