//! Memory that a backend keeps back for when the system has no more.
//!
//! Rust aborts the process where a vector or a string cannot grow, unless it is grown by `try_reserve`, and
//! PostgreSQL restarts the server when a backend aborts. The engine asks by `try_reserve` for what grows with
//! a model. For all else, names and messages and what is as long as a list of features, there is a reserve:
//! if the system refuses a small piece, the reserve is freed and the system asked again. Long work then ends
//! where it next looks for a cancel, unless the system has as much memory again. Nor does it begin without.
//! The report of an error of PostgreSQL's has the reserve too (`report::with_reserve`).
//!
//! The reserve is not touched, so that it takes address space and no memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// What is asked for between two looks is less, as it is made in a few milliseconds.
const BYTES: usize = 2 << 20;
/// What is larger is refused without a second try; a list as long as the features of a model is not.
const MAX_PIECE: usize = 1536 << 10;
// SAFETY: the alignment is a power of two, and the size far from the largest.
const LAYOUT: Layout = unsafe { Layout::from_size_align_unchecked(BYTES, 16) };

static RESERVE: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Takes the reserve, unless it is there; returns whether it is there now.
pub(crate) fn keep() -> bool {
    if RESERVE.load(Relaxed).is_null() {
        // SAFETY: the layout has a size.
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
    // SAFETY: it was allocated so, and the swap gave it to this call alone.
    unsafe { System.dealloc(reserve, LAYOUT) };
    true
}

/// The system's allocator, and the reserve behind it.
struct Reserved;

#[global_allocator]
static ALLOCATOR: Reserved = Reserved;

// SAFETY: all memory is the system's allocator's, which is called as this one is.
unsafe impl GlobalAlloc for Reserved {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's, as for any allocator.
        again(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's, as for any allocator.
        again(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's, as for any allocator.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // A refused piece is as it was, so that it can be asked for again.
        // SAFETY: the caller's, as for any allocator.
        again(bytes, || unsafe { System.realloc(memory, layout, bytes) })
    }
}

/// Asks once more for a small piece where the first answer is no and the reserve could be freed.
#[inline(always)]
fn again(bytes: usize, ask: impl Fn() -> *mut u8) -> *mut u8 {
    let memory = ask();
    if memory.is_null() && bytes <= MAX_PIECE && spend() { ask() } else { memory }
}
