//! `export_model`: the bytes as they came.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{AnyElement, pg_extern, pg_sys};

use super::{exists, owned, required_text};
use crate::pg::snapshot::ReadSnapshot;
use crate::registry::lookup;

/// `export_model(name, version) -> bytea`
#[pg_extern(sql = false)]
fn pgboost_export_model(
    name: Option<&[u8]>,
    version: Option<i32>,
    call: pg_sys::FunctionCallInfo,
) -> Result<Option<AnyElement>, ErrorReport> {
    let name = required_text(name, "name")?;
    let registry = owned(call, name)?;
    let version = match version {
        Some(version) => version,
        None => exists(&registry, name)?.version(name)?,
    };
    let file = lookup::with_version(&registry, name, version, ReadSnapshot::Active, |stored| {
        stored.file()
    })?;
    Ok(file.into_value())
}
