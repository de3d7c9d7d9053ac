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
    let (name, role) = given(name, role)?;
    Ok(write::grant(&writable(call, c"grant_model()", name)?, name, role)?)
}

/// `revoke_model(name, role)`
#[pg_extern(sql = false)]
fn pgboost_revoke_model(
    name: Option<&[u8]>,
    role: Option<&[u8]>,
    call: pg_sys::FunctionCallInfo,
) -> std::result::Result<(), ErrorReport> {
    let (name, role) = given(name, role)?;
    Ok(write::revoke(&writable(call, c"revoke_model()", name)?, name, role)?)
}

/// The arguments as a model's name and a role; `public`, which no role can be called, means everybody.
fn given<'a>(name: Option<&'a [u8]>, role: Option<&[u8]>) -> Result<(&'a str, Oid)> {
    let name = required_text(name, "name")?;
    let role = match required_text(role, "role")? {
        "public" => PUBLIC,
        role => role_by_name(role).ok_or_else(|| Error::NoSuchRole { role: role.to_owned() })?,
    };
    Ok((name, role))
}
