//! The trainings that are running, for the view `pg_stat_progress_train_model`.

use pgrx::datum::TimestampWithTimeZone;
use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern, pg_sys};

use crate::pg::backend;
use crate::training::progress::{self, Record};

/// The row of the view for a record.
type Row = (i32, Option<TimestampWithTimeZone>, String, String, i64, i32, i32, Option<String>);

/// `pgboost_progress_records()`: what backends have written that the current user may see.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
fn pgboost_progress_records() -> TableIterator<
    'static,
    (
        name!(pid, i32),
        name!(backend_start, Option<TimestampWithTimeZone>),
        name!(model, String),
        name!(phase, String),
        name!(rows_read, i64),
        name!(round, i32),
        name!(rounds, i32),
        name!(metric, Option<String>),
    ),
> {
    let visible = |record: &Record| {
        let user = u32::try_from(record.number("user")).unwrap_or(0);
        backend::may_watch(pg_sys::Oid::from(user))
    };
    let rows: Vec<Row> = progress::records().into_iter().filter(visible).map(row).collect();
    TableIterator::new(rows)
}

fn row(record: Record) -> Row {
    let round = |field| i32::try_from(record.number(field)).unwrap_or(0);
    let metric = record.text("metric");
    (
        record.pid,
        TimestampWithTimeZone::try_from(record.number("backend_start")).ok(),
        record.text("model"),
        record.text("phase"),
        record.number("rows_read"),
        round("round"),
        round("rounds"),
        (!metric.is_empty()).then_some(metric),
    )
}
