//! `pin_model` and `unpin_model`: which versions `predict_pinned` may use.

use pg_interface::{ErrorReport, FunctionCallInfo};
use pgrx::pg_extern;

use super::{OwnedVersion, required_text};
use crate::registry::pin;
use crate::registry::reference::Reference;

/// `pin_model(model)`
#[pg_extern(sql = false)]
fn pgboost_pin_model(model: Option<&[u8]>, call: FunctionCallInfo) -> Result<(), ErrorReport> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    let found = OwnedVersion::writable(call, c"pin_model()", &reference)?;
    Ok(pin::set(&found.registry, found.name, found.version)?)
}

/// `unpin_model(model)`
#[pg_extern(sql = false)]
fn pgboost_unpin_model(model: Option<&[u8]>, call: FunctionCallInfo) -> Result<(), ErrorReport> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    let found = OwnedVersion::writable(call, c"unpin_model()", &reference)?;
    Ok(pin::remove(&found.registry, found.name, found.version)?)
}
