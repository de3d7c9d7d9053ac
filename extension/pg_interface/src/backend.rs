//! The process: its identity, its end, and how it waits for another process as PostgreSQL waits, so that a
//! cancel, a terminate and the postmaster's end act at once.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;

use pgrx::pg_sys::{self, Datum};

use crate::report::check_for_interrupts;

/// The process's number.
pub fn pid() -> i32 {
    // SAFETY: set once when the backend starts.
    unsafe { pg_sys::MyProcPid }
}

/// When the backend was started, in microseconds since 2000.
pub fn started() -> i64 {
    // SAFETY: set once when the backend starts.
    unsafe { pg_sys::MyStartTimestamp }
}

/// When the server was started, in microseconds since 2000.
pub fn server_started() -> i64 {
    // SAFETY: set once when the postmaster starts.
    unsafe { pg_sys::PgStartTime }
}

/// The OID of the database that the backend is connected to.
pub fn database() -> u32 {
    // SAFETY: a backend sets this once, before it runs any function.
    unsafe { pg_sys::MyDatabaseId }.to_u32()
}

/// The permissions of files that PostgreSQL makes in its data directory.
pub fn file_mode() -> u32 {
    // SAFETY: set once when the postmaster starts.
    unsafe { pg_file_create_mode.cast_unsigned() }
}

/// The permissions of folders that PostgreSQL makes in its data directory.
pub fn directory_mode() -> u32 {
    // SAFETY: set once when the postmaster starts.
    unsafe { pg_dir_create_mode.cast_unsigned() }
}

// Variables of the server's that pgrx has no names for (file_perm.c).
unsafe extern "C" {
    static pg_file_create_mode: c_int;
    static pg_dir_create_mode: c_int;
}

/// What to wait for.
#[derive(Clone, Copy)]
pub enum Until {
    /// There is something to read, or nothing will come any more.
    Readable,
    /// There is room to write.
    Writable,
}

/// Waits for a socket. Raises if the statement is cancelled or the backend is to end.
pub fn wait(socket: BorrowedFd<'_>, until: Until) {
    let ready = match until {
        Until::Readable => pg_sys::WL_SOCKET_READABLE,
        Until::Writable => pg_sys::WL_SOCKET_WRITEABLE,
    };
    let events = ready | pg_sys::WL_LATCH_SET | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: the latch is this backend's own, and the socket is open.
    unsafe {
        pg_sys::WaitLatchOrSocket(
            pg_sys::MyLatch,
            events.cast_signed(),
            socket.as_raw_fd(),
            0,
            pg_sys::PG_WAIT_EXTENSION,
        );
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    check_for_interrupts();
}

static AT_EXIT: OnceLock<fn()> = OnceLock::new();

/// Has the function called when this backend ends in whatever way but a crash. There is one.
pub fn at_exit(function: fn()) {
    if AT_EXIT.set(function).is_ok() {
        // SAFETY: the callback is a function of this library, which is never unloaded.
        unsafe { pg_sys::on_proc_exit(Some(run), Datum::from(0)) };
    }
}

/// # Safety
/// PostgreSQL calls it.
unsafe extern "C-unwind" fn run(_code: c_int, _argument: Datum) {
    if let Some(function) = AT_EXIT.get() {
        function();
    }
}
