//! Invariants: what verification found of a compiled model, and what the engine knows of its data.
//!
//! A broken one is a bug, and a bug must not become a number that looks like a prediction. In debug builds,
//! tests and fuzzing all of these stop with the invariant's name. In release builds [`at`] and its siblings
//! read without a check, which is for what `compiled::verify` proves; [`known`] is for the rest, and returns
//! an error. Where nothing can fail and time does not matter, code indexes, or calls
//! [`sure`], which stops in every build. Nothing has a default.
#![allow(unsafe_code, reason = "records that were verified at opening are read without checks")]

use crate::{Error, ErrorKind, Result};

/// Whether this build stops at a broken invariant.
const STOPS: bool = cfg!(any(debug_assertions, test, fuzzing));

/// The record at an index that is in range.
///
/// # Safety
/// `index < records.len()`; the invariant says why.
#[inline(always)]
pub(crate) unsafe fn at<'a, T>(records: &'a [T], index: usize, invariant: &'static str) -> &'a T {
    check(index < records.len(), invariant);
    // SAFETY: the caller's promise.
    unsafe { records.get_unchecked(index) }
}

/// As [`at`], to write.
///
/// # Safety
/// As for [`at`].
#[inline(always)]
pub(crate) unsafe fn at_mut<'a, T>(
    records: &'a mut [T],
    index: usize,
    invariant: &'static str,
) -> &'a mut T {
    check(index < records.len(), invariant);
    // SAFETY: the caller's promise.
    unsafe { records.get_unchecked_mut(index) }
}

/// The `count` records from `first` on, which are all there.
///
/// # Safety
/// `first + count <= records.len()`; the invariant says why.
#[inline(always)]
pub(crate) unsafe fn range<'a, T>(
    records: &'a [T],
    first: usize,
    count: usize,
    invariant: &'static str,
) -> &'a [T] {
    check(first <= records.len() && count <= records.len() - first, invariant);
    // SAFETY: the caller's promise.
    unsafe { records.get_unchecked(first..first + count) }
}

/// Stops at a broken invariant, in the builds that do.
#[inline(always)]
pub(crate) fn check(holds: bool, invariant: &'static str) {
    if STOPS && !holds {
        stop(invariant);
    }
}

/// What is there.
///
/// # Errors
/// [`ErrorKind::Internal`] if it is not, which is a bug.
#[inline(always)]
pub(crate) fn known<T>(found: Option<T>, invariant: &'static str) -> Result<T> {
    match found {
        Some(found) => Ok(found),
        None => Err(broken(invariant)),
    }
}

/// What is there, where nothing can fail: stops in every build if it is not.
#[inline(always)]
pub(crate) fn sure<T>(found: Option<T>, invariant: &'static str) -> T {
    match found {
        Some(found) => found,
        None => stop(invariant),
    }
}

#[cold]
#[inline(never)]
fn broken(invariant: &'static str) -> Error {
    check(false, invariant);
    Error::new(
        ErrorKind::Internal,
        format!("internal: damaged compiled model: not true that {invariant}"),
    )
}

#[cold]
#[inline(never)]
#[allow(clippy::panic, reason = "a broken invariant is a bug, which tests and fuzzing must see")]
fn stop(invariant: &'static str) -> ! {
    panic!("broken invariant: {invariant}")
}
