//! `pin_model` and `unpin_model`: which versions `predict_pinned` may use.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{pg_extern, pg_sys};

use super::{required, required_text, writable};
use crate::registry::pin;

/// `pin_model(name, version)`
#[pg_extern(sql = false)]
fn pgboost_pin_model(
    name: Option<&[u8]>,
    version: Option<i32>,
    call: pg_sys::FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let (name, version) = (required_text(name, "name")?, required(version, "version")?);
    Ok(pin::set(&writable(call, c"pin_model()", name)?, name, version)?)
}

/// `unpin_model(name, version)`
#[pg_extern(sql = false)]
fn pgboost_unpin_model(
    name: Option<&[u8]>,
    version: Option<i32>,
    call: pg_sys::FunctionCallInfo,
) -> Result<(), ErrorReport> {
    let (name, version) = (required_text(name, "name")?, required(version, "version")?);
    Ok(pin::remove(&writable(call, c"unpin_model()", name)?, name, version)?)
}
