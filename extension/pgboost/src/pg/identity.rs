//! Who the current user is, what it may do, and how to write the registry as its owner.

use std::ffi::CString;

use pg_interface::{settings, unguarded, varlena};
use pgrx::pg_sys::{self, Oid};

/// `PUBLIC`, as PostgreSQL writes it in access lists.
pub const PUBLIC: Oid = Oid::INVALID;

/// The predefined role pg_read_all_stats.
pub const READ_ALL_STATS: Oid = Oid::from_u32(pg_sys::ROLE_PG_READ_ALL_STATS);

/// The user whose rights apply now.
#[inline]
pub fn current_user() -> Oid {
    unguarded::GetUserId()
}

pub fn role_name(role: Oid) -> String {
    // SAFETY: the function allocates the name in the current context and raises if there is none.
    unsafe { varlena::owned_string(pg_sys::GetUserNameFromId(role, false)) }
}

pub fn is_superuser(user: Oid) -> bool {
    // SAFETY: takes any OID.
    unsafe { pg_sys::superuser_arg(user) }
}

/// Whether the user has the rights of the role, by being it or by membership.
pub fn has_rights_of(user: Oid, role: Oid) -> bool {
    // SAFETY: takes any OIDs.
    unsafe { pg_sys::has_privs_of_role(user, role) }
}

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
    let result = settings::with_setting(c"search_path", c"pg_catalog, pg_temp", run);
    // SAFETY: undoes exactly what was done above.
    unsafe { pg_sys::SetUserIdAndSecContext(before, context) };
    result
}
