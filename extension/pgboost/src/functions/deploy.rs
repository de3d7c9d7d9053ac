//! `deploy_model` and `drop_model`: which version is in use, and which are there at all.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{pg_extern, pg_sys};

use super::{required, required_text, writable};
use crate::cache::images;
use crate::error::Result;
use crate::pg::transaction;
use crate::registry::{Registry, created, write};

/// `deploy_model(name, version)`
#[pg_extern(sql = false)]
fn pgboost_deploy_model(
    name: Option<&[u8]>,
    version: Option<i32>,
    call: pg_sys::FunctionCallInfo,
) -> std::result::Result<(), ErrorReport> {
    let name = required_text(name, "name")?;
    let version = required(version, "version")?;
    Ok(write::deploy(&writable(call, c"deploy_model()", name)?, name, version)?)
}

/// `drop_model(name, version)`
#[pg_extern(sql = false)]
fn pgboost_drop_model(
    name: Option<&[u8]>,
    version: Option<i32>,
    call: pg_sys::FunctionCallInfo,
) -> std::result::Result<(), ErrorReport> {
    let name = required_text(name, "name")?;
    Ok(drop(&writable(call, c"drop_model()", name)?, name, version)?)
}

fn drop(registry: &Registry, name: &str, version: Option<i32>) -> Result<()> {
    let mut unused = images::of_model(registry, name);
    match version {
        Some(version) => write::drop_version(registry, name, version)?,
        None => {
            write::drop_model(registry, name)?;
            for function in created::of_model(registry, name)? {
                created::drop_function(registry, name, &function)?;
            }
        }
    }
    images::retain_unused(registry, &mut unused);
    unused.keys().for_each(|image| transaction::remove_at_commit(image.path()));
    Ok(())
}
