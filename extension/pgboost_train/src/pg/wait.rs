//! Waits for another process as PostgreSQL waits: a cancel, a terminate and the postmaster's end
//! act at once.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;

use pgrx::pg_sys::{self, Datum};

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
    pg_interface::report::check_for_interrupts();
}

static AT_EXIT: OnceLock<fn()> = OnceLock::new();

/// Has the function called when this backend ends in whatever way but a crash. There is one.
pub fn at_exit(function: fn()) {
    if AT_EXIT.set(function).is_ok() {
        // SAFETY: the callback is a function of this library, which is never unloaded.
        unsafe { pg_sys::on_proc_exit(Some(run), Datum::from(0)) };
    }
}

unsafe extern "C-unwind" fn run(_code: std::ffi::c_int, _argument: Datum) {
    if let Some(function) = AT_EXIT.get() {
        function();
    }
}
