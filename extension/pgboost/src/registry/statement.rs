//! SQL statements on the registry's tables, run as their owner.
//!
//! Nobody else is granted anything on the tables. Every name in a statement is qualified, and only
//! PostgreSQL's own schema is on the search path, so that no user's function or operator can take
//! part. Whether the user may do what the statement does was checked before.

use pg_interface::{fault, jsonb, session};
use pgrx::datum::DatumWithOid;
use pgrx::spi;
use pgrx::{AnyElement, FromDatum, IntoDatum, Spi};

use super::Registry;
use crate::error::{Error, Result};

/// Runs a statement that changes the registry and returns no rows.
pub fn execute(registry: &Registry, statement: &str, arguments: &[DatumWithOid<'_>]) -> Result<()> {
    as_owner(registry, statement, |statement| {
        Spi::connect_mut(|client| {
            let done = client.update(statement, None, arguments).map(|_| ());
            fault::at("registry: written");
            done
        })
    })
}

/// Runs a statement that changes the registry and returns at most one row. Returns its first column, if
/// there is a row.
pub fn query<T: FromDatum + IntoDatum>(
    registry: &Registry,
    statement: &str,
    arguments: &[DatumWithOid<'_>],
) -> Result<Option<T>> {
    as_owner(registry, statement, |statement| {
        Spi::connect_mut(|client| {
            let table = client.update(statement, None, arguments)?;
            fault::at("registry: asked");
            if table.is_empty() { Ok(None) } else { table.first().get_one::<T>() }
        })
    })
}

/// Runs a statement that only reads, and returns the jsonb of its first row, if there is one. It may
/// run on a standby.
pub fn query_jsonb(
    registry: &Registry,
    statement: &str,
    arguments: &[DatumWithOid<'_>],
) -> Result<Option<AnyElement>> {
    as_owner(registry, statement, |statement| {
        Spi::connect(|client| {
            let table = client.select(statement, None, arguments)?;
            let row = if table.is_empty() { return Ok(None) } else { table.first() };
            Ok(row.get_datum_by_ordinal(1)?.and_then(jsonb::outlive_spi))
        })
    })
}

fn as_owner<T>(
    registry: &Registry,
    statement: &str,
    run: impl FnOnce(&str) -> spi::Result<T>,
) -> Result<T> {
    // PostgreSQL's own errors do not come back here; what does is a result of another shape.
    session::as_user(registry.owner, || run(statement))
        .map_err(|_| Error::Registry { name: String::new(), what: "answer" })
}
