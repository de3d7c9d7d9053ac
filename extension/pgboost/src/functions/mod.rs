//! The SQL functions, a file per verb. `pgboost.sql` declares them.

mod aggregates;
mod create_function;
mod drift;
mod effects;
#[allow(unsafe_code, reason = "C entry points; see the file's header")]
mod entry;
mod evaluate;
mod explanations;
mod export_sql;
mod inspect;
mod load;
mod predict;
mod scores;
mod source_arguments;
#[allow(unsafe_code, reason = "C entry points, and nodes of the planner")]
pub(crate) mod support;
mod update;
mod versions;

use std::ffi::CStr;

use pg_interface::invalidation::ReadSnapshot;
use pg_interface::{ErrorReport, FunctionCallInfo, session, varlena};
use pgrx::iter::TableIterator;

use crate::error::{Error, Result};
use crate::features::by_name::feature_name;
use crate::registry::lookup;
use crate::registry::model::Model;
use crate::registry::reference::{Reference, Wanted};
use crate::registry::{self, Registry};

/// The result of a function that PostgreSQL calls.
type Answer<T> = std::result::Result<T, ErrorReport>;

/// The rows of a function that returns a table.
type Rows<T> = Answer<TableIterator<'static, T>>;

fn required<T>(value: Option<T>, argument: &'static str) -> Result<T> {
    value.ok_or(Error::NullArgument { argument })
}

/// Returns a mandatory text argument. It is taken as bytes, because pgrx's conversion to UTF-8 raises an internal
/// error if the database has another encoding.
fn required_text<'a>(value: Option<&'a [u8]>, argument: &'static str) -> Result<&'a str> {
    Ok(varlena::utf8(required(value, argument)?, argument)?)
}

/// Returns an optional text argument.
fn optional_text<'a>(value: Option<&'a [u8]>, argument: &'static str) -> Result<Option<&'a str>> {
    value.map(|value| required_text(Some(value), argument)).transpose()
}

/// Returns a mandatory number that is not below `least`.
fn at_least(least: i32, value: Option<i32>, argument: &'static str) -> Result<usize> {
    let value = required(value, argument)?;
    let enough = usize::try_from(value).ok().filter(|_| value >= least);
    enough.ok_or(Error::TooSmall { argument, least })
}

/// Returns the name in a reference to a whole model, which must have no `@`.
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
    model: Model<'a>,
    version: i32,
}

impl<'a> OwnedVersion<'a> {
    /// Finds the version that a reference means, to be changed by this function.
    fn writable(
        call: FunctionCallInfo,
        function: &'static CStr,
        reference: &Reference<'a>,
    ) -> Result<Self> {
        session::require_writable(function);
        Self::find(call, reference)
    }

    fn find(call: FunctionCallInfo, reference: &Reference<'a>) -> Result<Self> {
        let model = owned(call, reference.name)?;
        let wanted = reference.wanted;
        let version = lookup::wanted_version(model, wanted, ReadSnapshot::Active)?;
        Ok(OwnedVersion { model, version })
    }
}

/// Finds a model to be changed by this function. Fails unless the transaction may write and the current user
/// owns the model.
fn writable<'a>(
    call: FunctionCallInfo,
    function: &'static CStr,
    name: &'a str,
) -> Result<Model<'a>> {
    session::require_writable(function);
    owned(call, name)
}

/// Finds a model. Fails unless the current user owns it.
fn owned(call: FunctionCallInfo, name: &str) -> Result<Model<'_>> {
    let registry = Registry::of_function(pg_interface::call::called_function(call))?;
    let model = Model::find(&registry, name, ReadSnapshot::Active)?;
    registry::require_owner(model, session::current_user())?;
    Ok(model)
}
