//! An argument that a function has had since a later release: until ALTER EXTENSION UPDATE, the SQL that
//! declares the function does not pass it.

use pgrx::pg_sys;

/// The argument at a place, counted from 0, which is of type text; nothing if it is NULL or not passed.
pub fn text(call: pg_sys::FunctionCallInfo, place: usize) -> Option<String> {
    // SAFETY: PostgreSQL passes a valid call with as many arguments as it says.
    unsafe {
        let passed = usize::try_from((*call).nargs).is_ok_and(|count| place < count);
        if passed { pgrx::pg_getarg(call, place) } else { None }
    }
}
