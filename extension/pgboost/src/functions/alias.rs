//! `set_alias` and `drop_alias`: names for versions.

use pg_interface::{ErrorReport, FunctionCallInfo};
use pgrx::pg_extern;

use super::{OwnedVersion, required_text, writable};
use crate::error::Error;
use crate::registry::alias;
use crate::registry::reference::{Reference, Wanted, check_alias};

/// `set_alias(model, alias)`
#[pg_extern(sql = false)]
fn pgboost_set_alias(
    model: Option<&[u8]>,
    alias: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    let alias = check_alias(required_text(alias, "alias")?)?;
    let found = OwnedVersion::writable(call, c"set_alias()", &reference)?;
    Ok(alias::set(&found.registry, found.name, alias, found.version)?)
}

/// `drop_alias(model)`, of `m@alias`
#[pg_extern(sql = false)]
fn pgboost_drop_alias(model: Option<&[u8]>, call: FunctionCallInfo) -> Result<(), ErrorReport> {
    let model = required_text(model, "model")?;
    let Reference { name, wanted: Wanted::Alias(alias) } = Reference::parse(model)? else {
        return Err(Error::NotAnAlias { reference: model.to_owned() }.into());
    };
    Ok(alias::remove(&writable(call, c"drop_alias()", name)?, name, alias)?)
}
