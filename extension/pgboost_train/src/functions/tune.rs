//! `tune_model`: which parameters are best on rows that were not trained on.

use pgrx::iter::TableIterator;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{AnyElement, JsonB, name, pg_extern};
use serde_json::{Map, Value};

use super::arguments::{self, Arguments};
use super::required;
use super::train::notice_skipped;
use crate::error::{Error, Result};
use crate::params::value::type_name;
use crate::training::Request;
use crate::training::progress::Progress;
use crate::training::search::{combinations, search as search_all};

/// `tune_model(source, target, search, ...) -> table(trial, best, metric, best_round, train, eval, eval_std,
/// params)`
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
#[allow(clippy::too_many_arguments, reason = "they are the SQL function's")]
fn pgboost_tune_model(
    source: Option<&str>,
    target: Option<&str>,
    search: Option<AnyElement>,
    params: Option<AnyElement>,
    trials: Option<i32>,
    rounds: Option<i32>,
    features: Option<Vec<Option<String>>>,
    weight: Option<&str>,
    qid: Option<&str>,
    label_upper_bound: Option<&str>,
    eval_fraction: Option<f64>,
    eval_source: Option<&str>,
    folds: Option<i32>,
    fold_by: Option<&str>,
    stratified: Option<bool>,
    early_stopping_rounds: Option<i32>,
    seed: Option<i32>,
) -> std::result::Result<
    TableIterator<
        'static,
        (
            name!(trial, i32),
            name!(best, bool),
            name!(metric, String),
            name!(best_round, i32),
            name!(train, f64),
            name!(eval, f64),
            name!(eval_std, Option<f64>),
            name!(params, JsonB),
        ),
    >,
    ErrorReport,
> {
    let no_way = [eval_fraction.is_none(), eval_source.is_none(), fold_by.is_none()];
    let arguments = Arguments {
        source,
        target,
        rounds,
        features,
        weight,
        qid,
        label_upper_bound,
        eval_fraction,
        eval_source,
        folds,
        fold_by,
        stratified,
        folds_by_default: no_way == [true; 3],
        early_stopping_rounds,
        seed,
        ..Arguments::default()
    };
    let search = arguments::json(Some(required(search, "search")?))?;
    let trials = trials.map(arguments::trials).transpose()?;
    let requests = requests(&arguments, &search, arguments::json(params)?, trials)?;
    let mut progress = Progress::begin(None, requests.first().map_or(0, |first| first.rounds));
    let (trials, skipped) = search_all(&requests, &mut progress)?;
    notice_skipped(skipped);
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let rows = trials.into_iter().map(move |trial| {
        (
            count(trial.number),
            trial.best,
            trial.metric,
            count(trial.rounds as usize),
            trial.train,
            trial.eval,
            trial.deviation,
            JsonB(trial.parameters.into()),
        )
    });
    Ok(TableIterator::new(rows))
}

/// A request for each combination, which has the common parameters too.
fn requests(
    arguments: &Arguments<'_>,
    search: &Value,
    params: Value,
    trials: Option<u32>,
) -> Result<Vec<Request>> {
    let Value::Object(common) = params else {
        return Err(Error::ParametersForm { given: type_name(&params) });
    };
    let drawn = combinations(search, trials, arguments.seed.unwrap_or(0))?;
    drawn.into_iter().map(|one| arguments.request(&joined(&common, one)?)).collect()
}

fn joined(common: &Map<String, Value>, trial: Map<String, Value>) -> Result<Value> {
    let mut all = common.clone();
    for (name, value) in trial {
        if all.insert(name, value).is_some() {
            return Err(Error::Arguments {
                message: "a parameter is in both search and params",
                hint: "Leave it out of params.",
            });
        }
    }
    Ok(Value::Object(all))
}
