//! The history of deployments: which version followed which, when, and by whom.
//!
//! A row of `deployment` is one deployment; its number counts those of the model, under the lock of the model's
//! row. `back` is the deployment that a rollback returns to: so a rollback after a rollback goes one version
//! further, as undo does, and one after a new deployment undoes that deployment alone.
//!
//! Rows may be missing: those of a registry that an earlier release has dumped, and of changes by hand. Then the
//! deployed version gets a row without a user before the next one is recorded.

use pg_interface::{Oid, session};

use super::meaning::{self, Change, Ways};
use super::model::Model;
use super::reference::Wanted;
use crate::error::{Error, Result};

/// A deployment to be recorded.
pub(super) struct Deployment<'a> {
    pub(super) version: i32,
    /// The version deployed before, if any.
    pub(super) previous: Option<i32>,
    pub(super) user: Oid,
    pub(super) comment: Option<&'a str>,
}

/// The last deployment of the model $1.
const LAST: &str = "(SELECT d.number, d.version, d.back FROM pgboost_catalog.deployment AS d \
                    WHERE d.model = $1 ORDER BY d.number DESC LIMIT 1) AS last";

/// Records a deployment of a model whose row is locked.
pub(super) fn record(model: Model<'_>, deployment: &Deployment<'_>) -> Result<()> {
    record_missing(model, deployment.previous)?;
    // A version that is deployed again keeps the deployment that a rollback returns to.
    insert(model, deployment, "CASE WHEN last.version = $2 THEN last.back ELSE last.number END")
}

/// Deploys the version before the present one. Returns its number.
///
/// # Errors
/// [`Error::NoEarlierDeployment`], [`Error::EarlierDropped`], and those of a deployment.
pub(crate) fn roll_back(model: Model<'_>, ways: Ways, comment: Option<&str>) -> Result<i32> {
    let user = session::current_user();
    let previous = super::lock(model)?;
    record_missing(model, previous)?;
    let statement = format!(
        "SELECT t.version FROM {LAST} JOIN pgboost_catalog.deployment AS t \
         ON t.model = $1 AND t.number = last.back"
    );
    let version = model
        .query::<i32, _>(&statement, [])?
        .ok_or_else(|| Error::NoEarlierDeployment { name: model.name.to_owned() })?;
    let found = model.query::<i32, _>(
        "SELECT 1 FROM pgboost_catalog.version AS v WHERE v.model = $1 AND v.version = $2",
        [version.into()],
    )?;
    if found.is_none() {
        return Err(Error::EarlierDropped { name: model.name.to_owned(), version });
    }
    let change = Change { wanted: Wanted::Deployed, before: previous, after: version };
    meaning::check(model, change, ways)?;
    let deployment = Deployment { version, previous, user, comment };
    insert(
        model,
        &deployment,
        "(SELECT t.back FROM pgboost_catalog.deployment AS t \
         WHERE t.model = $1 AND t.number = last.back)",
    )?;
    set_deployed(model, version)?;
    Ok(version)
}

/// Makes a version the one that the model's name means, if it exists.
pub(super) fn set_deployed(model: Model<'_>, version: i32) -> Result<()> {
    model.change_version(
        version,
        "WITH v AS (UPDATE pgboost_catalog.version AS v SET deployed_at = pg_catalog.now() \
         WHERE v.model = $1 AND v.version = $2 RETURNING v.version) \
         UPDATE pgboost_catalog.model AS m SET deployed = v.version FROM v WHERE m.id = $1 \
         RETURNING 1",
        [version.into()],
    )
}

/// Records the deployed version, if the history does not end with it.
fn record_missing(model: Model<'_>, deployed: Option<i32>) -> Result<()> {
    let Some(deployed) = deployed else { return Ok(()) };
    let statement = format!(
        "INSERT INTO pgboost_catalog.deployment (model, number, version, previous, back, deployed_at) \
         SELECT v.model, COALESCE(last.number, 0) + 1, v.version, last.version, last.number, \
         COALESCE(v.deployed_at, v.loaded_at) FROM pgboost_catalog.version AS v LEFT JOIN {LAST} ON true \
         WHERE v.model = $1 AND v.version = $2 AND last.version IS DISTINCT FROM $2"
    );
    model.execute(&statement, [deployed.into()])
}

fn insert(model: Model<'_>, deployment: &Deployment<'_>, back: &str) -> Result<()> {
    let statement = format!(
        "INSERT INTO pgboost_catalog.deployment \
         (model, number, version, previous, back, deployed_by, deployed_at, comment) \
         SELECT $1, COALESCE(last.number, 0) + 1, $2, $3, {back}, $4, pg_catalog.now(), $5 \
         FROM (SELECT) AS one LEFT JOIN {LAST} ON true"
    );
    model.execute(
        &statement,
        [
            deployment.version.into(),
            deployment.previous.into(),
            session::role_name(deployment.user).into(),
            deployment.comment.into(),
        ],
    )
}
