//! `alias_model` and `drop_alias`: names for versions.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{pg_extern, pg_sys};

use super::{required, required_text, writable};
use crate::registry::alias;
use crate::registry::reference::check_alias;

/// `alias_model(name, alias, version)`
#[pg_extern(sql = false)]
fn pgboost_alias_model(
    name: Option<&[u8]>,
    alias: Option<&[u8]>,
    version: Option<i32>,
    call: pg_sys::FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let name = required_text(name, "name")?;
    let alias = check_alias(required_text(alias, "alias")?)?;
    let version = required(version, "version")?;
    Ok(alias::set(&writable(call, c"alias_model()", name)?, name, alias, version)?)
}

/// `drop_alias(name, alias)`
#[pg_extern(sql = false)]
fn pgboost_drop_alias(
    name: Option<&[u8]>,
    alias: Option<&[u8]>,
    call: pg_sys::FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let (name, alias) = (required_text(name, "name")?, required_text(alias, "alias")?);
    Ok(alias::remove(&writable(call, c"drop_alias()", name)?, name, alias)?)
}
