//! This backend, its user, and the users whose trainings it may see.

use pgrx::pg_sys::{self, Oid};

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
