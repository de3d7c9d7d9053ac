//! The lock of a model: its row in `model`, which every change of the model touches first.

use pg_interface::session;

use super::statement::query;
use super::{Registry, privilege};
use crate::error::{Error, Result};

/// Keeps other sessions from changing the model until this transaction ends. Returns the deployed
/// version, if one is.
///
/// # Errors
/// [`Error::NoSuchModel`]; [`Error::NotOwner`] if another session has just made the model another's.
pub fn lock(registry: &Registry, name: &str) -> Result<Option<i32>> {
    let deployed = query::<i32>(
        registry,
        "SELECT COALESCE(m.deployed, 0) FROM pgboost_catalog.model AS m WHERE m.name = $1 FOR UPDATE",
        &[name.into()],
    )?
    .ok_or_else(|| Error::NoSuchModel { name: name.to_owned() })?;
    privilege::require_owner(registry, name, session::current_user())?;
    Ok((deployed > 0).then_some(deployed))
}
