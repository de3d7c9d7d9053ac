//! `grant_model` and `revoke_model`: who may predict with a model.

use pgrx::pg_extern;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};

use super::{required_text, writable};
use crate::error::{Error, Result};
use crate::pg::identity::{PUBLIC, role_by_name};
use crate::registry::write;

/// `grant_model(name, role)`
#[pg_extern(sql = false)]
fn pgboost_grant_model(
    name: Option<&[u8]>,
    role: Option<&[u8]>,
    call: pg_sys::FunctionCallInfo,
) -> std::result::Result<(), ErrorReport> {
    let name = required_text(name, "name")?;
    let role = named_role(required_text(role, "role")?)?;
    Ok(write::grant(&writable(call, c"grant_model()", name)?, name, role)?)
}

/// `revoke_model(name, role)`
#[pg_extern(sql = false)]
fn pgboost_revoke_model(
    name: Option<&[u8]>,
    role: Option<&[u8]>,
    call: pg_sys::FunctionCallInfo,
) -> std::result::Result<(), ErrorReport> {
    let name = required_text(name, "name")?;
    let role = named_role(required_text(role, "role")?)?;
    Ok(write::revoke(&writable(call, c"revoke_model()", name)?, name, role)?)
}

/// The role of that name; `public`, which no role can be called, means everybody.
fn named_role(name: &str) -> Result<Oid> {
    if name == "public" {
        return Ok(PUBLIC);
    }
    role_by_name(name).ok_or_else(|| Error::NoSuchRole { role: name.to_owned() })
}
