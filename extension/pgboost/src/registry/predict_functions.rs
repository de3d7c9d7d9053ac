//! The functions that `create_predict_function` has created, by model.
//!
//! They are created, replaced and dropped with the caller's privileges. The registry has their names and types as
//! text, since OIDs change in a dump; a renamed function no longer belongs to the model. After a function was
//! dropped, another role may use its name: so a function of that name counts as the model's only if it calls a
//! function of the extension with that model, and belongs to an owner of the model.

use std::ops::ControlFlow;

use pg_interface::dependency::{Object, Stored};
use pg_interface::invalidation::ReadSnapshot;
use pg_interface::nodes::StoredText;
use pg_interface::scan::rows;
use pg_interface::transaction::{Lock, Mode};
use pg_interface::{Oid, catalog, session, varlena};
use pgrx::datum::DatumWithOid;
use pgrx::{FromDatum, IntoDatum, Spi, spi};

use super::model::{Model, ModelId};
use super::reference::{Reference, Wanted};
use super::{Access, Registry, function_of, query};
use crate::error::{Error, Result};

/// Returns the functions of a model, as texts that PostgreSQL reads as a regprocedure.
pub(crate) fn of_model(registry: &Registry, model: ModelId) -> Result<Vec<String>> {
    let mut functions = Vec::new();
    rows(registry.function()?, &[model.key()], ReadSnapshot::Latest, |row| {
        functions.extend(row.text(c"function"));
        ControlFlow::Continue(())
    });
    Ok(functions)
}

/// Records a function that was just created. Returns its OID.
pub(crate) fn record(model: Model<'_>, signature: &str) -> Result<Oid> {
    model.execute(
        "INSERT INTO pgboost_catalog.function (model, function) VALUES ($1, $2) \
         ON CONFLICT DO NOTHING",
        [signature.into()],
    )?;
    found(&model.registry, signature)?
        .ok_or_else(|| Error::Registry { name: model.name.to_owned(), what: "function" })
}

/// Returns whether a function calls one for which `is_meant` holds, with the model, or with the `wanted` reference
/// to it.
fn predicts(
    function: &Stored,
    name: &str,
    wanted: Option<Wanted<'_>>,
    is_meant: impl Fn(Oid) -> bool,
) -> bool {
    function.calls().iter().any(|(called, given)| {
        let model = given.first().map(|model| model.stored_text());
        is_meant(*called)
            && matches!(model, Some(StoredText::Constant(model))
            if Reference::parse(&model).is_ok_and(|reference| {
                reference.name == name && wanted.is_none_or(|wanted| reference.wanted == wanted)
            }))
    })
}

/// Returns whether a function that was just created calls the extension's `output`, and not another function of
/// that name.
pub(crate) fn predicts_by(
    registry: &Registry,
    signature: &str,
    output: &str,
    name: &str,
) -> Result<bool> {
    let output = function_of(registry, output)?;
    let made = found(registry, signature)?.and_then(|function| Object::function(function).stored());
    Ok(made.is_some_and(|function| predicts(&function, name, None, |called| called == output)))
}

/// Finds an existing function of a model, or of the `wanted` reference to it, that is still the model's.
pub(crate) fn existing(model: Model<'_>, wanted: Option<Wanted<'_>>) -> Result<Option<String>> {
    for signature in of_model(&model.registry, model.id)? {
        if let Some(function) = found(&model.registry, &signature)?
            && owner_of(model, wanted, function).is_some()
        {
            return Ok(Some(signature));
        }
    }
    Ok(None)
}

/// Drops a function of a model, if it is still the model's and the user may drop it. The model still has its
/// owner.
pub(crate) fn drop_function(model: Model<'_>, signature: &str) -> Result<()> {
    if let Some(function) = found(&model.registry, signature)? {
        Lock::of_function(function).take(Mode::Changed);
        // It may have been renamed, or dropped, before it was locked.
        if found(&model.registry, signature)? == Some(function)
            && let Some(owner) = owner_of(model, None, function)
            && session::has_rights_of(session::current_user(), owner)
        {
            catalog::drop_function(function);
        }
    }
    model.execute(
        "DELETE FROM pgboost_catalog.function AS f WHERE f.model = $1 AND f.function = $2",
        [signature.into()],
    )
}

/// Returns the owner of a function, if it is the model's: it calls the model, and belongs to an owner of it.
fn owner_of(model: Model<'_>, wanted: Option<Wanted<'_>>, function: Oid) -> Option<Oid> {
    let is_extensions = |called| catalog::schema_of(called) == model.registry.functions;
    let function = Object::function(function).stored()?;
    function.owner.filter(|owner| {
        model.access(*owner) == Access::Owner
            && predicts(&function, model.name, wanted, is_extensions)
    })
}

/// Finds the function of that signature, with the privileges of the registry's owner, since the function's owner
/// may have lost those for its schema.
fn found(registry: &Registry, signature: &str) -> Result<Option<Oid>> {
    query::<Oid>(
        registry,
        "SELECT pg_catalog.to_regprocedure($1)::pg_catalog.oid",
        &[signature.into()],
    )
}

/// Returns whether the function of that signature exists with these names of arguments.
pub(crate) fn has_arguments(
    registry: &Registry,
    signature: &str,
    names: Vec<String>,
) -> Result<bool> {
    let found = query::<bool>(
        registry,
        "SELECT true FROM pg_catalog.pg_proc AS p \
         WHERE p.oid = pg_catalog.to_regprocedure($1)::pg_catalog.oid AND p.proargnames = $2",
        &[signature.into(), names.into()],
    )?;
    Ok(found == Some(true))
}

/// Returns whether the schema has a function of that name, with any arguments.
pub(crate) fn exists(schema: &str, name: &str) -> Result<bool> {
    let found = ask::<bool>(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n \
         ON n.oid OPERATOR(pg_catalog.=) p.pronamespace WHERE n.nspname OPERATOR(pg_catalog.=) $1 \
         AND p.proname OPERATOR(pg_catalog.=) $2)",
        &[schema, name],
    )?;
    Ok(found == Some(true))
}

/// Returns the schema in which the caller's statements create objects.
pub(crate) fn current_schema() -> Result<String> {
    // As bytes, since pgrx's conversion to UTF-8 fails in databases of another encoding.
    let schema = ask::<Vec<u8>>(
        "SELECT pg_catalog.convert_to(pg_catalog.current_schema()::pg_catalog.text, \
         pg_catalog.getdatabaseencoding())",
        &[],
    )?;
    let schema = schema.ok_or(Error::NoSchema)?;
    Ok(varlena::utf8(&schema, "a schema's name")?.to_owned())
}

/// Runs a statement that changes the database, as the caller.
pub(crate) fn run(statement: &str) -> Result<()> {
    answer(Spi::connect_mut(|client| client.update(statement, None, &[]).map(|_| ())))
}

/// Returns the first column of a query's first row, as the caller.
pub(crate) fn ask<T: FromDatum + IntoDatum>(query: &str, arguments: &[&str]) -> Result<Option<T>> {
    let arguments: Vec<DatumWithOid<'_>> = arguments.iter().map(|text| (*text).into()).collect();
    answer(Spi::get_one_with_args(query, &arguments))
}

/// Converts a result. PostgreSQL's own errors do not return here; only a result of another shape does.
fn answer<T>(result: spi::Result<T>) -> Result<T> {
    result.map_err(|_| Error::Registry { name: String::new(), what: "answer" })
}
