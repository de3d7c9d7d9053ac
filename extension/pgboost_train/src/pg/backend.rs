//! This backend, its user, and the users whose trainings it may see.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

/// The process.
pub fn pid() -> i32 {
    // SAFETY: set once when the backend starts.
    unsafe { pg_sys::MyProcPid }
}

/// When the backend was started, in microseconds since 2000.
pub fn started() -> i64 {
    // SAFETY: set once when the backend starts.
    unsafe { pg_sys::MyStartTimestamp }
}

/// The user that the connection was made for, as pg_stat_activity shows it.
pub fn session_user() -> Oid {
    // SAFETY: a plain variable of the backend.
    unsafe { pg_sys::GetSessionUserId() }
}

/// Whether the current user may see what backends of that user do: the rule of pg_stat_activity.
pub fn may_watch(user: Oid) -> bool {
    // SAFETY: both take any OIDs.
    unsafe {
        let watcher = pg_sys::GetUserId();
        pg_sys::has_privs_of_role(watcher, user)
            || pg_sys::has_privs_of_role(watcher, Oid::from(pg_sys::ROLE_PG_READ_ALL_STATS))
    }
}

/// Raises unless the transaction may write. `function` is what the user called, for the message.
pub fn require_writable(function: &'static CStr) {
    // SAFETY: the name ends in a NUL.
    unsafe {
        pg_sys::PreventCommandIfReadOnly(function.as_ptr());
        pg_sys::PreventCommandIfParallelMode(function.as_ptr());
    }
}

/// The permissions that PostgreSQL gives files in its data directory.
pub fn file_mode() -> u32 {
    // SAFETY: set once when the postmaster starts.
    unsafe { pg_file_create_mode.cast_unsigned() }
}

unsafe extern "C" {
    /// A variable of the server's that pgrx has no name for.
    static pg_file_create_mode: std::ffi::c_int;
}
