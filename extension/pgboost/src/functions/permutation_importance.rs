//! `permutation_importance`, how much worse a metric is without a feature's order.

use pg_interface::FunctionCallInfo;
use pgrx::iter::TableIterator;
use pgrx::{Array, pg_extern};

use super::source_arguments::{Texts, check_groups, levels, predictor};
use super::{Rows, at_least, optional_text, required};
use crate::evaluation::permutation::{Importance, Request, importances};
use crate::evaluation::target::Task;

/// `permutation_importance(model, source, target, metric, repeats, weight, qid, quantile_alpha, seed)
/// -> table(feature, importance, stddev)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn pgboost_permutation_importance(
    model: Option<&[u8]>,
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    metric: Option<&[u8]>,
    repeats: Option<i32>,
    weight: Option<&[u8]>,
    qid: Option<&[u8]>,
    quantile_alpha: Option<Array<'_, f64>>,
    seed: Option<i32>,
    call: FunctionCallInfo,
) -> Rows<(String, Option<f64>, Option<f64>)> {
    let (predictor, registry) = predictor(model, "model", call)?;
    let request = Request {
        rows: Texts { source, target, weight, by: None, group: qid }.request()?,
        metric: optional_text(metric, "metric")?,
        repeats: at_least(1, repeats, "repeats")?,
        seed: u64::from(required(seed, "seed")?.cast_unsigned()),
    };
    let levels = levels(quantile_alpha)?;
    let task = Task::of(&predictor, &registry, levels, "permutation_importance")?;
    check_groups(&task, &request.rows, "Leave it out for other models.")?;
    let rows = importances(predictor, &task, &request)?.into_iter();
    Ok(TableIterator::new(
        rows.map(|Importance { feature, mean, deviation }| (feature, mean, deviation)),
    ))
}
