//! Resources released at the end of the transaction: locks of objects unknown to PostgreSQL, and files
//! to remove; and what a transaction sees of itself.
//!
//! Locks are in PostgreSQL's lock table (`LockDatabaseObject` in lmgr.c) and take part in deadlock
//! detection, `lock_timeout` and `pg_locks`. Standbys, parallel workers and read-only transactions may
//! take the two modes for use.
//!
//! A file is removed at commit or at rollback. A subtransaction's rollback cancels its requests, its
//! release passes them to the parent. Files left by a crashed backend or a prepared transaction are
//! removed when the folder is next swept.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::path::PathBuf;

use pgrx::pg_sys::{self, Oid};

use crate::session;

/// Makes this transaction's writes visible to later reads in it.
pub fn see_own_changes() {
    // SAFETY: a transaction is running, which may write.
    unsafe { pg_sys::CommandCounterIncrement() }
}

/// The mode of a lock.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    /// An expression that uses the object was planned.
    Planned,
    /// The object is used.
    Used,
    /// The object is changed, exclusively.
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

/// A lock on a named object of a table. Names with the same hash share a lock, and only wait longer.
pub struct Lock {
    tag: pg_sys::LOCKTAG,
}

impl Lock {
    /// Creates the lock of a table's named object.
    pub fn new(table: Oid, name: &str) -> Self {
        let length = i32::try_from(name.len()).unwrap_or(i32::MAX);
        // SAFETY: the name has `length` bytes.
        let number = unsafe { pg_sys::hash_bytes(name.as_ptr(), length) };
        Lock { tag: tag(table, number) }
    }

    /// Creates the lock that PostgreSQL takes on a function before dropping it.
    pub fn of_function(function: Oid) -> Self {
        Lock { tag: tag(pg_sys::ProcedureRelationId, function.to_u32()) }
    }

    /// Takes the lock, waiting if necessary. Returns whether it is new to the transaction in this mode;
    /// then all invalidations sent so far have been accepted.
    pub fn take(&self, mode: Mode) -> bool {
        // SAFETY: the tag is an object's; the lock is released with the transaction.
        unsafe {
            let taken = pg_sys::LockAcquire(&self.tag, mode.number(), false, false);
            let is_new = taken == pg_sys::LockAcquireResult::LOCKACQUIRE_OK;
            if is_new {
                pg_sys::AcceptInvalidationMessages();
            }
            is_new
        }
    }

    /// Takes the lock, with all invalidations that were sent until now, unless another session has it.
    /// Returns whether the transaction has it.
    pub fn try_take(&self, mode: Mode) -> bool {
        // SAFETY: as above.
        unsafe {
            let taken = pg_sys::LockAcquire(&self.tag, mode.number(), false, true);
            pg_sys::AcceptInvalidationMessages();
            taken != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
        }
    }
}

fn tag(class: Oid, number: u32) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        locktag_field1: session::database(),
        locktag_field2: class.to_u32(),
        locktag_field3: number,
        locktag_field4: 0,
        locktag_type: pg_sys::LockTagType::LOCKTAG_OBJECT as u8,
        locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    RollBack,
}

struct Pending {
    file: PathBuf,
    end: End,
    subtransaction: pg_sys::SubTransactionId,
}

thread_local! {
    static PENDING: RefCell<Vec<Pending>> = const { RefCell::new(Vec::new()) };
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Removes a file if the transaction commits.
pub fn remove_at_commit(file: PathBuf) {
    remove_at(End::Commit, file);
}

/// Removes a file if the transaction or the current subtransaction rolls back.
pub fn remove_at_rollback(file: PathBuf) {
    remove_at(End::RollBack, file);
}

fn remove_at(end: End, file: PathBuf) {
    // SAFETY: returns a variable; a transaction is running.
    let subtransaction = unsafe { pg_sys::GetCurrentSubTransactionId() };
    PENDING.with_borrow_mut(|pending| pending.push(Pending { file, end, subtransaction }));
    if REGISTERED.replace(true) {
        return;
    }
    // SAFETY: the callbacks belong to this library, which is never unloaded.
    unsafe {
        pg_sys::RegisterXactCallback(Some(transaction_ended), std::ptr::null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), std::ptr::null_mut());
    }
}

/// Removes the files pending for this kind of end.
fn end(pending: Vec<Pending>, end: End) {
    for one in pending.into_iter().filter(|one| one.end == end) {
        // Files that cannot be removed now are removed when the folder is next swept.
        let _ = std::fs::remove_file(one.file);
    }
}

/// # Safety
/// Only called by PostgreSQL.
unsafe extern "C-unwind" fn transaction_ended(
    event: pg_sys::XactEvent::Type,
    _argument: *mut c_void,
) {
    match event {
        pg_sys::XactEvent::XACT_EVENT_COMMIT => end(PENDING.take(), End::Commit),
        pg_sys::XactEvent::XACT_EVENT_ABORT => end(PENDING.take(), End::RollBack),
        pg_sys::XactEvent::XACT_EVENT_PREPARE => drop(PENDING.take()),
        _ => {}
    }
}

/// # Safety
/// Only called by PostgreSQL.
unsafe extern "C-unwind" fn subtransaction_ended(
    event: pg_sys::SubXactEvent::Type,
    own: pg_sys::SubTransactionId,
    parent: pg_sys::SubTransactionId,
    _argument: *mut c_void,
) {
    PENDING.with_borrow_mut(|pending| match event {
        pg_sys::SubXactEvent::SUBXACT_EVENT_COMMIT_SUB => pending
            .iter_mut()
            .filter(|one| one.subtransaction == own)
            .for_each(|one| one.subtransaction = parent),
        pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB => {
            end(pending.extract_if(.., |one| one.subtransaction == own).collect(), End::RollBack);
        }
        _ => {}
    });
}
