//! Invalidations by committed changes: of tables that an extension watches, of roles and memberships in them, of
//! the owner of the database, who is a member of pg_database_owner, and of the columns of any row type.
//!
//! PostgreSQL sends relcache messages to all backends at commit, and with the log to standbys. An
//! extension's triggers can cause such a message for any change of its tables, whoever made it. The
//! callbacks run in the middle of other work and may look up nothing, so they only increment a generation: what was
//! cached under another one is read again before its next use.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use pgrx::pg_sys::{self, Datum, Oid};

static GENERATION: AtomicU64 = AtomicU64::new(1);
static RELATIONS: AtomicU64 = AtomicU64::new(1);
static REGISTERED: AtomicBool = AtomicBool::new(false);
/// The tables that are watched; 0 is none.
static TABLES: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

/// The generation: it grows with each invalidation of what is watched that this backend accepts.
#[inline]
pub fn generation() -> u64 {
    GENERATION.load(Relaxed)
}

/// The same for any relation; row types are relations too.
#[inline]
pub fn relations() -> u64 {
    RELATIONS.load(Relaxed)
}

/// Accepts the messages of other backends that have arrived by now.
pub fn accept() {
    // SAFETY: called within a transaction, as its callbacks require.
    unsafe { pg_sys::AcceptInvalidationMessages() }
}

/// Watches these tables from now on.
pub fn watch(tables: impl IntoIterator<Item = Oid>) {
    for (slot, table) in TABLES.iter().zip(tables) {
        slot.store(table.to_u32(), Relaxed);
    }
    if REGISTERED.swap(true, Relaxed) {
        return;
    }
    // SAFETY: the callbacks are functions of this library, which is never unloaded.
    unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), Datum::from(0));
        for cache in [
            pg_sys::SysCacheIdentifier::AUTHMEMROLEMEM,
            pg_sys::SysCacheIdentifier::AUTHOID,
            pg_sys::SysCacheIdentifier::DATABASEOID,
        ] {
            pg_sys::CacheRegisterSyscacheCallback(cache as _, Some(roles_changed), Datum::from(0));
        }
    }
}

/// Invalidates a table in every backend once the transaction commits.
pub fn announce(table: Oid) {
    // SAFETY: raises if there is no such relation.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(table) }
}

/// # Safety
/// PostgreSQL calls it.
unsafe extern "C-unwind" fn relation_changed(_argument: Datum, relation: Oid) {
    RELATIONS.fetch_add(1, Relaxed);
    let relation = relation.to_u32();
    if relation == 0 || TABLES.iter().any(|table| table.load(Relaxed) == relation) {
        GENERATION.fetch_add(1, Relaxed);
    }
}

/// # Safety
/// PostgreSQL calls it.
unsafe extern "C-unwind" fn roles_changed(_argument: Datum, _cache: i32, _hash: u32) {
    GENERATION.fetch_add(1, Relaxed);
}
