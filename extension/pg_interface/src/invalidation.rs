//! How long what was read stays true: until a committed change of it, and for snapshots that are new enough.
//!
//! PostgreSQL sends relcache messages to all backends at commit, and with the log to standbys: for tables
//! that an extension watches, by its triggers, for roles and memberships in them, for the owner of the
//! database, who is a member of pg_database_owner, for grants on a type, and for the columns of any row type. The callbacks run in
//! the middle of other work and may look up nothing, so they only increment a generation: what was cached
//! under another one is read again before its next use.
//!
//! A backend keeps what it read from the registry together with the mark of the newest snapshot
//! that was known to give the same answer. A later statement may use it again only if its own
//! snapshot is at least as new: a cursor, or a transaction at REPEATABLE READ, may see less.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use pgrx::pg_sys::{self, Datum, Oid};

use crate::unguarded;

static GENERATION: AtomicU64 = AtomicU64::new(1);
static RELATIONS: AtomicU64 = AtomicU64::new(1);
static REGISTERED: AtomicBool = AtomicBool::new(false);
/// The tables that are watched; 0 is none.
static TABLES: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
/// The hash of the type that is watched.
static TYPE: AtomicU32 = AtomicU32::new(0);

const TYPES: i32 = pg_sys::SysCacheIdentifier::TYPEOID as i32;

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

/// Watches these tables, and the grants on this type, from now on.
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
        pg_sys::CacheRegisterSyscacheCallback(TYPES, Some(type_changed), Datum::from(0));
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

/// # Safety
/// PostgreSQL calls it; 0 is the hash of all types.
unsafe extern "C-unwind" fn type_changed(_argument: Datum, _cache: i32, hash: u32) {
    if hash == 0 || hash == TYPE.load(Relaxed) {
        GENERATION.fetch_add(1, Relaxed);
    }
}

/// What a snapshot can see, as far as it takes to order two snapshots of one backend.
///
/// `xmax` only grows. While it stays the same, transactions below it can end but not begin, so of
/// two snapshots with the same `xmax` the one with fewer running transactions is the newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotMark {
    xmax: u32,
    running: u32,
    command: u32,
}

impl SnapshotMark {
    /// The mark of the active snapshot, if there is one.
    #[inline]
    pub fn active() -> Option<Self> {
        if !unguarded::ActiveSnapshotSet() {
            return None;
        }
        // SAFETY: there is an active snapshot, and PostgreSQL keeps it valid while it is active.
        Some(unsafe { Self::of(unguarded::GetActiveSnapshot()) })
    }

    /// The mark of a snapshot taken now, as PostgreSQL reads its own catalogs.
    pub fn latest(relation: Oid) -> Self {
        // SAFETY: the snapshot is valid until the next one is taken.
        unsafe { Self::of(latest(relation)) }
    }

    /// # Safety
    /// The snapshot is valid.
    #[inline]
    pub unsafe fn of(snapshot: pg_sys::Snapshot) -> Self {
        // SAFETY: the caller says that the snapshot is valid.
        let data = unsafe { &*snapshot };
        // On a standby all running transactions, whatever their level, are in `subxip`.
        let running =
            if data.takenDuringRecovery { data.subxcnt.cast_unsigned() } else { data.xcnt };
        SnapshotMark { xmax: data.xmax.into_inner(), running, command: data.curcid }
    }

    /// Whether this snapshot sees all that the other one sees.
    #[inline]
    pub fn sees_all_of(self, other: SnapshotMark) -> bool {
        // Transaction ids wrap around; two that are alive are less than 2^31 apart.
        let ahead = self.xmax.wrapping_sub(other.xmax).cast_signed();
        let newer = ahead > 0 || (ahead == 0 && self.running <= other.running);
        newer && self.command >= other.command
    }
}

/// What an answer about a model depends on: the generation of invalidations, the user, and the mark of a
/// snapshot that is known to give it. It holds within a statement while [`Validity::now`] is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The generation of invalidations.
    pub generation: u64,
    /// The user.
    pub user: Oid,
    mark: SnapshotMark,
}

impl Validity {
    /// That of an answer which is found from now on, under a snapshot of this mark.
    #[inline]
    pub fn now(mark: SnapshotMark) -> Self {
        Validity { generation: generation(), user: unguarded::GetUserId(), mark }
    }

    /// The same under another snapshot, which is known to give the same answer.
    #[inline]
    pub fn under(self, mark: SnapshotMark) -> Self {
        Validity { mark, ..self }
    }

    /// Whether the answer holds for a statement with this snapshot, which may be a newer one.
    #[inline]
    pub fn holds_for(self, snapshot: SnapshotMark) -> bool {
        self.under(snapshot) == Validity::now(snapshot) && snapshot.sees_all_of(self.mark)
    }
}

/// Which version of a row a read is to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSnapshot {
    /// What the statement sees; without an active snapshot the same as `Latest`.
    Active,
    /// What has been committed by now, as PostgreSQL reads its own catalogs.
    Latest,
}

/// A snapshot taken now to read that relation, as PostgreSQL reads its own catalogs. It is valid until
/// the next one is taken.
pub fn latest(relation: Oid) -> pg_sys::Snapshot {
    // SAFETY: takes any relation.
    unsafe {
        pg_sys::InvalidateCatalogSnapshot();
        pg_sys::GetCatalogSnapshot(relation)
    }
}
