//! `train_model`: rows of a source become a new version of a model.

use pg_interface::{report, session};
use pgrx::iter::TableIterator;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{AnyElement, JsonB, name, pg_extern};
use serde_json::{Map, Value, json};

use super::arguments::{self, Arguments};
use super::required;
use crate::error::Result;
use crate::registry::{Registry, Trained};
use crate::training::progress::{Phase, Progress};
use crate::training::start::Start;
use crate::training::{self, Outcome, Request, Score};

/// `train_model(model, source, target, ...) -> table(set, metric, best_round, value)`
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
#[allow(clippy::too_many_arguments, reason = "they are the SQL function's")]
fn pgboost_train_model(
    model: Option<&str>,
    source: Option<&str>,
    target: Option<&str>,
    params: Option<AnyElement>,
    rounds: Option<i32>,
    features: Option<Vec<Option<String>>>,
    weight: Option<&str>,
    qid: Option<&str>,
    label_upper_bound: Option<&str>,
    eval_fraction: Option<f64>,
    eval_source: Option<&str>,
    early_stopping_rounds: Option<i32>,
    seed: Option<i32>,
    verbose_eval: Option<i32>,
    continue_from: Option<&str>,
    deploy: Option<bool>,
) -> std::result::Result<
    TableIterator<
        'static,
        (name!(set, String), name!(metric, String), name!(best_round, i32), name!(value, f64)),
    >,
    ErrorReport,
> {
    session::require_writable(c"train_model()");
    let request = Arguments {
        source,
        target,
        rounds,
        features,
        weight,
        qid,
        label_upper_bound,
        eval_fraction,
        eval_source,
        early_stopping_rounds,
        seed,
        verbose_eval,
        ..Arguments::default()
    }
    .request(&arguments::json(params)?)?;
    let (name, deploy) = (required(model, "model")?, required(deploy, "deploy")?);
    let (rounds, scores) = train(name, &request, continue_from, deploy)?;
    let rows: Vec<_> = scores
        .into_iter()
        .map(|score| (score.set.clone(), score.metric.clone(), rounds, score.mean()))
        .collect();
    Ok(TableIterator::new(rows))
}

fn train(
    name: &str,
    request: &Request,
    continue_from: Option<&str>,
    deploy: bool,
) -> Result<(i32, Vec<Score>)> {
    let registry = Registry::find()?;
    registry.check_storable(name)?;
    let start = continue_from.map(|model| Start::find(model, &request.parameters)).transpose()?;
    let mut progress = Progress::begin(Some(name), request.rounds);
    let outcome = training::train(request, start.as_ref(), &mut progress)?;
    progress.phase(Phase::Storing);
    let metrics = JsonB(metrics(&outcome).into());
    let [_, _, skipped] = outcome.rows;
    let trained = Trained {
        bytes: outcome.bytes,
        labels: outcome.labels,
        feature_names: outcome.feature_names,
        parameters: JsonB(outcome.parameters.into()),
        metrics,
        profile: JsonB(outcome.profile),
    };
    registry.store(name, trained, deploy)?;
    notice_skipped(skipped);
    Ok((i32::try_from(outcome.rounds).unwrap_or(i32::MAX), outcome.scores))
}

/// Says how many rows had no target.
pub fn notice_skipped(rows: u64) {
    if rows > 0 {
        report::notice(&format!("{rows} rows were left out because their target is null"));
    }
}

/// What the registry keeps of the outcome.
fn metrics(outcome: &Outcome) -> Map<String, Value> {
    let [train, eval, skipped] = outcome.rows;
    let mut all = Map::new();
    all.insert("train_rows".to_owned(), json!(train));
    all.insert("eval_rows".to_owned(), json!(eval));
    all.insert("skipped_rows".to_owned(), json!(skipped));
    all.insert("best_round".to_owned(), json!(outcome.rounds));
    for score in &outcome.scores {
        let set = all.entry(score.set.clone()).or_insert_with(|| json!({}));
        if let Some(set) = set.as_object_mut() {
            set.insert(score.metric.clone(), json!(score.mean()));
        }
    }
    all
}
