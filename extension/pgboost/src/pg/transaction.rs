//! Files that are removed when the transaction ends, if it ends in one way.
//!
//! A subtransaction that rolls back ends what was asked for in it; one that is released hands it on to the one
//! around it. What a backend that dies leaves is removed when the folder is next swept, and so is what a
//! prepared transaction leaves.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;

use pgrx::pg_sys;

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

/// Removes a file if the transaction, or the subtransaction that is running, rolls back.
pub fn remove_at_rollback(file: PathBuf) {
    remove_at(End::RollBack, file);
}

fn remove_at(end: End, file: PathBuf) {
    // SAFETY: a plain question; a transaction is running.
    let subtransaction = unsafe { pg_sys::GetCurrentSubTransactionId() };
    PENDING.with_borrow_mut(|pending| pending.push(Pending { file, end, subtransaction }));
    if REGISTERED.replace(true) {
        return;
    }
    // SAFETY: the callbacks are functions of this library, which is never unloaded.
    unsafe {
        pg_sys::RegisterXactCallback(Some(transaction_ended), std::ptr::null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), std::ptr::null_mut());
    }
}

/// Removes the files of those that are asked for at that end.
fn end(pending: Vec<Pending>, end: End) {
    for one in pending.into_iter().filter(|one| one.end == end) {
        // What cannot be removed now is removed when the folder is next swept.
        let _ = std::fs::remove_file(one.file);
    }
}

unsafe extern "C-unwind" fn transaction_ended(
    event: pg_sys::XactEvent::Type,
    _argument: *mut std::ffi::c_void,
) {
    match event {
        pg_sys::XactEvent::XACT_EVENT_COMMIT => end(PENDING.take(), End::Commit),
        pg_sys::XactEvent::XACT_EVENT_ABORT => end(PENDING.take(), End::RollBack),
        pg_sys::XactEvent::XACT_EVENT_PREPARE => drop(PENDING.take()),
        _ => {}
    }
}

unsafe extern "C-unwind" fn subtransaction_ended(
    event: pg_sys::SubXactEvent::Type,
    own: pg_sys::SubTransactionId,
    parent: pg_sys::SubTransactionId,
    _argument: *mut std::ffi::c_void,
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
