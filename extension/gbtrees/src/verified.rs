//! Invariants: facts verified of a compiled model, and assumptions of the engine about its own data.
//!
//! A violation is a bug, and a bug must not become a plausible prediction. Debug builds, tests and
//! fuzzing panic with the invariant's name. In release builds [`at`] and its siblings read without a
//! check, for facts proven by `compiled::verify`; [`known`] returns an error, for everything else.
//! Infallible code off the hot path indexes or calls [`sure`], which panics in every build. No
//! violation has a default value.
#![allow(unsafe_code, reason = "records that were verified at opening are read without checks")]

use crate::{Error, ErrorKind, Result};

/// Whether this build panics on a broken invariant.
const STOPS: bool = cfg!(any(debug_assertions, test, fuzzing));

/// Returns the record at a verified index.
///
/// # Safety
/// `index < records.len()`; the invariant says why.
#[inline(always)]
pub(crate) unsafe fn at<'a, T>(records: &'a [T], index: usize, invariant: &'static str) -> &'a T {
    check(index < records.len(), invariant);
    // SAFETY: the caller ensures `index < records.len()`.
    unsafe { records.get_unchecked(index) }
}

/// Mutable version of [`at`].
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
    // SAFETY: the caller ensures `index < records.len()`.
    unsafe { records.get_unchecked_mut(index) }
}

/// Returns `count` records from `first` on.
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
    // SAFETY: the caller ensures `first + count <= records.len()`.
    unsafe { records.get_unchecked(first..first + count) }
}

/// Panics on a broken invariant, in builds that check.
#[inline(always)]
pub(crate) fn check(holds: bool, invariant: &'static str) {
    if STOPS && !holds {
        stop(invariant);
    }
}

/// Returns a value that must be present.
///
/// # Errors
/// [`ErrorKind::Internal`] if it is absent, which is a bug.
#[inline(always)]
pub(crate) fn known<T>(found: Option<T>, invariant: &'static str) -> Result<T> {
    match found {
        Some(found) => Ok(found),
        None => Err(broken(invariant)),
    }
}

/// Returns a value that must be present, in infallible code; panics in every build if it is absent.
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
