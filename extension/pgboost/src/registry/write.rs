//! Writes to the registry, after the caller has checked the user's privileges.
//!
//! Sessions that change the same model wait for each other at its row in `model`, which each updates
//! first.

use pg_interface::{Oid, jsonb, report, session};
use pgrx::{AnyElement, JsonB};

use super::deployment::Deployment;
use super::meaning::{Change, Ways};
use super::model::Model;
use super::reference::Wanted;
use super::unknown_category::UnknownPolicy;
use super::{OWNER, Privilege, lock, require_owner, role_number};
use super::{
    Registry, baseline, deployment, lookup, meaning, model_file, pin, predict_functions, scores,
};
use crate::error::{Error, Result};
use crate::statistics;

/// The columns of a new version, except the numbers that the registry assigns.
pub(crate) struct NewVersion<'a> {
    pub(crate) name: &'a str,
    pub(crate) file: &'a [u8],
    pub(crate) format: &'a str,
    /// The release of the library that wrote the file, if the file has it.
    pub(crate) library_version: Option<String>,
    pub(crate) objective: &'a str,
    pub(crate) task: &'static str,
    pub(crate) link: &'static str,
    /// The meaning of reals.
    pub(crate) real_input: String,
    /// The numbers of an array for categories that are numbers.
    pub(crate) array_categories: &'static str,
    pub(crate) features: i32,
    pub(crate) outputs: i32,
    pub(crate) trees: i32,
    pub(crate) rounds: i32,
    pub(crate) used_rounds: i32,
    /// The best number of rounds, if the file has it.
    pub(crate) best_rounds: Option<i32>,
    pub(crate) depth: i32,
    pub(crate) feature_names: Option<Vec<String>>,
    pub(crate) labels: Option<Vec<String>>,
    /// The categories of features, if given.
    pub(crate) categories: Option<AnyElement>,
    pub(crate) attributes: JsonB,
    /// The parameters of the training, if given.
    pub(crate) parameters: Option<AnyElement>,
    /// The metrics of the model, if given.
    pub(crate) metrics: Option<AnyElement>,
    /// It is deployed afterwards, by [`deploy_new`].
    pub(crate) deploy: bool,
}

/// Stores a version. Returns the model and the version's number.
///
/// # Errors
/// [`Error::NotOwner`] if the model exists and the user does not own it.
pub(crate) fn store<'a>(
    registry: &Registry,
    new: NewVersion<'a>,
    user: Oid,
) -> Result<(Model<'a>, i32)> {
    let (model, version) = Model::with_next_version(registry, new.name)?;
    let version = if version == 1 {
        add_privilege(model, user, OWNER)?;
        first_version(model)?
    } else {
        // Checked under the lock, since another session may have just created the model.
        require_owner(model, user)?;
        version
    };
    // A load that rolled back may have left counts for this number.
    statistics::forget(model.id, version);
    model.execute(
        "INSERT INTO pgboost_catalog.version (model, version, size, digest, format, \
         library_version, objective, features, outputs, trees, rounds, used_rounds, \
         best_rounds, depth, feature_names, labels, categories, attributes, parameters, metrics, \
         loaded_by, task, link, real_input, array_categories, deployed_at) VALUES ($1, $2, $3, $4, \
         $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, \
         $24, $25, CASE WHEN $26 THEN pg_catalog.now() END)",
        [
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
            new.task.into(),
            new.link.into(),
            new.real_input.into(),
            new.array_categories.into(),
            new.deploy.into(),
        ],
    )?;
    model_file::insert(model, version, new.file)?;
    Ok((model, version))
}

/// Deploys a version that this transaction has just stored.
pub(crate) fn deploy_new(model: Model<'_>, version: i32, user: Oid, ways: Ways) -> Result<()> {
    let change = Change { wanted: Wanted::Deployed, before: model.deployed().ok(), after: version };
    meaning::check(model, change, ways)?;
    model.execute(
        "UPDATE pgboost_catalog.model AS m SET deployed = $2 WHERE m.id = $1",
        [version.into()],
    )?;
    let deployment = Deployment { version, previous: change.before, user, comment: None };
    deployment::record(model, &deployment)
}

/// Returns the number of the first version of a new model, one that was never pinned under its name: stored
/// results of a pinned version may outlive its model.
fn first_version(model: Model<'_>) -> Result<i32> {
    let version = pin::first_version(&model.registry, model.name)?;
    if version > 1 {
        model.execute(
            "UPDATE pgboost_catalog.model AS m SET last_version = $2 WHERE m.id = $1",
            [version.into()],
        )?;
    }
    Ok(version)
}

pub(crate) fn deploy(
    model: Model<'_>,
    version: i32,
    ways: Ways,
    comment: Option<&str>,
) -> Result<()> {
    let deployed = lock(model)?;
    let change = Change { wanted: Wanted::Deployed, before: deployed, after: version };
    meaning::check(model, change, ways)?;
    deployment::set_deployed(model, version)?;
    let user = session::current_user();
    let deployment = Deployment { version, previous: deployed, user, comment };
    deployment::record(model, &deployment)
}

/// Sets the comment of a model or, if one is given, of a version of it.
pub(crate) fn set_comment(
    model: Model<'_>,
    version: Option<i32>,
    comment: Option<&str>,
) -> Result<()> {
    lock(model)?;
    match version {
        None => model.execute(
            "UPDATE pgboost_catalog.model AS m SET comment = $2 WHERE m.id = $1",
            [comment.into()],
        ),
        Some(version) => model.change_version(
            version,
            "UPDATE pgboost_catalog.version AS v SET comment = $3 \
             WHERE v.model = $1 AND v.version = $2 RETURNING 1",
            [version.into(), comment.into()],
        ),
    }
}

pub(crate) fn drop_model(model: Model<'_>) -> Result<()> {
    lock(model)?;
    pin::require_none(model, None)?;
    scores::require_none(model, None)?;
    drop_aliases(model)?;
    baseline::forget(model, None)?;
    for statement in [
        "DELETE FROM pgboost_catalog.file_part AS p WHERE p.model = $1",
        "DELETE FROM pgboost_catalog.version AS v WHERE v.model = $1",
        "DELETE FROM pgboost_catalog.deployment AS d WHERE d.model = $1",
        "DELETE FROM pgboost_catalog.privilege AS p WHERE p.model = $1",
        "DELETE FROM pgboost_catalog.model AS m WHERE m.id = $1",
    ] {
        model.execute(statement, [])?;
    }
    Ok(())
}

pub(crate) fn drop_version(model: Model<'_>, version: i32) -> Result<()> {
    if lock(model)? == Some(version) {
        return Err(Error::Deployed { name: model.name.to_owned(), version });
    }
    if lookup::is_only_version(model, version) {
        return Err(Error::OnlyVersion { name: model.name.to_owned(), version });
    }
    require_no_alias(model, version)?;
    pin::require_none(model, Some(version))?;
    scores::require_none(model, Some(Wanted::Version(version)))?;
    baseline::forget(model, Some(version))?;
    model.execute(
        "DELETE FROM pgboost_catalog.file_part AS p WHERE p.model = $1 AND p.version = $2",
        [version.into()],
    )?;
    model.change_version(
        version,
        "DELETE FROM pgboost_catalog.version AS v WHERE v.model = $1 AND v.version = $2 \
         RETURNING 1",
        [version.into()],
    )
}

/// Gives a model another name.
pub(crate) fn rename(model: Model<'_>, new_name: &str) -> Result<()> {
    lock(model)?;
    if let Some(function) = predict_functions::existing(model, None)? {
        return Err(Error::RenameInUse { name: model.name.to_owned(), function: function.into() });
    }
    let exists = || Error::ModelExists { name: new_name.to_owned() };
    if new_name == model.name {
        return Err(exists());
    }
    // The index alone knows of a name that another session takes meanwhile.
    report::or_if_not_unique(exists, || {
        model.execute(
            "UPDATE pgboost_catalog.model AS m SET name = $2 WHERE m.id = $1",
            [new_name.into()],
        )
    })?;
    // From here on no other session can pin a version under either name.
    for pinned in [model.name, new_name] {
        if pin::first_version(&model.registry, pinned)? > 1 {
            let (name, pinned) = (model.name.to_owned(), pinned.to_owned());
            return Err(Error::RenamePinned { name, pinned });
        }
    }
    Ok(())
}

/// Makes a role the owner of a model.
pub(crate) fn set_owner(model: Model<'_>, owner: Oid) -> Result<()> {
    lock(model)?;
    model.execute(
        "DELETE FROM pgboost_catalog.privilege AS p WHERE p.model = $1 AND p.privilege = 'owner'",
        [],
    )?;
    add_privilege(model, owner, OWNER)
}

/// Grants a role a privilege for a model, with the lesser one.
pub(crate) fn grant(model: Model<'_>, role: Oid, privilege: Privilege) -> Result<()> {
    lock(model)?;
    add_privilege(model, role, Privilege::Predict.name())?;
    if privilege > Privilege::Predict {
        add_privilege(model, role, privilege.name())?;
    }
    Ok(())
}

/// Revokes a privilege from a role, with the greater one.
pub(crate) fn revoke(model: Model<'_>, role: Oid, privilege: Privilege) -> Result<()> {
    lock(model)?;
    forget_dropped_roles(model)?;
    model.execute(
        "DELETE FROM pgboost_catalog.privilege AS p \
         WHERE p.model = $1 AND p.role = $2::oid::regrole AND p.privilege IN ('inspect', $3)",
        [role_number(role).into(), privilege.name().into()],
    )
}

/// Deletes the rows of a model without effect, whose roles were dropped.
fn forget_dropped_roles(model: Model<'_>) -> Result<()> {
    model.execute(
        "DELETE FROM pgboost_catalog.privilege AS p WHERE p.model = $1 AND p.role <> 0::oid \
         AND p.role NOT IN (SELECT a.grantee FROM pg_catalog.pg_type AS t, \
         pg_catalog.aclexplode(t.typacl) AS a \
         WHERE t.oid = 'pgboost_catalog.model_privileges'::regtype)",
        [],
    )
}

fn add_privilege(model: Model<'_>, role: Oid, privilege: &str) -> Result<()> {
    forget_dropped_roles(model)?;
    model.execute(
        "INSERT INTO pgboost_catalog.privilege (model, role, privilege) \
         VALUES ($1, $2::oid::regrole, $3) ON CONFLICT DO NOTHING",
        [role_number(role).into(), privilege.into()],
    )
}

/// Sets the policy of a model for unknown categories, or removes it.
pub(crate) fn set_unknown_category(model: Model<'_>, policy: Option<&str>) -> Result<()> {
    if let Some(given) = policy.filter(|given| UnknownPolicy::named(given).is_none()) {
        return Err(Error::UnknownPolicy { given: given.to_owned() });
    }
    lock(model)?;
    model.execute(
        "UPDATE pgboost_catalog.model AS m SET unknown_category = $2 WHERE m.id = $1",
        [policy.into()],
    )
}

/// Sets an alias, new or existing, to a version.
pub(crate) fn set_alias(model: Model<'_>, alias: &str, version: i32, ways: Ways) -> Result<()> {
    lock(model)?;
    let before: Option<i32> = model.query(
        "SELECT a.version FROM pgboost_catalog.alias AS a WHERE a.model = $1 AND a.alias = $2",
        [alias.into()],
    )?;
    let change = Change { wanted: Wanted::Alias(alias), before, after: version };
    meaning::check(model, change, ways)?;
    model.change_version(
        version,
        "INSERT INTO pgboost_catalog.alias (model, alias, version) SELECT v.model, $2, v.version \
         FROM pgboost_catalog.version AS v WHERE v.model = $1 AND v.version = $3 \
         ON CONFLICT (model, alias) DO UPDATE SET version = excluded.version RETURNING 1",
        [alias.into(), version.into()],
    )
}

pub(crate) fn drop_alias(model: Model<'_>, alias: &str) -> Result<()> {
    lock(model)?;
    scores::require_none(model, Some(Wanted::Alias(alias)))?;
    let dropped: Option<i32> = model.query(
        "DELETE FROM pgboost_catalog.alias AS a WHERE a.model = $1 AND a.alias = $2 RETURNING 1",
        [alias.into()],
    )?;
    dropped.map(|_| ()).ok_or_else(|| model.no_such_alias(alias))
}

pub(crate) fn drop_aliases(model: Model<'_>) -> Result<()> {
    let statement = "DELETE FROM pgboost_catalog.alias AS a WHERE a.model = $1";
    model.execute(statement, [])
}

/// # Errors
/// [`Error::Aliased`] if an alias refers to the version.
pub(crate) fn require_no_alias(model: Model<'_>, version: i32) -> Result<()> {
    match lookup::alias_of(model, version) {
        Some(alias) => Err(Error::Aliased { name: model.name.to_owned(), version, alias }),
        None => Ok(()),
    }
}
