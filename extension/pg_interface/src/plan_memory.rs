//! Values computed from a plan's node, kept as long as the plan's memory.
//!
//! A cached plan has one tree for all its executions. A node's address is its name here until the callback
//! of its memory context says that the memory is freed, before which no other node has that address.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;

use pgrx::pg_guard;
use pgrx::pg_sys::{self, MemoryContextCallback};

thread_local! {
    static VALUES: RefCell<BTreeMap<usize, Rc<dyn Any>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the value that is kept for a node, or the closure's, which is kept from now on; `None` if there is
/// neither.
///
/// # Safety
/// PostgreSQL allocated the node by itself, and all calls for it are of one type. What the value refers to
/// lives as long as the node.
pub unsafe fn kept_with<N, T: 'static>(
    node: *mut N,
    make: impl FnOnce() -> Option<T>,
) -> Option<Rc<T>> {
    let known = VALUES.with_borrow(|values| values.get(&node.addr()).cloned());
    if let Some(known) = known {
        return known.downcast().ok();
    }
    let value = Rc::new(make()?);
    // SAFETY: the node is an allocation, so it has a context, which calls back before it frees its memory,
    // of which the callback's record is a part.
    unsafe {
        let context = pg_sys::GetMemoryChunkContext(node.cast());
        let size = size_of::<MemoryContextCallback>();
        let callback: *mut MemoryContextCallback = pg_sys::MemoryContextAlloc(context, size).cast();
        callback.write(MemoryContextCallback {
            func: Some(forget),
            arg: node.cast(),
            next: std::ptr::null_mut(),
        });
        VALUES.with_borrow_mut(|values| values.insert(node.addr(), value.clone()));
        pg_sys::MemoryContextRegisterResetCallback(context, callback);
    }
    Some(value)
}

/// # Safety
/// Called by PostgreSQL before a node's memory is freed.
#[pg_guard]
unsafe extern "C-unwind" fn forget(node: *mut c_void) {
    // The value is dropped when nothing is borrowed any more. At the end of a process there may be none.
    drop(VALUES.try_with(|values| values.borrow_mut().remove(&node.addr())));
}
