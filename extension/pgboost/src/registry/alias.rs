//! Aliases: names that the owner gives to versions of a model, such as `champion`.
//!
//! A version that an alias refers to cannot be dropped alone, so that an alias always means a version.
//! Rights are the model's.

use super::lock::lock;
use super::statement::{execute, query};
use super::{Registry, lookup};
use crate::error::{Error, Result};

/// Lets an alias, new or not, refer to a version.
///
/// # Errors
/// [`Error::NoSuchVersion`].
pub fn set(registry: &Registry, name: &str, alias: &str, version: i32) -> Result<()> {
    lock(registry, name)?;
    query::<i32>(
        registry,
        "INSERT INTO pgboost_catalog.alias (model, alias, version) SELECT v.model, $2, v.version \
         FROM pgboost_catalog.version AS v WHERE v.model = $1 AND v.version = $3 \
         ON CONFLICT (model, alias) DO UPDATE SET version = excluded.version RETURNING 1",
        &[name.into(), alias.into(), version.into()],
    )?
    .map(|_| ())
    .ok_or_else(|| Error::NoSuchVersion { name: name.to_owned(), version })
}

/// # Errors
/// [`Error::NoSuchAlias`].
pub fn remove(registry: &Registry, name: &str, alias: &str) -> Result<()> {
    lock(registry, name)?;
    query::<i32>(
        registry,
        "DELETE FROM pgboost_catalog.alias AS a WHERE a.model = $1 AND a.alias = $2 RETURNING 1",
        &[name.into(), alias.into()],
    )?
    .map(|_| ())
    .ok_or_else(|| Error::NoSuchAlias { name: name.to_owned(), alias: alias.to_owned() })
}

pub fn remove_all(registry: &Registry, name: &str) -> Result<()> {
    let statement = "DELETE FROM pgboost_catalog.alias AS a WHERE a.model = $1";
    execute(registry, statement, &[name.into()])
}

/// # Errors
/// [`Error::Aliased`] if an alias refers to the version.
pub fn require_none(registry: &Registry, name: &str, version: i32) -> Result<()> {
    match lookup::alias_of(registry, name, version) {
        Some(alias) => Err(Error::Aliased { name: name.to_owned(), version, alias }),
        None => Ok(()),
    }
}
