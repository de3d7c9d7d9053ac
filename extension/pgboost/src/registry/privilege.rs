//! Who may do what with a model, and the lock of a model: its row in `model`, which every change of the model
//! touches first.
//!
//! Rights are read as they are now, not as the statement's snapshot saw them, because that is how
//! PostgreSQL treats its own: what has been revoked is gone for every statement that follows.

use std::ops::ControlFlow;

use pg_interface::Oid;
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::scan::{Key, rows};
use pg_interface::session::{self, PUBLIC, has_rights_of, is_superuser};

use super::{Registry, query};
use crate::error::{Error, Result};

/// The value of the column `privilege` for a model's owner.
pub(crate) const OWNER: &str = "owner";

/// What a user may do with a model; more includes less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    None,
    /// Predict with it and look at it.
    Predict,
    Owner,
}

pub(crate) fn access(registry: &Registry, name: &str, user: Oid) -> Access {
    if is_superuser(user) {
        return Access::Owner;
    }
    let mut granted = Vec::new();
    rows(registry.privilege, &[Key::Text(name)], ReadSnapshot::Latest, |row| {
        if let (Some(role), Some(privilege)) = (row.role(c"role"), row.text(c"privilege")) {
            granted.push((role, if privilege == OWNER { Access::Owner } else { Access::Predict }));
        }
        ControlFlow::Continue(())
    });
    granted
        .into_iter()
        .filter(|(role, _)| *role == PUBLIC || has_rights_of(user, *role))
        .map(|(_, access)| access)
        .max()
        .unwrap_or(Access::None)
}

/// Raises unless the user may predict with the model, which exists.
pub(crate) fn require_predict(registry: &Registry, name: &str, user: Oid) -> Result<()> {
    let allowed = access(registry, name, user) >= Access::Predict;
    if allowed { Ok(()) } else { Err(Error::Denied { name: name.to_owned() }) }
}

/// Raises unless the user owns the model, which exists.
pub(crate) fn require_owner(registry: &Registry, name: &str, user: Oid) -> Result<()> {
    let allowed = access(registry, name, user) >= Access::Owner;
    if allowed { Ok(()) } else { Err(Error::NotOwner { name: name.to_owned() }) }
}

/// Keeps other sessions from changing the model until this transaction ends. Returns the deployed
/// version, if one is.
///
/// # Errors
/// [`Error::NoSuchModel`]; [`Error::NotOwner`] if another session has just made the model another's.
pub(crate) fn lock(registry: &Registry, name: &str) -> Result<Option<i32>> {
    let deployed = query::<i32>(
        registry,
        "SELECT COALESCE(m.deployed, 0) FROM pgboost_catalog.model AS m WHERE m.name = $1 FOR UPDATE",
        &[name.into()],
    )?
    .ok_or_else(|| Error::NoSuchModel { name: name.to_owned() })?;
    require_owner(registry, name, session::current_user())?;
    Ok((deployed > 0).then_some(deployed))
}
