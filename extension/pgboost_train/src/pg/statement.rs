//! What a statement keeps from one call of a function to the next.

use std::ffi::c_void;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys;

/// The state that an earlier call of this expression has kept, or else what the closure makes.
/// It is dropped with the statement. A function keeps values of one type only.
pub fn kept<'a, T, E>(
    call: pg_sys::FunctionCallInfo,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<&'a mut T, E> {
    // SAFETY: PostgreSQL passes a valid call; what is kept there was put there below, with the
    // statement's own memory context, and is of that type.
    unsafe {
        let flinfo = (*call).flinfo;
        if (*flinfo).fn_extra.is_null() {
            let value = make()?;
            let place = PgMemoryContexts::For((*flinfo).fn_mcxt).leak_and_drop_on_delete(value);
            (*flinfo).fn_extra = place.cast::<c_void>();
        }
        Ok(&mut *(*flinfo).fn_extra.cast::<T>())
    }
}
