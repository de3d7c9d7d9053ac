//! The active snapshot, which of two snapshots is the newer one, and how long an answer holds.
//!
//! A backend keeps what it read from the registry together with the mark of the newest snapshot
//! that was known to give the same answer. A later statement may use it again only if its own
//! snapshot is at least as new: a cursor, or a transaction at REPEATABLE READ, may see less.

use pgrx::pg_sys::{self, Oid};

use crate::{invalidation, unguarded};

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
        Validity { generation: invalidation::generation(), user: unguarded::GetUserId(), mark }
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
