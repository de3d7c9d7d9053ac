//! The roles that `privilege` names, as PostgreSQL knows them.
//!
//! A role is a number, which PostgreSQL may give again once the role is dropped. So each role with a row has a
//! grant on the type `model_privileges`, made by the table's triggers with the role's first row and taken
//! away with its last one: DROP ROLE is refused, DROP OWNED BY takes it away, and a later role of that number
//! has none. A row whose role has no grant gives nothing, and is deleted before the role gets one.
//!
//! A transaction that adds a row keeps others from taking the grant away, and one that changes grants keeps
//! others from changing them, until it ends. Whoever removes a last row waits for nobody: the grant then stays.

use std::ops::ControlFlow;

use pg_interface::invalidation::ReadSnapshot;
use pg_interface::scan::{Key, rows};
use pg_interface::session::PUBLIC;
use pg_interface::transaction::{Lock, Mode, see_own_changes};
use pg_interface::{Oid, grants};

use super::{Registry, execute, role_number};
use crate::error::{Error, Result};

const TYPE: &str = "pgboost_catalog.model_privileges";

/// Whether what a row of `privilege` gives that role is still meant for it.
pub(crate) fn is_named(registry: &Registry, role: Oid) -> bool {
    // The owner cannot have been dropped.
    role == PUBLIC || role == registry.owner || grants::is_grantee(registry.privileges_type, role)
}

/// A row for the role is about to be added.
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
        // Written after the snapshot of this transaction.
        return Err(Error::ConcurrentUpdate);
    }
    grants::grant(registry.owner, TYPE, role);
    Ok(())
}

/// A row for the role was removed.
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
