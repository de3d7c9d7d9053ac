//! Locks of things that PostgreSQL does not know, in its own table of locks (lmgr.c, `LockDatabaseObject`).
//!
//! A lock is kept until the transaction ends, and counts in deadlocks, `lock_timeout` and `pg_locks`. The two
//! modes for use are among those that a standby, a parallel worker and a transaction that only reads may take.

use pgrx::pg_sys::{self, Oid};

use super::catalog;

#[derive(Clone, Copy, Debug)]
pub enum Mode {
    /// An expression that uses it was planned.
    Planned,
    /// It is used.
    Used,
    /// It is changed: nobody else uses it.
    Changed,
}

impl Mode {
    fn number(self) -> i32 {
        (match self {
            Mode::Planned => pg_sys::AccessShareLock,
            Mode::Used => pg_sys::RowShareLock,
            Mode::Changed => pg_sys::AccessExclusiveLock,
        }) as i32
    }
}

/// A thing of a table, by its name; that two names may have the same number makes sessions wait, and no more.
pub struct Lock {
    tag: pg_sys::LOCKTAG,
}

impl Lock {
    pub fn new(table: Oid, name: &str) -> Self {
        let length = i32::try_from(name.len()).unwrap_or(i32::MAX);
        // SAFETY: the name has so many bytes.
        let number = unsafe { pg_sys::hash_bytes(name.as_ptr(), length) };
        Lock { tag: tag(table, number) }
    }

    /// The lock that PostgreSQL takes of a function that it drops.
    pub fn of_function(function: Oid) -> Self {
        Lock { tag: tag(pg_sys::ProcedureRelationId, function.to_u32()) }
    }

    /// Takes the lock, waiting for it. Returns whether the transaction did not have it in this mode before;
    /// then the backend has also heard of all that was committed until now.
    pub fn take(&self, mode: Mode) -> bool {
        // SAFETY: the tag is one of an object; the lock goes with the transaction.
        unsafe {
            let taken = pg_sys::LockAcquire(&self.tag, mode.number(), false, false);
            let is_new = taken == pg_sys::LockAcquireResult::LOCKACQUIRE_OK;
            if is_new {
                pg_sys::AcceptInvalidationMessages();
            }
            is_new
        }
    }
}

fn tag(class: Oid, number: u32) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        locktag_field1: catalog::database(),
        locktag_field2: class.to_u32(),
        locktag_field3: number,
        locktag_field4: 0,
        locktag_type: pg_sys::LockTagType::LOCKTAG_OBJECT as u8,
        locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
    }
}
