//! The SQL functions, a file per verb. `pgboost.sql` declares them.

mod aggregates;
mod create_function;
mod drift;
#[allow(unsafe_code, reason = "C entry points; see the file's header")]
pub(crate) mod entry;
mod evaluate;
mod explanations;
mod inspect;
mod load;
mod predict;
mod versions;

use std::ffi::CStr;

use pg_interface::invalidation::ReadSnapshot;
use pg_interface::{FunctionCallInfo, session, varlena};

use crate::error::{Error, Result};
use crate::features::by_name::feature_name;
use crate::registry::lookup::{self, Deployed};
use crate::registry::reference::{Reference, Wanted};
use crate::registry::{self, Registry};

fn required<T>(value: Option<T>, argument: &'static str) -> Result<T> {
    value.ok_or(Error::NullArgument { argument })
}

/// A text argument that must be given. It is taken as bytes, because pgrx's own way to UTF-8 ends in
/// a bug report where the database's encoding is another.
fn required_text<'a>(value: Option<&'a [u8]>, argument: &'static str) -> Result<&'a str> {
    Ok(varlena::utf8(required(value, argument)?, argument)?)
}

/// The name in a reference to a whole model, which `@` must not follow.
fn whole_model(model: Option<&[u8]>) -> Result<&str> {
    let model = required_text(model, "model")?;
    let reference = Reference::parse(model)?;
    if reference.wanted == Wanted::Deployed {
        return Ok(reference.name);
    }
    Err(Error::WholeModel { reference: model.to_owned(), name: reference.name.to_owned() })
}

/// A version of a model that the current user owns.
struct OwnedVersion<'a> {
    registry: Registry,
    name: &'a str,
    version: i32,
}

impl<'a> OwnedVersion<'a> {
    /// The version that a reference means, for a change by this function.
    fn writable(
        call: FunctionCallInfo,
        function: &'static CStr,
        reference: &Reference<'a>,
    ) -> Result<Self> {
        session::require_writable(function);
        Self::find(call, reference)
    }

    fn find(call: FunctionCallInfo, reference: &Reference<'a>) -> Result<Self> {
        let registry = owned(call, reference.name)?;
        let deployed = exists(&registry, reference.name)?;
        let version = lookup::wanted_version(&registry, reference, deployed, ReadSnapshot::Active)?;
        Ok(OwnedVersion { registry, name: reference.name, version })
    }
}

/// The registry for a change by this function, once it is certain that the transaction may write,
/// that the model exists and that the current user owns it.
fn writable(call: FunctionCallInfo, function: &'static CStr, name: &str) -> Result<Registry> {
    session::require_writable(function);
    owned(call, name)
}

/// The registry, once it is certain that the model exists and the current user owns it.
fn owned(call: FunctionCallInfo, name: &str) -> Result<Registry> {
    let registry = Registry::of_function(pg_interface::call::called_function(call))?;
    exists(&registry, name)?;
    registry::require_owner(&registry, name, session::current_user())?;
    Ok(registry)
}

/// What is deployed of a model that exists.
fn exists(registry: &Registry, name: &str) -> Result<Deployed> {
    lookup::deployed_version(registry, name, ReadSnapshot::Active)
        .0
        .ok_or_else(|| Error::NoSuchModel { name: name.to_owned() })
}
