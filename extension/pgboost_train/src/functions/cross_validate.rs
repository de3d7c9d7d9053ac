//! `cross_validate_model`: how good models are that are trained on all folds of the rows but one.

use pgrx::iter::TableIterator;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{AnyElement, name, pg_extern};

use super::arguments::{self, Arguments};
use super::train::notice_skipped;
use crate::training::Score;
use crate::training::cross_validation::cross_validate;
use crate::training::progress::Progress;

/// `cross_validate_model(source, target, ...) -> table(round, metric, train_mean, train_std, eval_mean,
/// eval_std, train, eval)`
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
#[allow(clippy::too_many_arguments, reason = "they are the SQL function's")]
fn pgboost_cross_validate_model(
    source: Option<&str>,
    target: Option<&str>,
    params: Option<AnyElement>,
    rounds: Option<i32>,
    features: Option<Vec<Option<String>>>,
    weight: Option<&str>,
    qid: Option<&str>,
    label_upper_bound: Option<&str>,
    folds: Option<i32>,
    fold_by: Option<&str>,
    stratified: Option<bool>,
    early_stopping_rounds: Option<i32>,
    seed: Option<i32>,
    verbose_eval: Option<i32>,
) -> std::result::Result<
    TableIterator<
        'static,
        (
            name!(round, i32),
            name!(metric, String),
            name!(train_mean, f64),
            name!(train_std, f64),
            name!(eval_mean, f64),
            name!(eval_std, f64),
            name!(train, Vec<f64>),
            name!(eval, Vec<f64>),
        ),
    >,
    ErrorReport,
> {
    let request = Arguments {
        source,
        target,
        rounds,
        features,
        weight,
        qid,
        label_upper_bound,
        folds,
        fold_by,
        stratified,
        folds_by_default: true,
        early_stopping_rounds,
        seed,
        verbose_eval,
        ..Arguments::default()
    }
    .request(&arguments::json(params)?)?;
    let mut progress = Progress::begin(None, request.rounds);
    let (history, skipped) = cross_validate(&request, &mut progress)?;
    notice_skipped(skipped);
    let rounds = (1..).zip(history);
    Ok(TableIterator::new(rounds.flat_map(|(round, scores)| {
        let (train, eval): (Vec<Score>, Vec<Score>) =
            scores.into_iter().partition(|score| score.set == "train");
        train.into_iter().zip(eval).map(move |(train, eval)| {
            (
                round,
                eval.metric.clone(),
                train.mean(),
                train.deviation(),
                eval.mean(),
                eval.deviation(),
                train.values,
                eval.values,
            )
        })
    })))
}
