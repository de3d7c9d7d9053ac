//! The functions that `create_predict_function` has made, by the models that they are of.
//!
//! They are made, replaced and dropped with the caller's own rights. The registry has their names and
//! types as text, since a dump would carry other OIDs; a function that was renamed is the user's own.

use std::ops::ControlFlow;

use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::Oid;
use pgrx::spi;
use pgrx::{FromDatum, IntoDatum, Spi};

use super::Registry;
use super::statement::execute;
use crate::error::{Error, Result};
use crate::pg::catalog::quoted_schema;
use crate::pg::scan::{Key, rows};
use crate::pg::snapshot::ReadSnapshot;

/// The functions of a model, as texts that PostgreSQL reads as a regprocedure.
pub fn of_model(registry: &Registry, name: &str) -> Result<Vec<String>> {
    let mut functions = Vec::new();
    rows(registry.function()?, &[Key::Text(name)], ReadSnapshot::Latest, |row| {
        functions.extend(row.text(c"function"));
        ControlFlow::Continue(())
    });
    Ok(functions)
}

/// Notes a function that was just made. Returns its OID.
pub fn note(registry: &Registry, name: &str, function: &str) -> Result<Oid> {
    execute(
        registry,
        "INSERT INTO {schema}.pgboost_function (model, function) VALUES ($1, $2) \
         ON CONFLICT DO NOTHING",
        &[name.into(), function.into()],
    )?;
    let oid = ask::<Oid>("SELECT pg_catalog.to_regprocedure($1)::pg_catalog.oid", &[function])?;
    oid.ok_or_else(|| Error::Registry { name: name.to_owned(), what: "function" })
}

/// Whether a function that was just made calls that one of the extension's, and not another of its name.
pub fn calls(registry: &Registry, function: &str, called: &str) -> Result<bool> {
    let called =
        format!("{}.{called}(pg_catalog.text, pg_catalog.\"any\")", quoted_schema(registry.schema));
    let found = ask::<bool>(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_depend AS d \
         WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass \
         AND d.objid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure($1) \
         AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass \
         AND d.refobjid OPERATOR(pg_catalog.=) pg_catalog.to_regprocedure($2))",
        &[function, &called],
    )?;
    Ok(found == Some(true))
}

/// Drops a function of a model, if it is still there.
pub fn drop_function(registry: &Registry, name: &str, function: &str) -> Result<()> {
    let there = "SELECT pg_catalog.to_regprocedure($1) IS NOT NULL";
    if ask::<bool>(there, &[function])? == Some(true) {
        run(&format!("DROP FUNCTION {function}"))?;
    }
    execute(
        registry,
        "DELETE FROM {schema}.pgboost_function AS f WHERE f.model = $1 AND f.function = $2",
        &[name.into(), function.into()],
    )
}

/// Whether the schema has a function of that name, with whatever arguments.
pub fn exists(schema: &str, name: &str) -> Result<bool> {
    let found = ask::<bool>(
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n \
         ON n.oid OPERATOR(pg_catalog.=) p.pronamespace WHERE n.nspname OPERATOR(pg_catalog.=) $1 \
         AND p.proname OPERATOR(pg_catalog.=) $2)",
        &[schema, name],
    )?;
    Ok(found == Some(true))
}

/// The schema in which the caller's statements make things.
pub fn current_schema() -> Result<String> {
    let schema = ask::<String>("SELECT pg_catalog.current_schema()::pg_catalog.text", &[])?;
    schema.ok_or(Error::NoSchema)
}

/// Runs a statement that changes the database, as the caller.
pub fn run(statement: &str) -> Result<()> {
    answer(Spi::connect_mut(|client| client.update(statement, None, &[]).map(|_| ())))
}

fn ask<T: FromDatum + IntoDatum>(query: &str, arguments: &[&str]) -> Result<Option<T>> {
    let arguments: Vec<DatumWithOid<'_>> = arguments.iter().map(|text| (*text).into()).collect();
    answer(Spi::get_one_with_args(query, &arguments))
}

/// PostgreSQL's own errors do not come back here; what does is a result of another shape.
fn answer<T>(result: spi::Result<T>) -> Result<T> {
    result.map_err(|_| Error::Registry { name: String::new(), what: "answer" })
}
