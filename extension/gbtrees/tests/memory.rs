//! The memory of the engine, by an allocator that counts what each thread holds, and refuses what a test says.
//!
//! Each large allocation of a load fails once: the load must end with an out-of-memory error. And buffers report
//! the bytes that they have allocated: a backend keeps them from statement to statement up to a limit.

#![allow(clippy::unwrap_used, reason = "a test may stop at a surprise")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use gbtrees::internals::{
    BatchScratch, CompiledModel, ContributionScratch, Kernel, compile, parse,
};
use gbtrees::{Cancel, ErrorKind, Limits};

use crate::cancel::work;

/// Allocations that grow with the models of a test are larger; names and the like are smaller.
const MIN_BYTES: usize = 4096;

thread_local! {
    /// Large allocations left until one fails, if any is to.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    /// Bytes that this thread allocated, without those that it freed.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Returns the bytes that a computation has allocated and not freed, with its result.
fn held_by<T>(compute: impl FnOnce() -> T) -> (usize, T) {
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

#[allow(unsafe_code, reason = "an allocator is unsafe to implement")]
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

/// Infallible allocation would abort this program, or a backend and with it the server.
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

/// More than a block, whose last rows are fewer.
const ROWS: usize = 600;

fn check(file: &str, kernel: Kernel) {
    let never = Cancel::never();
    let model = parse(golden_models::file(file), &Limits::default(), never).unwrap();
    let compiled = CompiledModel::open(compile(&model, &[], never).unwrap()).unwrap();
    let [width, outputs] = [compiled.num_features() + 1, compiled.num_outputs()];
    let rows = vec![0.5f32; ROWS * compiled.row_length()];
    let row = &rows[..compiled.row_length()];
    let mut margins = vec![0.0f64; ROWS * outputs];
    let mut explained = vec![0.0; outputs * width * width];
    let (held, scratch) = held_by(|| {
        let mut scratch = BatchScratch::with_kernel(&compiled, kernel);
        compiled.margins_batch(&mut scratch, &rows, &mut margins).unwrap();
        compiled.margins_batch(&mut scratch, row, &mut margins[..outputs]).unwrap();
        scratch
    });
    assert_eq!(scratch.bytes(), held, "{file}, batches with {}", kernel.name());
    let (held, scratch) = held_by(|| {
        let mut scratch = ContributionScratch::with_kernel(kernel);
        let contributions = &mut explained[..outputs * width];
        // Some models are not explained, or their interactions are not.
        let _ = compiled.contributions(&mut scratch, row, contributions, never);
        let _ = compiled.interactions(&mut scratch, row, &mut explained, never);
        scratch
    });
    assert_eq!(scratch.bytes(), held, "{file}, explanations with {}", kernel.name());
}

#[test]
fn buffers_report_the_bytes_that_they_have_allocated() {
    let releases =
        ["catboost/1.2.10/", "lightgbm/4.7.0/", "onnx/1.20.0/", "onnx/hand/", "xgboost/3.4.1/"];
    let mut models = 0;
    for file in releases.into_iter().flat_map(golden_models::names) {
        if !file.ends_with(".expected.json") {
            Kernel::available().for_each(|kernel| check(file, kernel));
            models += 1;
        }
    }
    assert!(models > 100, "{models}");
}
