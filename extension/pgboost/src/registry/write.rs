//! Writes the registry, after the caller has checked the user's rights.
//!
//! Two sessions that change the same model wait for each other at its row in `model`, which each of them
//! touches first.

use pg_interface::{Oid, jsonb, session};
use pgrx::{AnyElement, JsonB};

use super::reference::Wanted;
use super::{OWNER, lock, lock_row, require_owner};
use super::{
    Registry, baseline, execute, feature_order, lookup, model_file, pin, predict_functions, query,
};
use crate::error::{Error, Result};

/// What the registry says of a version besides the numbers that it hands out itself.
pub(crate) struct NewVersion<'a> {
    pub(crate) name: &'a str,
    pub(crate) file: &'a [u8],
    pub(crate) format: &'a str,
    /// The release of the library that wrote the file, where the file has it.
    pub(crate) library_version: Option<String>,
    pub(crate) objective: &'a str,
    pub(crate) features: i32,
    pub(crate) outputs: i32,
    pub(crate) trees: i32,
    pub(crate) rounds: i32,
    pub(crate) used_rounds: i32,
    /// How many the file says were best, if it does.
    pub(crate) best_rounds: Option<i32>,
    pub(crate) depth: i32,
    pub(crate) feature_names: Option<Vec<String>>,
    pub(crate) labels: Option<Vec<String>>,
    /// What the codes of features stand for, if that was given.
    pub(crate) categories: Option<AnyElement>,
    pub(crate) attributes: JsonB,
    /// What the model was trained with, if that was given.
    pub(crate) parameters: Option<AnyElement>,
    /// How good it was found to be, if that was given.
    pub(crate) metrics: Option<AnyElement>,
    /// Whether predictions use it from now on.
    pub(crate) deploy: bool,
}

/// Stores a version, and deploys it if `deploy` is true. Returns its number.
///
/// # Errors
/// [`Error::NotOwner`] if the model exists and the user does not own it; [`Error::FunctionOfOtherFeatures`].
pub(crate) fn store(registry: &Registry, new: NewVersion<'_>, user: Oid) -> Result<i32> {
    let deployed = if new.deploy { lock_row(registry, new.name)? } else { None };
    let version = query::<i32>(
        registry,
        "INSERT INTO pgboost_catalog.model AS m (name, deployed, last_version) \
         VALUES ($1, CASE WHEN $2 THEN 1 END, 1) ON CONFLICT (name) DO UPDATE SET \
         deployed = CASE WHEN $2 THEN m.last_version + 1 ELSE m.deployed END, \
         last_version = m.last_version + 1 RETURNING m.last_version",
        &[new.name.into(), new.deploy.into()],
    )?
    .ok_or_else(|| Error::Registry { name: new.name.to_owned(), what: "version" })?;
    let version = if version == 1 {
        add_privilege(registry, new.name, user, OWNER)?;
        first_version(registry, new.name)?
    } else {
        // Only now is it certain whose the model is: another session may have just created it.
        require_owner(registry, new.name, user)?;
        version
    };
    execute(
        registry,
        "INSERT INTO pgboost_catalog.version (model, version, size, digest, format, \
         library_version, objective, features, outputs, trees, rounds, used_rounds, \
         best_rounds, depth, feature_names, labels, categories, attributes, parameters, metrics, \
         loaded_by, deployed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, \
         $14, $15, $16, $17, $18, $19, $20, $21, CASE WHEN $22 THEN pg_catalog.now() END)",
        &[
            new.name.into(),
            version.into(),
            i32::try_from(new.file.len()).unwrap_or(i32::MAX).into(),
            model_file::digest(new.file).into(),
            new.format.into(),
            new.library_version.into(),
            new.objective.into(),
            new.features.into(),
            new.outputs.into(),
            new.trees.into(),
            new.rounds.into(),
            new.used_rounds.into(),
            new.best_rounds.into(),
            new.depth.into(),
            new.feature_names.into(),
            new.labels.into(),
            jsonb::parameter(new.categories),
            new.attributes.into(),
            jsonb::parameter(new.parameters),
            jsonb::parameter(new.metrics),
            session::role_name(user).into(),
            new.deploy.into(),
        ],
    )?;
    let deployed = deployed.filter(|version| *version > 0);
    feature_order::check(registry, new.name, Wanted::Deployed, deployed, version)?;
    model_file::insert(registry, new.name, version, new.file)?;
    Ok(version)
}

/// The number of the first version of a model whose row was just made: one that was never pinned, since what
/// is stored of a pinned version may outlive its model.
fn first_version(registry: &Registry, name: &str) -> Result<i32> {
    let version = pin::first_version(registry, name)?;
    if version > 1 {
        execute(
            registry,
            "UPDATE pgboost_catalog.model AS m SET last_version = $2, \
             deployed = CASE WHEN m.deployed IS NOT NULL THEN $2 END WHERE m.name = $1",
            &[name.into(), version.into()],
        )?;
    }
    Ok(version)
}

/// # Errors
/// [`Error::NoSuchVersion`], [`Error::FunctionOfOtherFeatures`].
pub(crate) fn deploy(registry: &Registry, name: &str, version: i32) -> Result<()> {
    let deployed = lock(registry, name)?;
    feature_order::check(registry, name, Wanted::Deployed, deployed, version)?;
    query::<i32>(
        registry,
        "WITH v AS (UPDATE pgboost_catalog.version AS v SET deployed_at = pg_catalog.now() \
         WHERE v.model = $1 AND v.version = $2 RETURNING v.version) \
         UPDATE pgboost_catalog.model AS m SET deployed = v.version FROM v WHERE m.name = $1 \
         RETURNING 1",
        &[name.into(), version.into()],
    )?
    .map(|_| ())
    .ok_or_else(|| Error::NoSuchVersion { name: name.to_owned(), version })
}

/// # Errors
/// [`Error::Pinned`].
pub(crate) fn drop_model(registry: &Registry, name: &str) -> Result<()> {
    lock(registry, name)?;
    pin::require_none(registry, name, None)?;
    drop_aliases(registry, name)?;
    baseline::forget(registry, name, None)?;
    for statement in [
        "DELETE FROM pgboost_catalog.part AS p WHERE p.model = $1",
        "DELETE FROM pgboost_catalog.version AS v WHERE v.model = $1",
        "DELETE FROM pgboost_catalog.privilege AS p WHERE p.model = $1",
        "DELETE FROM pgboost_catalog.model AS m WHERE m.name = $1",
    ] {
        execute(registry, statement, &[name.into()])?;
    }
    Ok(())
}

/// # Errors
/// [`Error::Deployed`], [`Error::OnlyVersion`], [`Error::Aliased`], [`Error::Pinned`],
/// [`Error::NoSuchVersion`].
pub(crate) fn drop_version(registry: &Registry, name: &str, version: i32) -> Result<()> {
    if lock(registry, name)? == Some(version) {
        return Err(Error::Deployed { name: name.to_owned(), version });
    }
    if lookup::is_only_version(registry, name, version) {
        return Err(Error::OnlyVersion { name: name.to_owned(), version });
    }
    require_no_alias(registry, name, version)?;
    pin::require_none(registry, name, Some(version))?;
    baseline::forget(registry, name, Some(version))?;
    execute(
        registry,
        "DELETE FROM pgboost_catalog.part AS p WHERE p.model = $1 AND p.version = $2",
        &[name.into(), version.into()],
    )?;
    query::<i32>(
        registry,
        "DELETE FROM pgboost_catalog.version AS v WHERE v.model = $1 AND v.version = $2 \
         RETURNING 1",
        &[name.into(), version.into()],
    )?
    .map(|_| ())
    .ok_or_else(|| Error::NoSuchVersion { name: name.to_owned(), version })
}

/// Gives a model another name.
///
/// # Errors
/// [`Error::ModelExists`], [`Error::RenamePinned`], [`Error::RenameInUse`].
pub(crate) fn rename(registry: &Registry, name: &str, new_name: &str) -> Result<()> {
    lock(registry, name)?;
    if let Some(function) = predict_functions::existing(registry, name, None)? {
        return Err(Error::RenameInUse { name: name.to_owned(), function });
    }
    query::<i32>(
        registry,
        "UPDATE pgboost_catalog.model AS m SET name = $2 WHERE m.name = $1 AND NOT EXISTS \
         (SELECT FROM pgboost_catalog.model AS other WHERE other.name = $2) RETURNING 1",
        &[name.into(), new_name.into()],
    )?
    .ok_or_else(|| Error::ModelExists { name: new_name.to_owned() })?;
    // Nobody else can pin a version under either name from here on.
    for pinned in [name, new_name] {
        if pin::first_version(registry, pinned)? > 1 {
            let (name, pinned) = (name.to_owned(), pinned.to_owned());
            return Err(Error::RenamePinned { name, pinned });
        }
    }
    for statement in [
        "UPDATE pgboost_catalog.version AS v SET model = $2 WHERE v.model = $1",
        "UPDATE pgboost_catalog.part AS p SET model = $2 WHERE p.model = $1",
        "UPDATE pgboost_catalog.privilege AS p SET model = $2 WHERE p.model = $1",
        "UPDATE pgboost_catalog.alias AS a SET model = $2 WHERE a.model = $1",
        "UPDATE pgboost_catalog.baseline AS b SET model = $2 WHERE b.model = $1",
    ] {
        execute(registry, statement, &[name.into(), new_name.into()])?;
    }
    Ok(())
}

/// Makes a role the owner of a model.
pub(crate) fn set_owner(registry: &Registry, name: &str, owner: Oid) -> Result<()> {
    lock(registry, name)?;
    execute(
        registry,
        "DELETE FROM pgboost_catalog.privilege AS p WHERE p.model = $1 AND p.privilege = 'owner'",
        &[name.into()],
    )?;
    add_privilege(registry, name, owner, OWNER)
}

/// Lets a role predict with a model.
pub(crate) fn grant(registry: &Registry, name: &str, role: Oid) -> Result<()> {
    lock(registry, name)?;
    add_privilege(registry, name, role, "predict")
}

pub(crate) fn revoke(registry: &Registry, name: &str, role: Oid) -> Result<()> {
    lock(registry, name)?;
    forget_dropped_roles(registry)?;
    execute(
        registry,
        "DELETE FROM pgboost_catalog.privilege AS p \
         WHERE p.model = $1 AND p.role = $2::oid::regrole AND p.privilege = 'predict'",
        &[name.into(), role_number(role).into()],
    )
}

fn add_privilege(registry: &Registry, name: &str, role: Oid, privilege: &str) -> Result<()> {
    forget_dropped_roles(registry)?;
    execute(
        registry,
        "INSERT INTO pgboost_catalog.privilege (model, role, privilege) \
         VALUES ($1, $2::oid::regrole, $3) ON CONFLICT DO NOTHING",
        &[name.into(), role_number(role).into(), privilege.into()],
    )
}

/// A role for a parameter of type bigint, since pgrx would pass the OID 0 of PUBLIC as NULL.
fn role_number(role: Oid) -> i64 {
    i64::from(role.to_u32())
}

/// Takes their rights from roles that no longer exist, whose OIDs a dump would carry to other
/// clusters, where they may be others'. Their models become those of the extension's owner: none is without.
fn forget_dropped_roles(registry: &Registry) -> Result<()> {
    execute(
        registry,
        "UPDATE pgboost_catalog.privilege AS p SET role = $1::oid::regrole \
         WHERE p.privilege = 'owner' AND NOT EXISTS \
         (SELECT FROM pg_catalog.pg_roles AS r WHERE r.oid = p.role)",
        &[role_number(registry.owner).into()],
    )?;
    execute(
        registry,
        "DELETE FROM pgboost_catalog.privilege AS p WHERE p.role <> 0::oid AND NOT EXISTS \
         (SELECT FROM pg_catalog.pg_roles AS r WHERE r.oid = p.role)",
        &[],
    )
}

/// Lets an alias, new or not, refer to a version.
///
/// # Errors
/// [`Error::NoSuchVersion`], [`Error::FunctionOfOtherFeatures`].
pub(crate) fn set_alias(registry: &Registry, name: &str, alias: &str, version: i32) -> Result<()> {
    lock(registry, name)?;
    let before = query::<i32>(
        registry,
        "SELECT a.version FROM pgboost_catalog.alias AS a WHERE a.model = $1 AND a.alias = $2",
        &[name.into(), alias.into()],
    )?;
    feature_order::check(registry, name, Wanted::Alias(alias), before, version)?;
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
pub(crate) fn drop_alias(registry: &Registry, name: &str, alias: &str) -> Result<()> {
    lock(registry, name)?;
    query::<i32>(
        registry,
        "DELETE FROM pgboost_catalog.alias AS a WHERE a.model = $1 AND a.alias = $2 RETURNING 1",
        &[name.into(), alias.into()],
    )?
    .map(|_| ())
    .ok_or_else(|| Error::NoSuchAlias { name: name.to_owned(), alias: alias.to_owned() })
}

pub(crate) fn drop_aliases(registry: &Registry, name: &str) -> Result<()> {
    let statement = "DELETE FROM pgboost_catalog.alias AS a WHERE a.model = $1";
    execute(registry, statement, &[name.into()])
}

/// # Errors
/// [`Error::Aliased`] if an alias refers to the version.
pub(crate) fn require_no_alias(registry: &Registry, name: &str, version: i32) -> Result<()> {
    match lookup::alias_of(registry, name, version) {
        Some(alias) => Err(Error::Aliased { name: name.to_owned(), version, alias }),
        None => Ok(()),
    }
}
