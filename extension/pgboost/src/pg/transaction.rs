//! Work that waits for the transaction's end.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;

use pgrx::pg_sys;

thread_local! {
    static PENDING: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Removes a file if the transaction commits. A subtransaction that rolls back does not take this
/// back, so only what can be made again may be removed this way.
pub fn remove_at_commit(file: PathBuf) {
    PENDING.with_borrow_mut(|pending| pending.push(file));
    if REGISTERED.replace(true) {
        return;
    }
    // SAFETY: the callback is a function of this library, which is never unloaded.
    unsafe { pg_sys::RegisterXactCallback(Some(transaction_ended), std::ptr::null_mut()) }
}

unsafe extern "C-unwind" fn transaction_ended(
    event: pg_sys::XactEvent::Type,
    _argument: *mut std::ffi::c_void,
) {
    let committed = event == pg_sys::XactEvent::XACT_EVENT_COMMIT;
    let ended = committed
        || event == pg_sys::XactEvent::XACT_EVENT_ABORT
        || event == pg_sys::XactEvent::XACT_EVENT_PREPARE;
    if !ended {
        return;
    }
    for file in PENDING.take() {
        if committed {
            // What cannot be removed now is removed when the folder is next swept.
            let _ = std::fs::remove_file(file);
        }
    }
}
