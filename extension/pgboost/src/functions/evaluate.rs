//! `evaluate_model`: how good a model is on a table or query.

use pg_interface::{ErrorReport, FunctionCallInfo};
use pgrx::iter::TableIterator;
use pgrx::{Array, name, pg_extern};

use super::source::{Texts, levels, predictor};
use crate::error::{Error, Result};
use crate::evaluation::curve::{Areas, Curve};
use crate::evaluation::metrics::{self, Metrics};
use crate::evaluation::rows::{self, KnownRow, Request};
use crate::evaluation::task::Task;
use crate::predictor::source::{Predictions, SourcePredictor};

type Evaluated = (Option<String>, String, Option<f64>, i64);

/// `evaluate_model(model, source, target, weight, slice_by, qid, quantile_alpha)
/// -> table(slice, metric, value, rows)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
fn pgboost_evaluate_model(
    model: Option<&[u8]>,
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    weight: Option<&[u8]>,
    slice_by: Option<&[u8]>,
    qid: Option<&[u8]>,
    quantile_alpha: Option<Array<'_, f64>>,
    call: FunctionCallInfo,
) -> std::result::Result<
    TableIterator<
        'static,
        (
            name!(slice, Option<String>),
            name!(metric, String),
            name!(value, Option<f64>),
            name!(rows, i64),
        ),
    >,
    ErrorReport,
> {
    let (predictor, registry) = predictor(model, "model", call)?;
    let request = Texts { source, target, weight, by: slice_by, group: qid }.request()?;
    let task = Task::of(&predictor, &registry, levels(quantile_alpha)?, "evaluate_model")?;
    Ok(TableIterator::new(evaluate(predictor, &task, &request)?))
}

/// The metrics of one value of `slice_by`.
struct Part {
    metrics: Box<dyn Metrics>,
    rows: i64,
}

/// Adds rows to the metrics of their parts, each run of one part at once.
fn add_all(
    parts: &mut Vec<Part>,
    rows: &[KnownRow],
    mut predictions: Predictions<'_>,
    empty: impl Fn() -> Box<dyn Metrics>,
) -> Result<()> {
    for run in rows.chunk_by(|row, next| row.part == next.part) {
        let number = run.first().map_or(0, |row| row.part as usize);
        let (first, rest) = predictions.split_at(run.len());
        predictions = rest;
        while parts.len() <= number {
            parts.push(Part { metrics: empty(), rows: 0 });
        }
        if let Some(part) = parts.get_mut(number) {
            part.rows += run.len() as i64;
            part.metrics.add_all(run, first)?;
        }
    }
    Ok(())
}

fn evaluate(
    predictor: SourcePredictor,
    task: &Task,
    request: &Request<'_>,
) -> Result<Vec<Evaluated>> {
    let ranking = *task == Task::Ranking;
    if ranking != request.group.is_some() {
        return Err(if ranking {
            Error::EvaluationArgument {
                message: "a ranking needs groups",
                hint: "Name the column of the group with qid.",
            }
        } else {
            Error::EvaluationArgument {
                message: "qid is for rankings",
                hint: "Use slice_by for the metrics of each value of a column.",
            }
        });
    }
    let mut curve = matches!(task, Task::Binary { .. }).then(Curve::default);
    let mut parts: Vec<Part> = Vec::new();
    let bytes = metrics::bytes(task);
    let names = rows::each(&mut [predictor], task, bytes, request, &mut |rows, predictors| {
        let Some(predictor) = predictors.first() else { return Ok(()) };
        add_all(&mut parts, rows, predictor.predictions(), || metrics::of(task, request.target))?;
        curve.as_mut().map_or(Ok(()), |curve| curve.add_all(rows, predictor.predictions()))
    })?;
    let areas = curve.map(|curve| curve.areas(names.len())).transpose()?;
    let mut found = Vec::new();
    for (index, (name, mut part)) in names.into_iter().zip(parts).enumerate() {
        let areas = areas.as_ref().map(|areas| areas.get(index).copied().unwrap_or_default());
        let areas = areas.into_iter().flat_map(|Areas { auc, average_precision }| {
            [("auc".to_owned(), auc), ("aucpr".to_owned(), average_precision)]
        });
        for (metric, value) in part.metrics.results()?.into_iter().chain(areas) {
            found.push((name.clone(), metric, value, part.rows));
        }
    }
    Ok(found)
}
