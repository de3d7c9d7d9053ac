//! Fails each large allocation of a load once: the load must end with an out-of-memory error.
//! Infallible allocation would abort this program, or a backend and with it the server.

#![allow(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use gbtrees::{Cancel, ErrorKind};

use crate::cancel::work;

/// Allocations that grow with the models below are larger; names and the like are smaller.
const MIN_BYTES: usize = 4096;

thread_local! {
    /// Large allocations left until one fails, if any is to.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

fn is_refused(bytes: usize) -> bool {
    let Some(left) = LEFT.get().filter(|_| bytes >= MIN_BYTES) else { return false };
    LEFT.set(left.checked_sub(1));
    left == 0
}

struct Refusing;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

// SAFETY: allocations that do not fail are the system allocator's.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's contract is that of the system allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if is_refused(bytes) {
            return std::ptr::null_mut();
        }
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, bytes) }
    }
}

#[test]
fn any_failed_allocation_ends_a_load_with_an_error() {
    let releases = [
        "catboost/1.2.10/",
        "lightgbm/4.7.0/",
        "onnx/1.20.0/",
        "onnx/hand/",
        "xgboost/1.3.3/",
        "xgboost/3.4.1/",
    ];
    let mut refused_in_all = 0;
    for file in releases.into_iter().flat_map(golden_models::names) {
        if file.ends_with(".expected.json") {
            continue;
        }
        let bytes = golden_models::file(file);
        // A model with linear leaves loads but cannot be explained.
        let expected = work(bytes, Cancel::never());
        let mut refused = 0;
        loop {
            LEFT.set(Some(refused));
            let found = work(bytes, Cancel::never());
            if LEFT.take().is_some() {
                assert_eq!(found, expected, "{file}");
                break;
            }
            let error = found.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{file}, {refused}: {error}");
            refused += 1;
        }
        refused_in_all += refused;
    }
    assert!(refused_in_all > 1000);
}
