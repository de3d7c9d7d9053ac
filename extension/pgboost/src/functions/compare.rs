//! `compare_models`: two models on the same rows.

use pgrx::iter::TableIterator;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{Array, name, pg_extern, pg_sys};

use super::source::{Texts, levels, predictor};
use crate::error::{Error, Result};
use crate::evaluation::comparison::Comparison;
use crate::evaluation::rows;
use crate::evaluation::task::Task;
use crate::predictor::source::SourcePredictor;

/// `compare_models(a, b, source, target, weight, quantile_alpha)
/// -> table(metric, value_a, value_b, difference, lower, upper, better, worse)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
fn pgboost_compare_models(
    a: Option<&[u8]>,
    b: Option<&[u8]>,
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    weight: Option<&[u8]>,
    quantile_alpha: Option<Array<'_, f64>>,
    call: pg_sys::FunctionCallInfo,
) -> std::result::Result<
    TableIterator<
        'static,
        (
            name!(metric, String),
            name!(value_a, Option<f64>),
            name!(value_b, Option<f64>),
            name!(difference, Option<f64>),
            name!(lower, Option<f64>),
            name!(upper, Option<f64>),
            name!(better, i64),
            name!(worse, i64),
        ),
    >,
    ErrorReport,
> {
    const FUNCTION: &str = "compare_models";
    let request = Texts { source, target, weight, by: None, group: None }.request()?;
    let ((first, registry), (second, _)) = (predictor(a, call)?, predictor(b, call)?);
    let levels = levels(quantile_alpha)?;
    let task = Task::of(&first, &registry, levels.clone(), FUNCTION)?;
    check_comparable(&first, &second, &task, &Task::of(&second, &registry, levels, FUNCTION)?)?;
    let mut comparison = Comparison::of(task.clone());
    rows::each(&mut [first, second], &task, 0, &request, &mut |rows, predictors| {
        if let [a, b] = predictors {
            let both = a.predictions().iter().zip(b.predictions().iter());
            rows.iter().zip(both).for_each(|(row, (a, b))| comparison.add(row, a, b));
        }
        Ok(())
    })?;
    let rows = comparison.results().into_iter().map(|row| {
        let difference = row.difference;
        let (mean, lower, upper) = (difference.mean, difference.lower, difference.upper);
        (row.metric.to_owned(), row.a, row.b, mean, lower, upper, row.better, row.worse)
    });
    Ok(TableIterator::new(rows))
}

/// Both must predict the same thing, of the same classes in the same order.
fn check_comparable(
    a: &SourcePredictor,
    b: &SourcePredictor,
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
    if task == other && labels(a) == labels(b) {
        return Ok(());
    }
    Err(Error::NotComparable { a: a.model().to_owned(), b: b.model().to_owned() })
}
