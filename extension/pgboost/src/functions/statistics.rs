//! `pgboost_statistics`, which the view `pg_stat_pgboost` calls, and `pg_stat_pgboost_reset`.

use pg_interface::{ErrorReport, FunctionCallInfo, call, fault, session};
use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern};

use super::{exists, required, required_text};
use crate::error::Result;
use crate::registry::{Registry, privilege};
use crate::statistics::{self, Counters};

/// Seconds from 1970, from which `to_timestamp` counts, to 2000, from which PostgreSQL counts.
const EPOCH: f64 = 946_684_800.0;

/// `pgboost_statistics(model, version) -> table(calls, rows, batches, total_time, missing_rows, outside_rows,
/// last_used)`
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
fn pgboost_statistics(
    model: Option<&[u8]>,
    version: Option<i32>,
    call: FunctionCallInfo,
) -> std::result::Result<
    TableIterator<
        'static,
        (
            name!(calls, i64),
            name!(rows, i64),
            name!(batches, i64),
            name!(total_time, f64),
            name!(missing_rows, i64),
            name!(outside_rows, i64),
            name!(last_used, Option<f64>),
        ),
    >,
    ErrorReport,
> {
    let counters = visible(required_text(model, "model")?, required(version, "version")?, call)?;
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let last_used = (counters.rows > 0).then_some(counters.last_used as f64 / 1e6 + EPOCH);
    Ok(TableIterator::once((
        count(counters.calls),
        count(counters.rows),
        count(counters.batches),
        counters.nanoseconds as f64 / 1e6,
        count(counters.missing),
        count(counters.outside),
        last_used,
    )))
}

fn visible(model: &str, version: i32, call: FunctionCallInfo) -> Result<Counters> {
    let registry = Registry::of_function(call::called_function(call))?;
    exists(&registry, model)?;
    let user = session::current_user();
    if !session::has_rights_of(user, session::READ_ALL_STATS) {
        privilege::require_predict(&registry, model, user)?;
    }
    Ok(statistics::counters(model, version))
}

/// `pg_stat_pgboost_reset()`
#[pg_extern(sql = false)]
fn pgboost_statistics_reset() {
    statistics::reset();
    fault::at("statistics: reset");
}
