//! Fallible allocation helpers.
//!
//! Rust's growing vectors abort the process when memory runs out. Everything that grows with a model's
//! nodes or bytes is allocated here, or by `try_reserve`; `tests/memory.rs` fails each large
//! allocation once. Small ones, such as names, rely on the reserve of the extensions' allocator.

use std::borrow::Cow;
use std::collections::{HashSet, TryReserveError};
use std::hash::Hash;

use crate::{Error, Result};

impl From<TryReserveError> for Error {
    fn from(_: TryReserveError) -> Error {
        fault!(OutOfMemory, "out of memory")
    }
}

/// Returns the bytes that a vector has allocated.
pub(crate) fn allocated<T>(values: &Vec<T>) -> usize {
    size_of::<T>() * values.capacity()
}

/// Creates an empty vector with a capacity.
pub(crate) fn with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count)?;
    Ok(values)
}

/// Creates an empty set with a capacity.
pub(crate) fn set_with_capacity<T: Eq + Hash>(count: usize) -> Result<HashSet<T>> {
    let mut values = HashSet::new();
    values.try_reserve(count)?;
    Ok(values)
}

/// Appends a value.
pub(crate) fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    values.try_reserve(1)?;
    values.push(value);
    Ok(())
}

/// Appends all values.
pub(crate) fn extend<T>(values: &mut Vec<T>, more: impl IntoIterator<Item = T>) -> Result<()> {
    let more = more.into_iter();
    values.try_reserve(more.size_hint().0)?;
    for value in more {
        push(values, value)?;
    }
    Ok(())
}

/// Collects values.
pub(crate) fn collect<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut all = Vec::new();
    extend(&mut all, values)?;
    Ok(all)
}

/// Collects values, or returns the first error.
pub(crate) fn try_collect<T>(values: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let values = values.into_iter();
    let mut all = with_capacity(values.size_hint().0)?;
    for value in values {
        push(&mut all, value?)?;
    }
    Ok(all)
}

/// Creates a vector of `count` copies of `value`.
pub(crate) fn filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>> {
    let mut all = Vec::new();
    refill(&mut all, count, value)?;
    Ok(all)
}

/// Returns the text as a `String`.
pub(crate) fn owned(text: Cow<'_, str>) -> Result<String> {
    match text {
        Cow::Owned(text) => Ok(text),
        Cow::Borrowed(text) => {
            let mut copy = String::new();
            copy.try_reserve_exact(text.len())?;
            copy.push_str(text);
            Ok(copy)
        }
    }
}

/// Appends copies of `value` up to a length of `count`.
pub(crate) fn grow<T: Clone>(values: &mut Vec<T>, count: usize, value: T) -> Result<()> {
    extend(values, std::iter::repeat_n(value, count.saturating_sub(values.len())))
}

/// Resizes to `count` copies of `value`.
pub(crate) fn refill<T: Clone>(values: &mut Vec<T>, count: usize, value: T) -> Result<()> {
    values.clear();
    values.try_reserve_exact(count)?;
    values.resize(count, value);
    Ok(())
}
