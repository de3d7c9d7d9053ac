//! `grant_model` and `revoke_model`: who may predict with a model.

use pg_interface::session::{PUBLIC, role_by_name};
use pg_interface::{ErrorReport, FunctionCallInfo, Oid};
use pgrx::pg_extern;

use super::{required_text, whole_model, writable};
use crate::error::{Error, Result};
use crate::registry::write;

/// `grant_model(model, role)`
#[pg_extern(sql = false)]
fn pgboost_grant_model(
    model: Option<&[u8]>,
    role: Option<&[u8]>,
    call: FunctionCallInfo,
) -> std::result::Result<(), ErrorReport> {
    let (name, role) = (whole_model(model)?, role_or_public(role)?);
    Ok(write::grant(&writable(call, c"grant_model()", name)?, name, role)?)
}

/// `revoke_model(model, role)`
#[pg_extern(sql = false)]
fn pgboost_revoke_model(
    model: Option<&[u8]>,
    role: Option<&[u8]>,
    call: FunctionCallInfo,
) -> std::result::Result<(), ErrorReport> {
    let (name, role) = (whole_model(model)?, role_or_public(role)?);
    Ok(write::revoke(&writable(call, c"revoke_model()", name)?, name, role)?)
}

/// A role by its name; `public`, which no role can be called, means everybody.
fn role_or_public(role: Option<&[u8]>) -> Result<Oid> {
    match required_text(role, "role")? {
        "public" => Ok(PUBLIC),
        role => role_by_name(role).ok_or_else(|| Error::NoSuchRole { role: role.to_owned() }),
    }
}
