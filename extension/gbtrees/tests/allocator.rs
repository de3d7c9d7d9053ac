//! The allocator of these tests: the system's, which counts what each thread holds, and refuses what a test says.

#![allow(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Allocations that grow with the models of a test are larger; names and the like are smaller.
const MIN_BYTES: usize = 4096;

thread_local! {
    /// Large allocations left until one fails, if any is to.
    pub(crate) static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    /// Bytes that this thread allocated, without those that it freed.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Returns the bytes that a computation has allocated and not freed, with its result.
pub(crate) fn held_by<T>(compute: impl FnOnce() -> T) -> (usize, T) {
    let before = HELD.get();
    let result = compute();
    (HELD.get().wrapping_sub(before), result)
}

fn is_refused(bytes: usize) -> bool {
    let Some(left) = LEFT.get().filter(|_| bytes >= MIN_BYTES) else { return false };
    LEFT.set(left.checked_sub(1));
    left == 0
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocates and counts `bytes` more, less `freed`, unless they are refused.
fn counted(bytes: usize, freed: usize, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
    if is_refused(bytes) {
        return std::ptr::null_mut();
    }
    HELD.set(HELD.get().wrapping_add(bytes).wrapping_sub(freed));
    allocate()
}

// SAFETY: allocations that do not fail are the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of the system allocator.
        counted(layout.size(), 0, || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        counted(layout.size(), 0, || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.set(HELD.get().wrapping_sub(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        counted(bytes, layout.size(), || unsafe { System.realloc(memory, layout, bytes) })
    }
}
