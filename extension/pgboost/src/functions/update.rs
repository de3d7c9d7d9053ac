//! C functions for ALTER EXTENSION UPDATE: those that the SQL functions of release 1.0.0 call, and what its
//! script needs.
//!
//! A SQL function whose arguments change calls a C function of a new name, since one that reads more arguments
//! than it is given reads other memory. The C function of the old name raises, and is needed to restore a dump
//! of the earlier release.

use pg_interface::invalidation::ReadSnapshot;
use pg_interface::{FunctionCallInfo, call};
use pgrx::pg_extern;

use super::{Answer, required, required_text};
use crate::error::{Error, Result};
use crate::registry::{Registry, lookup, model::Model};

macro_rules! earlier {
    ($($function:ident)*) => {
        $(
            #[pg_extern(sql = false)]
            fn $function() -> Answer<()> {
                Err(Error::NoRegistry.into())
            }
        )*
    };
}

earlier! {
    pgboost_load_model
    pgboost_deploy_model
    pgboost_set_alias
    pgboost_grant_model
    pgboost_revoke_model
    pgboost_statistics
}

/// `pgboost_catalog.meaning(model, version) -> text[]`: the task and the link of a version of 1.0.0, or NULL if
/// its file is damaged.
#[pg_extern(sql = false)]
fn pgboost_meaning_1_1(
    model: Option<&[u8]>,
    version: Option<i32>,
    call: FunctionCallInfo,
) -> Answer<Option<Vec<String>>> {
    let name = required_text(model, "model")?;
    let registry = Registry::of_function(call::called_function(call))?;
    let model = Model::find(&registry, name, ReadSnapshot::Latest)?;
    let version = required(version, "version")?;
    match lookup::with_version(model, version, ReadSnapshot::Latest, meaning) {
        Err(Error::Registry { .. }) => Ok(None),
        other => Ok(other.map(Some)?),
    }
}

fn meaning(stored: &lookup::Stored<'_>) -> Result<Vec<String>> {
    let model = stored.model()?;
    let objective = model.objective();
    Ok(vec![objective.task().name().to_owned(), objective.transform().link().to_owned()])
}
