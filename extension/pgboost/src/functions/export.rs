//! `export_model`: the bytes as they came.

use pg_interface::snapshot::ReadSnapshot;
use pg_interface::{ErrorReport, FunctionCallInfo};
use pgrx::{AnyElement, pg_extern};

use super::{OwnedVersion, required_text};
use crate::registry::lookup;
use crate::registry::reference::Reference;

/// `export_model(model) -> bytea`
#[pg_extern(sql = false)]
fn pgboost_export_model(
    model: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Result<Option<AnyElement>, ErrorReport> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    let OwnedVersion { registry, name, version } = OwnedVersion::find(call, &reference)?;
    let file = lookup::with_version(&registry, name, version, ReadSnapshot::Active, |stored| {
        stored.file()
    })?;
    Ok(file.into_value())
}
