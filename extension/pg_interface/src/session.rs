//! The session: current user, privileges of roles, settings, and read-only state; and its process:
//! identity, exit, and waiting for another process in PostgreSQL's way, so that cancelling, terminating
//! and the postmaster's exit take effect at once.

use std::ffi::{CStr, CString, c_int};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::report::{Report, check_for_interrupts};
use crate::{unguarded, varlena};

/// `PUBLIC` in access lists.
pub const PUBLIC: Oid = Oid::INVALID;

/// The predefined role pg_read_all_stats.
pub const READ_ALL_STATS: Oid = Oid::from_u32(pg_sys::ROLE_PG_READ_ALL_STATS);

/// Returns the current user, whose privileges apply.
#[inline]
pub fn current_user() -> Oid {
    unguarded::GetUserId()
}

/// Returns a role's name. Raises if there is no such role.
pub fn role_name(role: Oid) -> String {
    // SAFETY: allocates the name in the current context, or raises.
    unsafe { varlena::owned_string(pg_sys::GetUserNameFromId(role, false)) }
}

/// Returns whether a role is a superuser.
pub fn is_superuser(user: Oid) -> bool {
    // SAFETY: accepts any OID.
    unsafe { pg_sys::superuser_arg(user) }
}

/// Returns whether a user has a role's privileges, by identity or membership.
pub fn has_rights_of(user: Oid, role: Oid) -> bool {
    // SAFETY: accepts any OIDs.
    unsafe { pg_sys::has_privs_of_role(user, role) }
}

/// Returns the role of a name.
pub fn role_by_name(name: &str) -> Option<Oid> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name is zero-terminated; missing_ok prevents errors.
    let role = unsafe { pg_sys::get_role_oid(name.as_ptr(), true) };
    (role != Oid::INVALID).then_some(role)
}

/// Runs the closure as another user, with only pg_catalog on the search path.
///
/// After an error PostgreSQL restores both when it aborts the transaction or subtransaction.
pub fn as_user<T>(user: Oid, run: impl FnOnce() -> T) -> T {
    with_rights_of(user, || with_safe_path(run))
}

/// Runs the closure as another user, with the caller's search path: it must run no code that a user has
/// written.
///
/// After an error PostgreSQL restores the user when it aborts the transaction or subtransaction.
#[inline]
pub fn with_rights_of<T>(user: Oid, run: impl FnOnce() -> T) -> T {
    switched(user, pg_sys::SECURITY_LOCAL_USERID_CHANGE, run)
}

/// Runs the closure on a user's objects as that user, as ANALYZE and REINDEX do: what the user has written into
/// indexes, policies or casts has the user's privileges alone, also later in the transaction, and leaves no setting
/// changed.
///
/// After an error PostgreSQL restores the user when it aborts the transaction or subtransaction.
pub fn as_untrusted<T>(user: Oid, run: impl FnOnce() -> T) -> T {
    let flags = pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION;
    switched(user, flags, || at_setting_level(false, || with_safe_path(run)))
}

/// Runs the closure with only pg_catalog on the search path, so that nothing is found which a user has made.
///
/// After an error PostgreSQL restores the path when it aborts the transaction or subtransaction.
pub fn with_safe_path<T>(run: impl FnOnce() -> T) -> T {
    with_setting(c"search_path", c"pg_catalog, pg_temp", run)
}

#[inline]
fn switched<T>(user: Oid, flags: u32, run: impl FnOnce() -> T) -> T {
    let mut before = Oid::INVALID;
    let mut context = 0;
    // SAFETY: accesses variables of the backend.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut before, &mut context);
        pg_sys::SetUserIdAndSecContext(user, context | flags.cast_signed());
    }
    let result = run();
    // SAFETY: undoes the change above.
    unsafe { pg_sys::SetUserIdAndSecContext(before, context) };
    result
}

/// Returns the connection's user, as in pg_stat_activity.
pub fn session_user() -> Oid {
    // SAFETY: reads a variable of the backend.
    unsafe { pg_sys::GetSessionUserId() }
}

/// Returns whether the current user may see another user's activity, by pg_stat_activity's rule.
pub fn may_watch(user: Oid) -> bool {
    // SAFETY: both accept any OIDs.
    unsafe {
        let watcher = pg_sys::GetUserId();
        pg_sys::has_privs_of_role(watcher, user)
            || pg_sys::has_privs_of_role(watcher, Oid::from(pg_sys::ROLE_PG_READ_ALL_STATS))
    }
}

/// Makes PostgreSQL refuse undefined settings with this prefix.
pub fn reserve_prefix(prefix: &'static CStr) {
    // SAFETY: the prefix is static and zero-terminated; called from _PG_init.
    unsafe {
        pg_sys::MarkGUCPrefixReserved(prefix.as_ptr());
    }
}

/// Returns a setting's value as SHOW displays it; `None` if it does not exist.
pub fn setting(name: &CStr) -> Option<String> {
    // SAFETY: the name is zero-terminated; returns a C string, or null.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value).to_string_lossy().into_owned())
    }
}

/// Returns `work_mem` in bytes.
pub fn work_mem() -> usize {
    // SAFETY: reads a variable of the backend, in kB.
    let kilobytes = unsafe { pg_sys::work_mem };
    usize::try_from(kilobytes).unwrap_or(0) * 1024
}

/// Runs the closure with a changed setting, as a function with SET runs: what a trigger sets for the transaction
/// meanwhile stays, as pgboost_citus's does.
///
/// After an error PostgreSQL restores it when it aborts the transaction or subtransaction.
pub fn with_setting<T>(name: &'static CStr, value: &'static CStr, run: impl FnOnce() -> T) -> T {
    at_setting_level(true, || {
        // SAFETY: both texts are zero-terminated; an invalid one raises.
        unsafe {
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
        }
        run()
    })
}

/// Runs the closure at a nest level of settings, whose end undoes what was saved there and, unless `commits`, all
/// that was set.
fn at_setting_level<T>(commits: bool, run: impl FnOnce() -> T) -> T {
    // SAFETY: the level is closed below, or by the abort after an error.
    let level = unsafe { pg_sys::NewGUCNestLevel() };
    let result = run();
    // SAFETY: closes the level opened above.
    unsafe { pg_sys::AtEOXact_GUC(commits, level) };
    result
}

/// Sets the texts of the error that PostgreSQL reports when a check hook refuses a value.
pub fn refuse_value(error: Report) {
    let copied = |text: String| {
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: the text is zero-terminated.
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

/// Raises unless the transaction may write; the message names `function`.
pub fn require_writable(function: &'static CStr) {
    // SAFETY: the name is zero-terminated.
    unsafe {
        pg_sys::PreventCommandIfReadOnly(function.as_ptr());
        pg_sys::PreventCommandIfParallelMode(function.as_ptr());
    }
}

/// Returns whether the server is a standby, or recovers.
pub fn in_recovery() -> bool {
    // SAFETY: reads shared memory.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// Returns the process id.
pub fn pid() -> i32 {
    // SAFETY: set once when the backend starts.
    unsafe { pg_sys::MyProcPid }
}

/// Returns the backend's start in microseconds since 2000.
pub fn started() -> i64 {
    // SAFETY: set once when the backend starts.
    unsafe { pg_sys::MyStartTimestamp }
}

/// Returns the OID of the connected database.
pub fn database() -> u32 {
    // SAFETY: set once before the backend runs any function.
    unsafe { pg_sys::MyDatabaseId }.to_u32()
}

/// Returns the permissions of PostgreSQL's files in the data directory.
pub fn file_mode() -> u32 {
    // SAFETY: set once when the postmaster starts.
    unsafe { pg_file_create_mode.cast_unsigned() }
}

/// Returns the permissions of PostgreSQL's folders in the data directory.
pub fn directory_mode() -> u32 {
    // SAFETY: set once when the postmaster starts.
    unsafe { pg_dir_create_mode.cast_unsigned() }
}

// Variables that pgrx does not bind (file_perm.c).
unsafe extern "C" {
    static pg_file_create_mode: c_int;
    static pg_dir_create_mode: c_int;
}

/// The event to wait for.
#[derive(Clone, Copy)]
pub enum Until {
    /// Data to read, or the end of the stream.
    Readable,
    /// Room to write.
    Writable,
}

/// Waits for a socket. Raises if the statement is cancelled or the backend is to terminate.
pub fn wait(socket: BorrowedFd<'_>, until: Until) {
    let ready = match until {
        Until::Readable => pg_sys::WL_SOCKET_READABLE,
        Until::Writable => pg_sys::WL_SOCKET_WRITEABLE,
    };
    let events = ready | pg_sys::WL_LATCH_SET | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: the backend owns the latch, and the socket is open.
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

/// Registers the one function called when this backend exits in any way but a crash.
pub fn at_exit(function: fn()) {
    if AT_EXIT.set(function).is_ok() {
        // SAFETY: the callback belongs to this library, which is never unloaded.
        unsafe { pg_sys::on_proc_exit(Some(run), Datum::from(0)) };
    }
}

/// # Safety
/// Only called by PostgreSQL.
unsafe extern "C-unwind" fn run(_code: c_int, _argument: Datum) {
    if let Some(function) = AT_EXIT.get() {
        function();
    }
}
