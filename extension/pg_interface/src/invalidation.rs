//! Validity of cached catalog data: until a committed change, and for snapshots that are new enough.
//!
//! PostgreSQL sends relcache messages to all backends at commit, and through the WAL to standbys: for
//! tables watched by an extension's triggers, for roles and memberships, for the database's owner, who
//! is a member of pg_database_owner, for grants on a type, and for the columns of row types. Callbacks
//! run in the middle of other work and must not look anything up, so they only increment a generation;
//! data cached under another one is read again before use.
//!
//! Data from the registry is cached with the mark of the newest snapshot known to give the same result.
//! A later statement may use it only if its snapshot is at least as new: a cursor, or a transaction at
//! REPEATABLE READ, may see less.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use pgrx::pg_sys::{self, Datum, Oid};

use crate::unguarded;

static GENERATION: AtomicU64 = AtomicU64::new(1);
static RELATIONS: AtomicU64 = AtomicU64::new(1);
static REGISTERED: AtomicBool = AtomicBool::new(false);
/// Watched tables; 0 for none.
static TABLES: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
/// Hash of the watched type.
static TYPE: AtomicU32 = AtomicU32::new(0);

const TYPES: i32 = pg_sys::SysCacheIdentifier::TYPEOID as i32;

/// Returns the generation, which grows with each accepted invalidation of watched data.
#[inline]
pub fn generation() -> u64 {
    GENERATION.load(Relaxed)
}

/// Returns the generation of all relations, including row types.
#[inline]
pub fn relations() -> u64 {
    RELATIONS.load(Relaxed)
}

/// Accepts the invalidation messages that have arrived.
pub fn accept() {
    // SAFETY: called within a transaction, as callbacks require.
    unsafe { pg_sys::AcceptInvalidationMessages() }
}

/// Watches tables, and the grants on a type, from now on.
pub fn watch(tables: impl IntoIterator<Item = Oid>, type_oid: Oid) {
    for (slot, table) in TABLES.iter().zip(tables) {
        slot.store(table.to_u32(), Relaxed);
    }
    // SAFETY: takes any OID.
    let hash = unsafe {
        let zero = Datum::from(0);
        pg_sys::GetSysCacheHashValue(TYPES, Datum::from(type_oid), zero, zero, zero)
    };
    TYPE.store(hash, Relaxed);
    if REGISTERED.swap(true, Relaxed) {
        return;
    }
    // SAFETY: the callbacks belong to this library, which is never unloaded.
    unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), Datum::from(0));
        for cache in [
            pg_sys::SysCacheIdentifier::AUTHMEMROLEMEM,
            pg_sys::SysCacheIdentifier::AUTHOID,
            pg_sys::SysCacheIdentifier::DATABASEOID,
        ] {
            pg_sys::CacheRegisterSyscacheCallback(cache as _, Some(roles_changed), Datum::from(0));
        }
        pg_sys::CacheRegisterSyscacheCallback(TYPES, Some(type_changed), Datum::from(0));
    }
}

/// Invalidates a table in all backends when the transaction commits.
pub fn announce(table: Oid) {
    // SAFETY: raises for an unknown relation.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(table) }
}

/// # Safety
/// Only called by PostgreSQL.
unsafe extern "C-unwind" fn relation_changed(_argument: Datum, relation: Oid) {
    RELATIONS.fetch_add(1, Relaxed);
    let relation = relation.to_u32();
    if relation == 0 || TABLES.iter().any(|table| table.load(Relaxed) == relation) {
        GENERATION.fetch_add(1, Relaxed);
    }
}

/// # Safety
/// Only called by PostgreSQL.
unsafe extern "C-unwind" fn roles_changed(_argument: Datum, _cache: i32, _hash: u32) {
    GENERATION.fetch_add(1, Relaxed);
}

/// # Safety
/// Only called by PostgreSQL; 0 is the hash of all types.
unsafe extern "C-unwind" fn type_changed(_argument: Datum, _cache: i32, hash: u32) {
    if hash == 0 || hash == TYPE.load(Relaxed) {
        GENERATION.fetch_add(1, Relaxed);
    }
}

/// A snapshot's position in commit order.
///
/// `xmax` never decreases. While it is unchanged, transactions below it can end but not begin, so of
/// two snapshots with the same `xmax` the one with fewer running transactions is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotMark {
    xmax: u32,
    running: u32,
    command: u32,
}

impl SnapshotMark {
    /// Returns the mark of the active snapshot, if any.
    #[inline]
    pub fn active() -> Option<Self> {
        if !unguarded::ActiveSnapshotSet() {
            return None;
        }
        // SAFETY: there is an active snapshot, which stays valid while it is active.
        Some(unsafe { Self::of(unguarded::GetActiveSnapshot()) })
    }

    /// Returns the mark of a new catalog snapshot.
    pub fn latest(relation: Oid) -> Self {
        // SAFETY: the snapshot is valid until the next one is taken.
        unsafe { Self::of(latest(relation)) }
    }

    /// # Safety
    /// `snapshot` is valid.
    #[inline]
    pub unsafe fn of(snapshot: pg_sys::Snapshot) -> Self {
        // SAFETY: the caller passes a valid snapshot.
        let data = unsafe { &*snapshot };
        // On a standby, `subxip` has all running transactions of any level.
        let running =
            if data.takenDuringRecovery { data.subxcnt.cast_unsigned() } else { data.xcnt };
        SnapshotMark { xmax: data.xmax.into_inner(), running, command: data.curcid }
    }

    /// Returns whether this snapshot sees everything that `other` sees.
    #[inline]
    pub fn sees_all_of(self, other: SnapshotMark) -> bool {
        // Transaction ids wrap around; live ones are less than 2^31 apart.
        let ahead = self.xmax.wrapping_sub(other.xmax).cast_signed();
        let newer = ahead > 0 || (ahead == 0 && self.running <= other.running);
        newer && self.command >= other.command
    }
}

/// The conditions of a cached result: generation, user, and the mark of a snapshot that gives it.
/// Within a statement it holds while [`Validity::now`] is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The generation of invalidations.
    pub generation: u64,
    /// The user.
    pub user: Oid,
    mark: SnapshotMark,
}

impl Validity {
    /// Returns the validity of a result found from now on, under a snapshot of this mark.
    #[inline]
    pub fn now(mark: SnapshotMark) -> Self {
        Validity { generation: generation(), user: unguarded::GetUserId(), mark }
    }

    /// Returns the validity under another snapshot that gives the same result.
    #[inline]
    pub fn under(self, mark: SnapshotMark) -> Self {
        Validity { mark, ..self }
    }

    /// Returns whether the result holds for a statement with this snapshot, possibly a newer one.
    #[inline]
    pub fn holds_for(self, snapshot: SnapshotMark) -> bool {
        self.under(snapshot) == Validity::now(snapshot) && snapshot.sees_all_of(self.mark)
    }
}

/// The row version that a read sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSnapshot {
    /// The statement's snapshot; `Latest` if there is none.
    Active,
    /// All that is committed by now, as for PostgreSQL's own catalogs.
    Latest,
}

/// Takes a catalog snapshot for reading a relation, valid until the next one is taken.
pub fn latest(relation: Oid) -> pg_sys::Snapshot {
    // SAFETY: accepts any relation.
    unsafe {
        pg_sys::InvalidateCatalogSnapshot();
        pg_sys::GetCatalogSnapshot(relation)
    }
}
