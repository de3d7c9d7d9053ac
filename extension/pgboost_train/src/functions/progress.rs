//! The trainings that are running, for the view `pg_stat_progress_train_model`.

use pg_interface::{fault, session};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern, pg_sys};

use crate::training::progress;

/// `progress_records()`: what backends have written that the current user may see.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
fn pgboost_progress_records() -> TableIterator<
    'static,
    (
        name!(pid, i32),
        name!(backend_start, Option<TimestampWithTimeZone>),
        name!(model, Option<String>),
        name!(phase, String),
        name!(rows_read, i64),
        name!(round, i32),
        name!(rounds, i32),
        name!(metric, Option<String>),
    ),
> {
    fault::at("progress: asked");
    let visible = |user| session::may_watch(pg_sys::Oid::from(user));
    let records = progress::records().into_iter().filter(move |(_, record)| visible(record.user));
    let round = |round| i32::try_from(round).unwrap_or(0);
    TableIterator::new(records.map(move |(pid, record)| {
        (
            pid,
            TimestampWithTimeZone::try_from(record.backend_start).ok(),
            record.model,
            record.phase,
            i64::try_from(record.rows_read).unwrap_or(0),
            round(record.round),
            round(record.rounds),
            (!record.metric.is_empty()).then_some(record.metric),
        )
    }))
}
