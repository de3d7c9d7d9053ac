//! `train_model`: rows of a source become a new version of a model.

use pg_interface::source::query::argument_text;
use pg_interface::{report, server};
use pgrx::iter::TableIterator;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{AnyElement, JsonB, name, pg_extern};
use serde_json::{Map, Value, json};

use super::required;
use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::params::table::MAX_ROUNDS;
use crate::registry::{Registry, Trained};
use crate::source::columns::Roles;
use crate::training::progress::{Phase, Progress};
use crate::training::{self, Outcome, Request, Score};

const DEFAULT_ROUNDS: i32 = 100;
const DEFAULT_SEED: i32 = 0;

/// `train_model(name, source, target, ...) -> table(set, metric, best_round, value)`
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
    group_by: Option<&str>,
    upper_bound: Option<&str>,
    eval_fraction: Option<f64>,
    eval_source: Option<&str>,
    early_stopping_rounds: Option<i32>,
    seed: Option<i32>,
    notice_every: Option<i32>,
) -> std::result::Result<
    TableIterator<
        'static,
        (name!(set, String), name!(metric, String), name!(best_round, i32), name!(value, f64)),
    >,
    ErrorReport,
> {
    server::require_writable(c"train_model()");
    let parameters = params.map_or_else(|| Ok(json!({})), json)?;
    let parameters = Parameters::parse(&parameters)?;
    let rounds = parameters.argument("rounds", rounds)?.unwrap_or(DEFAULT_ROUNDS);
    let patience = parameters.argument("early_stopping_rounds", early_stopping_rounds)?;
    let seed = parameters.argument("seed", seed)?.unwrap_or(DEFAULT_SEED);
    let request = Request {
        source: required(source, "source")?.to_owned(),
        roles: Roles {
            target: required(target, "target")?.to_owned(),
            features: feature_names(features)?,
            weight: weight.map(str::to_owned),
            group: group_by.map(str::to_owned),
            upper_bound: upper_bound.map(str::to_owned),
        },
        parameters,
        rounds: between("rounds", rounds)?,
        eval_fraction: eval_fraction.map(share).transpose()?,
        eval_source: eval_source.map(str::to_owned),
        early_stopping_rounds: patience
            .map(|rounds| between("early_stopping_rounds", rounds))
            .transpose()?,
        seed,
        notice_every: notice_every.map(|rounds| between("notice_every", rounds)).transpose()?,
    };
    check(&request)?;
    let (rounds, scores) = train(required(model, "name")?, &request)?;
    let rows: Vec<_> =
        scores.into_iter().map(|score| (score.set, score.metric, rounds, score.value)).collect();
    Ok(TableIterator::new(rows))
}

/// A jsonb value, which may be more than serde_json can hold.
fn json(params: AnyElement) -> Result<Value> {
    let given = "one with a number out of range or more than 127 levels";
    serde_json::from_str(&argument_text(&params)).map_err(|_| Error::ParametersForm { given })
}

fn train(name: &str, request: &Request) -> Result<(i32, Vec<Score>)> {
    let registry = Registry::find()?;
    registry.check_storable(name)?;
    let mut progress = Progress::begin(name, request.rounds);
    let outcome = training::train(request, &mut progress)?;
    progress.phase(Phase::Storing);
    let metrics = JsonB(metrics(&outcome).into());
    let [_, _, skipped] = outcome.rows;
    let trained = Trained {
        bytes: outcome.bytes,
        labels: outcome.labels,
        parameters: JsonB(outcome.parameters.into()),
        metrics,
        profile: JsonB(outcome.profile),
    };
    registry.store(name, trained)?;
    if skipped > 0 {
        report::notice(&format!("{skipped} rows were left out because their target is null"));
    }
    Ok((i32::try_from(outcome.rounds).unwrap_or(i32::MAX), outcome.scores))
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
            set.insert(score.metric.clone(), json!(score.value));
        }
    }
    all
}

fn feature_names(given: Option<Vec<Option<String>>>) -> Result<Option<Vec<String>>> {
    let Some(given) = given else { return Ok(None) };
    let names: Option<Vec<String>> = given.into_iter().collect();
    names.map(Some).ok_or(Error::NullArgument { argument: "feature" })
}

fn between(argument: &'static str, rounds: i32) -> Result<u32> {
    match u32::try_from(rounds) {
        Ok(number @ 1..) if rounds <= MAX_ROUNDS => Ok(number),
        _ => Err(Error::ArgumentRange {
            argument,
            given: rounds.to_string(),
            allowed: "between 1 and 1000000",
        }),
    }
}

fn share(fraction: f64) -> Result<f64> {
    if fraction > 0.0 && fraction < 1.0 {
        return Ok(fraction);
    }
    let given = fraction.to_string();
    Err(Error::ArgumentRange { argument: "eval_fraction", given, allowed: "between 0 and 1" })
}

fn check(request: &Request) -> Result<()> {
    let fail = |message, hint| Err(Error::Arguments { message, hint });
    let evaluated = request.eval_fraction.is_some() || request.eval_source.is_some();
    if request.eval_fraction.is_some() && request.eval_source.is_some() {
        return fail("eval_fraction and eval_source exclude each other", "Give one of them.");
    }
    if request.early_stopping_rounds.is_some() && !evaluated {
        return fail(
            "early_stopping_rounds needs rows for evaluation",
            "Give eval_fraction or eval_source.",
        );
    }
    Ok(())
}
