//! The session: whose rights apply, what a role may do, the values of settings, and whether the transaction
//! may write; and its process: its identity, its end, and how it waits for another process as PostgreSQL
//! waits, so that a cancel, a terminate and the postmaster's end act at once.

use std::ffi::{CStr, CString, c_int};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::report::{Report, check_for_interrupts};
use crate::{unguarded, varlena};

/// `PUBLIC`, as PostgreSQL writes it in access lists.
pub const PUBLIC: Oid = Oid::INVALID;

/// The predefined role pg_read_all_stats.
pub const READ_ALL_STATS: Oid = Oid::from_u32(pg_sys::ROLE_PG_READ_ALL_STATS);

/// The user whose rights apply now.
#[inline]
pub fn current_user() -> Oid {
    unguarded::GetUserId()
}

/// The name of a role. Raises if there is none.
pub fn role_name(role: Oid) -> String {
    // SAFETY: the function allocates the name in the current context and raises if there is none.
    unsafe { varlena::owned_string(pg_sys::GetUserNameFromId(role, false)) }
}

/// Whether a role is a superuser.
pub fn is_superuser(user: Oid) -> bool {
    // SAFETY: takes any OID.
    unsafe { pg_sys::superuser_arg(user) }
}

/// Whether the user has the rights of the role, by being it or by membership.
pub fn has_rights_of(user: Oid, role: Oid) -> bool {
    // SAFETY: takes any OIDs.
    unsafe { pg_sys::has_privs_of_role(user, role) }
}

/// The role of that name.
pub fn role_by_name(name: &str) -> Option<Oid> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends in a NUL; with missing_ok the function does not raise for an absent role.
    let role = unsafe { pg_sys::get_role_oid(name.as_ptr(), true) };
    (role != Oid::INVALID).then_some(role)
}

/// Runs the closure as another user and with nothing but PostgreSQL's own schema on the search
/// path.
///
/// An error leaves both as they are: PostgreSQL restores them when it aborts the transaction or
/// subtransaction.
pub fn as_user<T>(user: Oid, run: impl FnOnce() -> T) -> T {
    let mut before = Oid::INVALID;
    let mut context = 0;
    // SAFETY: plain variables of the backend.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut before, &mut context);
        let switched = context | pg_sys::SECURITY_LOCAL_USERID_CHANGE.cast_signed();
        pg_sys::SetUserIdAndSecContext(user, switched);
    }
    let result = with_setting(c"search_path", c"pg_catalog, pg_temp", run);
    // SAFETY: undoes exactly what was done above.
    unsafe { pg_sys::SetUserIdAndSecContext(before, context) };
    result
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

/// Makes PostgreSQL refuse settings with this prefix that are not defined.
pub fn reserve_prefix(prefix: &'static CStr) {
    // SAFETY: the prefix lives for ever and ends in a NUL; the function is called from _PG_init.
    unsafe {
        pg_sys::MarkGUCPrefixReserved(prefix.as_ptr());
    }
}

/// The value of a setting as SHOW tells it; nothing if there is no such setting.
pub fn setting(name: &CStr) -> Option<String> {
    // SAFETY: the name ends in a NUL; returns a C string, or null.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

/// Bytes that an operation may take (`work_mem`).
pub fn work_mem() -> usize {
    // SAFETY: a plain variable of the backend, in kB.
    let kilobytes = unsafe { pg_sys::work_mem };
    usize::try_from(kilobytes).unwrap_or(0) * 1024
}

/// Runs the closure while a setting of PostgreSQL's has that value.
///
/// An error leaves it as it is: PostgreSQL restores it when it aborts the transaction or
/// subtransaction.
pub fn with_setting<T>(name: &'static CStr, value: &'static CStr, run: impl FnOnce() -> T) -> T {
    // SAFETY: both texts end in a NUL; PostgreSQL raises if it takes neither. The nest level is
    // closed below or by the abort.
    let level = unsafe {
        let level = pg_sys::NewGUCNestLevel();
        pg_sys::set_config_option(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
        level
    };
    let result = run();
    // SAFETY: closes the level that was opened above.
    unsafe { pg_sys::AtEOXact_GUC(false, level) };
    result
}

/// Leaves the texts of the error that PostgreSQL reports for a value that a check hook refuses.
pub fn refuse_value(error: Report) {
    let copied = |text: String| {
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: the text ends in a NUL.
        unsafe { pg_sys::pstrdup(text.as_ptr()) }
    };
    // SAFETY: variables of the backend, which a check hook may set.
    unsafe {
        pg_sys::GUC_check_errcode(error.sqlstate as i32);
        pg_sys::GUC_check_errmsg_string = copied(error.message);
        pg_sys::GUC_check_errdetail_string = error.detail.map_or(std::ptr::null_mut(), copied);
        pg_sys::GUC_check_errhint_string = error.hint.map_or(std::ptr::null_mut(), copied);
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
