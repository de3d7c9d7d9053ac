//! Primary keys of the tables that a query's columns come from.
//!
//! PostgreSQL marks each column of a result with the column of a table that it is, through subqueries and CTEs
//! (`markTargetListOrigins` in parse_target.c); those of a view are the view's, which has no key.

use std::collections::BTreeMap;

use pgrx::pg_sys::{self, Oid};
use pgrx::{PgList, Spi};

use super::error::Result;
use super::query::{Prepared, prepare};

/// The positions, counted from 0, of the columns that make up a primary key, for each table whose whole key is
/// among the columns of the query.
///
/// # Errors
/// [`super::SourceError::NotOneSelect`]. PostgreSQL's own are raised.
pub(super) fn primary_keys(query: &str, argument: &'static str) -> Result<Vec<Vec<usize>>> {
    Spi::connect(|_| {
        let tables = columns_of_tables(&prepare(query, argument)?);
        let keys = tables.into_iter().filter_map(|(table, columns)| {
            let key = key_of(Oid::from(table));
            let places = key.iter().map(|column| columns.get(column).copied());
            places.collect::<Option<Vec<usize>>>().filter(|places| !places.is_empty())
        });
        Ok(keys.collect())
    })
}

/// The columns of each table that are columns of the query, with their positions in it.
fn columns_of_tables(prepared: &Prepared) -> BTreeMap<u32, BTreeMap<i32, usize>> {
    let mut tables: BTreeMap<u32, BTreeMap<i32, usize>> = BTreeMap::new();
    // SAFETY: the plan is valid while SPI is connected, and has one source whose queries are analysed.
    let entries = unsafe {
        let sources = pg_sys::SPI_plan_get_plan_sources(prepared.plan);
        let source: *mut pg_sys::CachedPlanSource = (*(*sources).elements).ptr_value.cast();
        let queries = PgList::<pg_sys::Query>::from_pg((*source).query_list);
        let Some(query) = queries.get_ptr(0) else { return tables };
        PgList::<pg_sys::TargetEntry>::from_pg((*query).targetList)
    };
    // SAFETY: the entries are valid as the plan is.
    let entries = entries.iter_ptr().map(|entry| unsafe { &*entry }).filter(|entry| !entry.resjunk);
    for (position, entry) in entries.enumerate() {
        if entry.resorigtbl != Oid::INVALID {
            let columns = tables.entry(entry.resorigtbl.to_u32()).or_default();
            columns.insert(i32::from(entry.resorigcol), position);
        }
    }
    tables
}

/// The numbers of the columns of a table's primary key, none if it has no key.
fn key_of(table: Oid) -> Vec<i32> {
    let mut columns = Vec::new();
    let mut constraint = Oid::INVALID;
    // SAFETY: the table is locked by the plan that was just prepared; a missing key gives an empty set, and
    // members of the set are counted from `FirstLowInvalidHeapAttributeNumber`.
    unsafe {
        let key = pg_sys::get_primary_key_attnos(table, true, &raw mut constraint);
        let mut member = pg_sys::bms_next_member(key, -1);
        while member >= 0 {
            columns.push(member + pg_sys::FirstLowInvalidHeapAttributeNumber);
            member = pg_sys::bms_next_member(key, member);
        }
    }
    columns
}
