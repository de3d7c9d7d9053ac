//! `deploy_model` and `drop_model`: which version is in use, and which are there at all.

use pg_interface::{ErrorReport, FunctionCallInfo, transaction};
use pgrx::pg_extern;

use super::{OwnedVersion, required_text, writable};
use crate::cache::images;
use crate::error::{Error, Result};
use crate::registry::lock::lock;
use crate::registry::reference::{Reference, Wanted};
use crate::registry::{Registry, created, write};

/// `deploy_model(model)`, of `m@3` or `m@alias`
#[pg_extern(sql = false)]
fn pgboost_deploy_model(
    model: Option<&[u8]>,
    call: FunctionCallInfo,
) -> std::result::Result<(), ErrorReport> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    if reference.wanted == Wanted::Deployed {
        return Err(Error::NeedsVersion { name: reference.name.to_owned() }.into());
    }
    let found = OwnedVersion::writable(call, c"deploy_model()", &reference)?;
    Ok(write::deploy(&found.registry, found.name, found.version)?)
}

/// `drop_model(model)`, of `m@3` or `m@alias` a version, of `m` the model with all of them
#[pg_extern(sql = false)]
fn pgboost_drop_model(
    model: Option<&[u8]>,
    call: FunctionCallInfo,
) -> std::result::Result<(), ErrorReport> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    if reference.wanted == Wanted::Deployed {
        let registry = writable(call, c"drop_model()", reference.name)?;
        return Ok(drop(&registry, reference.name, None)?);
    }
    let found = OwnedVersion::writable(call, c"drop_model()", &reference)?;
    Ok(drop(&found.registry, found.name, Some(found.version))?)
}

fn drop(registry: &Registry, name: &str, version: Option<i32>) -> Result<()> {
    let mut unused = images::of_model(registry, name);
    match version {
        Some(version) => write::drop_version(registry, name, version)?,
        None => {
            lock(registry, name)?;
            for function in created::of_model(registry, name)? {
                created::drop_function(registry, name, &function)?;
            }
            write::drop_model(registry, name)?;
        }
    }
    images::retain_unused(registry, &mut unused);
    unused.keys().for_each(|image| transaction::remove_at_commit(image.path()));
    Ok(())
}
