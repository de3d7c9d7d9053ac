//! The states of aggregates whose state is of type internal: values of Rust in the memory of the aggregate.
//!
//! PostgreSQL drops a state before it frees its memory, but after an error only frees the memory, maybe
//! later than the transaction has closed its files. So a state says what is to be done with it then.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use pgrx::pg_guard;
use pgrx::pg_sys::{self, Datum};

use crate::unguarded::{self, allocated};

/// A value that can be dropped after its transaction was rolled back.
pub trait Abandon {
    /// Drops it without a call of PostgreSQL.
    fn abandon(self);
}

/// A state, and what PostgreSQL remembers to free it by.
#[repr(C)]
struct Kept<T> {
    callback: pg_sys::MemoryContextCallback,
    value: Option<T>,
}

/// The state that is a call's first argument, as that argument and as its value; a new one for a NULL. Nothing
/// outside of an aggregate.
///
/// # Safety
/// The call is what PostgreSQL passed to the function that is running, and valid for `'c`; if its first argument
/// is not NULL, this function has made it for the same type.
#[inline]
pub(crate) unsafe fn state<'c, T: Default + Abandon>(
    call: pg_sys::FunctionCallInfo,
) -> Option<(Datum, &'c mut T)> {
    let mut context = std::ptr::null_mut();
    // SAFETY: the caller says so; the context outlives the state, and calls back before it frees it.
    unsafe {
        if unguarded::AggCheckCallContext(call, &raw mut context) == 0 {
            return None;
        }
        let first = (*call).args.as_slice((*call).nargs as usize).first()?;
        let kept = if first.isnull { new::<T>(call, context) } else { first.value.cast_mut_ptr() };
        Some((Datum::from(kept), (*kept).value.as_mut()?))
    }
}

/// # Safety
/// As for [`state`]; the context is the aggregate's.
#[cold]
unsafe fn new<T: Default + Abandon>(
    call: pg_sys::FunctionCallInfo,
    context: pg_sys::MemoryContext,
) -> *mut Kept<T> {
    const { assert!(align_of::<Kept<T>>() <= pg_sys::MAXIMUM_ALIGNOF as usize) };
    // SAFETY: the caller says so; there is room for the value, and it is aligned.
    unsafe {
        let kept: *mut Kept<T> = allocated(context, size_of::<Kept<T>>()).cast();
        kept.write(Kept {
            callback: pg_sys::MemoryContextCallback {
                func: Some(free::<T>),
                arg: kept.cast(),
                next: std::ptr::null_mut(),
            },
            value: Some(T::default()),
        });
        unguarded::MemoryContextRegisterResetCallback(context, &raw mut (*kept).callback);
        pg_sys::AggRegisterCallback(call, Some(end::<T>), Datum::from(kept));
        kept
    }
}

/// The aggregate ends without an error.
///
/// # Safety
/// `kept` is what was registered, and not freed.
#[pg_guard]
unsafe extern "C-unwind" fn end<T>(kept: Datum) {
    // SAFETY: PostgreSQL passes what was registered, before it frees it.
    unsafe { (*kept.cast_mut_ptr::<Kept<T>>()).value = None };
}

/// The memory is freed; if the aggregate has not ended, after an error.
///
/// # Safety
/// `kept` is what was registered, and this is called once.
#[pg_guard]
unsafe extern "C-unwind" fn free<T: Abandon>(kept: *mut std::ffi::c_void) {
    // SAFETY: PostgreSQL passes what was registered, once.
    let value = unsafe { (*kept.cast::<Kept<T>>()).value.take() };
    value.into_iter().for_each(T::abandon);
}
