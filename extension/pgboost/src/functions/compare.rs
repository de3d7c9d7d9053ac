//! `compare_models`: two models on the same rows.

use pg_interface::{ErrorReport, FunctionCallInfo};
use pgrx::iter::TableIterator;
use pgrx::{Array, name, pg_extern};

use super::source::{Texts, levels, predictor};
use crate::error::{Error, Result};
use crate::evaluation::comparison::Comparison;
use crate::evaluation::rows;
use crate::evaluation::task::Task;
use crate::predictor::source::SourcePredictor;

/// `compare_models(baseline, candidate, source, target, weight, quantile_alpha)
/// -> table(metric, baseline_value, candidate_value, difference, ci_lower, ci_upper, better_rows, worse_rows,
/// verdict)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
fn pgboost_compare_models(
    baseline: Option<&[u8]>,
    candidate: Option<&[u8]>,
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    weight: Option<&[u8]>,
    quantile_alpha: Option<Array<'_, f64>>,
    call: FunctionCallInfo,
) -> std::result::Result<
    TableIterator<
        'static,
        (
            name!(metric, String),
            name!(baseline_value, Option<f64>),
            name!(candidate_value, Option<f64>),
            name!(difference, Option<f64>),
            name!(ci_lower, Option<f64>),
            name!(ci_upper, Option<f64>),
            name!(better_rows, i64),
            name!(worse_rows, i64),
            name!(verdict, Option<&'static str>),
        ),
    >,
    ErrorReport,
> {
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

/// Both must predict the same thing, of the same classes in the same order.
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
            hint: "Compare what evaluate_model returns for each of them.",
        });
    }
    if task == other && labels(baseline) == labels(candidate) {
        return Ok(());
    }
    let (baseline, candidate) = (baseline.model().to_owned(), candidate.model().to_owned());
    Err(Error::NotComparable { baseline, candidate })
}
