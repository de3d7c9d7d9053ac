//! Grants to the roles in `privilege`, by which PostgreSQL knows of them.
//!
//! PostgreSQL may assign the OID of a dropped role to another. So each role with a row has a grant on the type
//! `model_privileges`, which the table's triggers make with the role's first row and revoke with its last one.
//! Then DROP ROLE is refused, DROP OWNED BY revokes the grant, and a later role with the OID has none. A row
//! whose role has no grant has no effect, and is deleted before the role gets one.
//!
//! A transaction that adds a row keeps others from revoking the grant, and one that changes grants keeps
//! others from changing them, until it ends. Removing a last row does not wait for others: the grant then stays.

use std::ops::ControlFlow;

use pg_interface::invalidation::ReadSnapshot;
use pg_interface::scan::{Key, rows};
use pg_interface::session::PUBLIC;
use pg_interface::transaction::{Lock, Mode, see_own_changes};
use pg_interface::{Oid, grants};

use super::{Registry, execute, role_number};
use crate::error::{Error, Result};

const TYPE: &str = "pgboost_catalog.model_privileges";

/// Returns whether a row of `privilege` with that role was made for it, and not for a dropped role with the OID.
pub(crate) fn is_named(registry: &Registry, role: Oid) -> bool {
    // The owner cannot have been dropped.
    role == PUBLIC || role == registry.owner || grants::is_grantee(registry.privileges_type, role)
}

/// Makes the grant before a row for the role is added.
pub(crate) fn name(registry: &Registry, role: Oid) -> Result<()> {
    if role == PUBLIC || role == registry.owner {
        return Ok(());
    }
    lock_of(registry, role).take(Mode::Used);
    if is_named(registry, role) {
        return Ok(());
    }
    grants::lock(registry.privileges_type, true);
    if is_named(registry, role) {
        return Ok(());
    }
    execute(
        registry,
        "DELETE FROM pgboost_catalog.privilege AS p WHERE p.role = $1::oid::regrole",
        &[role_number(role).into()],
    )?;
    see_own_changes();
    if has_row(registry, role) {
        // The row was written after this transaction's snapshot.
        return Err(Error::ConcurrentUpdate);
    }
    grants::grant(registry.owner, TYPE, role);
    Ok(())
}

/// Revokes the grant after the role's last row was removed.
pub(crate) fn unname(registry: &Registry, role: Oid) {
    see_own_changes();
    let has_grant = role != registry.owner && role != PUBLIC && is_named(registry, role);
    if has_grant
        && !has_row(registry, role)
        && lock_of(registry, role).try_take(Mode::Changed)
        && grants::lock(registry.privileges_type, false)
        && !has_row(registry, role)
        && is_named(registry, role)
    {
        grants::revoke(registry.owner, TYPE, role);
    }
}

fn lock_of(registry: &Registry, role: Oid) -> Lock {
    Lock::new(registry.privilege.relation, &role.to_u32().to_string())
}

fn has_row(registry: &Registry, role: Oid) -> bool {
    let mut has_row = false;
    rows(registry.privilege_by_role, &[Key::Role(role)], ReadSnapshot::Latest, |_| {
        has_row = true;
        ControlFlow::Break(())
    });
    has_row
}
