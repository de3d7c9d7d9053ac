//! `evaluate_model` and `compare_models`, the metrics of models on the rows of a source.

use pg_interface::FunctionCallInfo;
use pgrx::iter::TableIterator;
use pgrx::{Array, pg_extern};

use super::Rows;
use super::source_arguments::{Texts, check_groups, levels, predictor};
use crate::error::{Error, Result};
use crate::evaluation::comparison::Comparison;
use crate::evaluation::curve::{Areas, Curve};
use crate::evaluation::metrics::{self, Metrics};
use crate::evaluation::predictions::{Predictions, SourcePredictor};
use crate::evaluation::rows::{self, KnownRow, Request};
use crate::evaluation::target::Task;

type Evaluated = (Option<String>, String, Option<f64>, i64);

/// `evaluate_model(model, source, target, weight, slice_by, qid, quantile_alpha)
/// -> table(slice, metric, value, rows)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn pgboost_evaluate_model(
    model: Option<&[u8]>,
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    weight: Option<&[u8]>,
    slice_by: Option<&[u8]>,
    qid: Option<&[u8]>,
    quantile_alpha: Option<Array<'_, f64>>,
    call: FunctionCallInfo,
) -> Rows<Evaluated> {
    let (predictor, registry) = predictor(model, "model", call)?;
    let request = Texts { source, target, weight, by: slice_by, group: qid }.request()?;
    let task = Task::of(&predictor, &registry, levels(quantile_alpha)?, "evaluate_model")?;
    Ok(TableIterator::new(evaluate(predictor, &task, &request)?))
}

/// The metrics of one value of `slice_by`.
struct Slice {
    metrics: Box<dyn Metrics>,
    rows: i64,
}

/// Adds rows to the metrics of their slices, consecutive rows of a slice at once.
fn add_all(
    slices: &mut Vec<Slice>,
    rows: &[KnownRow],
    mut predictions: Predictions<'_>,
    empty: impl Fn() -> Box<dyn Metrics>,
) -> Result<()> {
    for run in rows.chunk_by(|row, next| row.slice == next.slice) {
        let number = run.first().map_or(0, |row| row.slice as usize);
        let (first, rest) = predictions.split_at(run.len());
        predictions = rest;
        while slices.len() <= number {
            slices.push(Slice { metrics: empty(), rows: 0 });
        }
        if let Some(slice) = slices.get_mut(number) {
            slice.rows += run.len() as i64;
            slice.metrics.add_all(run, first)?;
        }
    }
    Ok(())
}

fn evaluate(
    predictor: SourcePredictor,
    task: &Task,
    request: &Request<'_>,
) -> Result<Vec<Evaluated>> {
    check_groups(task, request, "Use slice_by for the metrics of each value of a column.")?;
    let mut curve = matches!(task, Task::Binary { .. }).then(Curve::default);
    let mut slices: Vec<Slice> = Vec::new();
    let bytes = metrics::bytes(task);
    let names = rows::each(&mut [predictor], task, bytes, request, &mut |rows, predictors| {
        let Some(predictor) = predictors.first() else { return Ok(()) };
        add_all(&mut slices, rows, predictor.predictions(), || metrics::of(task, request.target))?;
        curve.as_mut().map_or(Ok(()), |curve| curve.add_all(rows, predictor.predictions()))
    })?;
    let areas = curve.map(|curve| curve.areas(names.len())).transpose()?;
    let mut found = Vec::new();
    for (index, (name, mut slice)) in names.into_iter().zip(slices).enumerate() {
        let areas = areas.as_ref().map(|areas| areas.get(index).copied().unwrap_or_default());
        let areas = areas.into_iter().flat_map(Areas::named);
        for (metric, value) in slice.metrics.results()?.into_iter().chain(areas) {
            found.push((name.clone(), metric, value, slice.rows));
        }
    }
    Ok(found)
}

type Compared = (
    String,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    i64,
    i64,
    Option<&'static str>,
);

/// `compare_models(baseline, candidate, source, target, weight, quantile_alpha)
/// -> table(metric, baseline_value, candidate_value, difference, ci_lower, ci_upper, better_rows, worse_rows,
/// verdict)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn pgboost_compare_models(
    baseline: Option<&[u8]>,
    candidate: Option<&[u8]>,
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    weight: Option<&[u8]>,
    quantile_alpha: Option<Array<'_, f64>>,
    call: FunctionCallInfo,
) -> Rows<Compared> {
    const FUNCTION: &str = "compare_models";
    let request = Texts { source, target, weight, by: None, group: None }.request()?;
    let (first, registry) = predictor(baseline, "baseline", call)?;
    let (second, _) = predictor(candidate, "candidate", call)?;
    let levels = levels(quantile_alpha)?;
    let task = Task::of(&first, &registry, levels.clone(), FUNCTION)?;
    check_comparable(&first, &second, &task, &Task::of(&second, &registry, levels, FUNCTION)?)?;
    let mut comparison = Comparison::of(task.clone());
    rows::each(&mut [first, second], &task, 0, &request, &mut |rows, predictors| {
        if let [baseline, candidate] = predictors {
            let both = baseline.predictions().iter().zip(candidate.predictions().iter());
            rows.iter()
                .zip(both)
                .for_each(|(row, (baseline, candidate))| comparison.add(row, baseline, candidate));
        }
        Ok(())
    })?;
    let rows = comparison.results().into_iter().map(|row| {
        let difference = row.difference;
        let (mean, lower, upper) = (difference.mean, difference.lower, difference.upper);
        let verdict = row.baseline.and_then(|_| difference.verdict());
        (
            row.metric.to_owned(),
            row.baseline,
            row.candidate,
            mean,
            lower,
            upper,
            row.better,
            row.worse,
            verdict,
        )
    });
    Ok(TableIterator::new(rows))
}

/// Checks that both predict the same, with the same classes in the same order.
fn check_comparable(
    baseline: &SourcePredictor,
    candidate: &SourcePredictor,
    task: &Task,
    other: &Task,
) -> Result<()> {
    let labels = |predictor: &SourcePredictor| -> Vec<Option<String>> {
        let image = predictor.image();
        (0..image.num_labels()).map(|class| image.label(class).map(str::to_owned)).collect()
    };
    if *task == Task::Ranking {
        return Err(Error::EvaluationArgument {
            message: "compare_models cannot compare rankings",
            hint: "Compare the results of evaluate_model for each of them.",
        });
    }
    if task == other && labels(baseline) == labels(candidate) {
        return Ok(());
    }
    let (baseline, candidate) = (baseline.model().to_owned(), candidate.model().to_owned());
    Err(Error::NotComparable { baseline, candidate })
}
