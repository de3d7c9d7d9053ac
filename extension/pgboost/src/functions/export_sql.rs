//! `export_model_sql`: a version as a script of plain SQL functions, for servers without the extension, and the
//! script that drops them.

use gbtrees::sql::{Options, UnknownCategory, drop_script, export_ensemble};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::report::check_for_interrupts;
use pg_interface::{FunctionCallInfo, varlena};
use pgrx::pg_extern;

use super::{Answer, OwnedVersion, optional_text, required, required_text};
use crate::error::{Error, Result};
use crate::guc::{self, UnknownRule};
use crate::registry::lookup;
use crate::registry::reference::{Reference, Wanted};

/// `export_model_sql(model, function, schema, drop) -> text`
#[pg_extern(sql = false)]
fn pgboost_export_model_sql(
    model: Option<&[u8]>,
    function: Option<&[u8]>,
    schema: Option<&[u8]>,
    drop: Option<bool>,
    call: FunctionCallInfo,
) -> Answer<String> {
    let reference = Reference::parse(required_text(model, "model")?)?;
    let schema = required_text(schema, "schema")?;
    let function = optional_text(function, "function")?.unwrap_or(reference.name);
    let found = OwnedVersion::find(call, &reference)?;
    let options = Options::new(function).schema(schema);
    let script = match required(drop, "drop")? {
        true => dropped(&reference, &found, options)?,
        false => exported(&found, options)?,
    };
    Ok(varlena::require_representable(script, "script").map_err(Error::from)?)
}

fn exported(found: &OwnedVersion<'_>, options: Options) -> Result<String> {
    let OwnedVersion { model, version } = found;
    let options = options.version(version.unsigned_abs());
    lookup::with_version(*model, *version, ReadSnapshot::Active, |stored| {
        let cancel = gbtrees::Cancel::unwinding(&check_for_interrupts);
        let options = options.unknown_category(match stored.unknown_rule() {
            UnknownRule::Policy(guc::UnknownCategory::Missing) => UnknownCategory::Missing,
            _ => UnknownCategory::Error,
        });
        Ok(export_ensemble(&stored.model()?, &stored.labels(), &options, cancel)?)
    })
}

/// Of a whole model, the functions that stand before those of its versions are dropped.
fn dropped(
    reference: &Reference<'_>,
    found: &OwnedVersion<'_>,
    options: Options,
) -> Result<String> {
    let options = match reference.wanted {
        Wanted::Deployed => options,
        _ => options.version(found.version.unsigned_abs()),
    };
    Ok(drop_script(&options)?)
}
