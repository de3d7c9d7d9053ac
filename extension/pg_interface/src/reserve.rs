//! A backend's memory reserve for out-of-memory situations.
//!
//! Rust aborts when an infallible allocation fails, and PostgreSQL restarts the server when a backend
//! aborts. Everything that grows with a model uses `try_reserve`. For the rest, such as names, messages
//! and lists by feature, there is this reserve: when a small allocation fails, the reserve is freed and
//! the allocation retried. Long work then ends at the next check for interrupts, unless the reserve can
//! be allocated again, and does not start without it. Reports of PostgreSQL's errors use the reserve
//! too (`report::with_reserve`).
//!
//! The reserve is never touched, so it takes address space but no memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// More than is allocated between two checks, which are a few milliseconds apart.
const BYTES: usize = 2 << 20;
/// Larger allocations are not retried; a list by feature is smaller.
const MAX_PIECE: usize = 1536 << 10;
// SAFETY: the alignment is a power of two, and the size is small.
const LAYOUT: Layout = unsafe { Layout::from_size_align_unchecked(BYTES, 16) };

static RESERVE: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Allocates the reserve if it is missing; returns whether it is there.
pub(crate) fn keep() -> bool {
    if RESERVE.load(Relaxed).is_null() {
        // SAFETY: the layout has a non-zero size.
        RESERVE.store(unsafe { System.alloc(LAYOUT) }, Relaxed);
    }
    !RESERVE.load(Relaxed).is_null()
}

/// Frees the reserve; returns whether there was one.
#[cold]
pub(crate) fn spend() -> bool {
    let reserve = RESERVE.swap(null_mut(), Relaxed);
    if reserve.is_null() {
        return false;
    }
    // SAFETY: it was allocated with this layout, and the swap made this call its owner.
    unsafe { System.dealloc(reserve, LAYOUT) };
    true
}

/// The system's allocator with the reserve.
struct Reserved;

#[global_allocator]
static ALLOCATOR: Reserved = Reserved;

// SAFETY: all calls are passed on to the system's allocator.
unsafe impl GlobalAlloc for Reserved {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of the system's allocator.
        again(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        again(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // A failed realloc leaves the memory unchanged, so it can be retried.
        // SAFETY: as above.
        again(bytes, || unsafe { System.realloc(memory, layout, bytes) })
    }
}

/// Retries a failed small allocation once if the reserve could be freed.
#[inline(always)]
fn again(bytes: usize, ask: impl Fn() -> *mut u8) -> *mut u8 {
    let memory = ask();
    if memory.is_null() && bytes <= MAX_PIECE && spend() { ask() } else { memory }
}
