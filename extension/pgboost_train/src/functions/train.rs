//! `train_model`, `cross_validate_model` and `tune_model`, and the trainings that are running, for the view
//! `pg_stat_progress_train_model`.

use pg_interface::query::argument_text;
use pg_interface::{fault, report, session};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::iter::TableIterator;
use pgrx::{AnyElement, Array, JsonB, pg_extern, pg_sys};
use serde_json::{Map, Value, json};

use super::{Answer, Rows, required, text, texts};
use crate::error::{Error, Result};
use crate::params::{MAX_ROUNDS, Parameters, type_name};
use crate::registry::{Registry, Storing, Trained};
use crate::source::columns::Roles;
use crate::training::folds::{FoldChoice, MAX_FOLDS};
use crate::training::progress::{self, Phase, Progress};
use crate::training::rounds::cross_validate;
use crate::training::search::{check_comparable, combinations, search as search_all};
use crate::training::start::Start;
use crate::training::{self, Evaluation, Outcome, Request, Score};

/// The C function of release 1.0.0's `train_model`, which has an argument less.
#[pg_extern(sql = false)]
fn pgboost_train_model() -> Answer<()> {
    Err(Error::EarlierFunctions.into())
}

/// Returns the [`Arguments`] of a SQL function, of its arguments of the same names.
macro_rules! arguments {
    (texts: $($text:ident),*; array: $array:ident; others: $($other:ident),*) => {
        Arguments {
            $($text: text($text, stringify!($text))?,)*
            $array: texts($array, stringify!($array))?,
            $($other,)*
            ..Arguments::default()
        }
    };
}

/// `train_model(model, source, target, ...) -> table(set, metric, best_round, value)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "they are the SQL function's")]
fn pgboost_train_model_1_1(
    model: Option<&[u8]>,
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    params: Option<AnyElement>,
    rounds: Option<i32>,
    features: Option<Array<'_, &[u8]>>,
    weight: Option<&[u8]>,
    qid: Option<&[u8]>,
    label_upper_bound: Option<&[u8]>,
    eval_fraction: Option<f64>,
    eval_source: Option<&[u8]>,
    early_stopping_rounds: Option<i32>,
    seed: Option<i32>,
    verbose_eval: Option<i32>,
    continue_from: Option<&[u8]>,
    deploy: Option<bool>,
    allow_change: Option<bool>,
) -> Rows<(String, String, i32, f64)> {
    session::require_writable(c"train_model()");
    let arguments = arguments! {
        texts: source, target, weight, qid, label_upper_bound, eval_source;
        array: features;
        others: rounds, eval_fraction, early_stopping_rounds, seed, verbose_eval
    };
    let mut request = arguments.request(&json(params)?)?;
    let name = required(text(model, "model")?, "model")?;
    let storing = Storing {
        deploy: required(deploy, "deploy")?,
        allow_change: required(allow_change, "allow_change")?,
    };
    let continue_from = text(continue_from, "continue_from")?;
    let (rounds, scores) = train(name, &mut request, continue_from, storing)?;
    let rows: Vec<_> = scores
        .into_iter()
        .map(|score| (score.set.clone(), score.metric.clone(), rounds, score.mean()))
        .collect();
    Ok(TableIterator::new(rows))
}

fn train(
    name: &str,
    request: &mut Request,
    continue_from: Option<&str>,
    storing: Storing,
) -> Result<(i32, Vec<Score>)> {
    let registry = Registry::find()?;
    registry.check_storable(name)?;
    if let Some(replaced) = registry.deployed(name)? {
        request.roles.order.clone_from(&replaced.feature_names);
        request.replaced = Some(replaced).filter(|_| storing.deploy && !storing.allow_change);
    }
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
    registry.store(name, trained, storing)?;
    notice_skipped(skipped);
    Ok((i32::try_from(outcome.rounds).unwrap_or(i32::MAX), outcome.scores))
}

/// Reports the number of rows without a target.
pub(crate) fn notice_skipped(rows: u64) {
    if rows > 0 {
        report::notice(&format!("{rows} rows were left out because their target is null"));
    }
}

/// The metrics that are stored with the version.
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

type Round = (i32, String, f64, f64, f64, f64, Vec<f64>, Vec<f64>);

/// `cross_validate_model(source, target, ...) -> table(round, metric, train_mean, train_std, eval_mean,
/// eval_std, train, eval)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "they are the SQL function's")]
fn pgboost_cross_validate_model(
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    params: Option<AnyElement>,
    rounds: Option<i32>,
    features: Option<Array<'_, &[u8]>>,
    weight: Option<&[u8]>,
    qid: Option<&[u8]>,
    label_upper_bound: Option<&[u8]>,
    folds: Option<i32>,
    fold_by: Option<&[u8]>,
    stratified: Option<bool>,
    early_stopping_rounds: Option<i32>,
    seed: Option<i32>,
    verbose_eval: Option<i32>,
) -> Rows<Round> {
    let mut arguments = arguments! {
        texts: source, target, weight, qid, label_upper_bound, fold_by;
        array: features;
        others: rounds, folds, stratified, early_stopping_rounds, seed, verbose_eval
    };
    arguments.folds_by_default = true;
    let request = arguments.request(&json(params)?)?;
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

type Tried = (i32, bool, String, i32, f64, f64, Option<f64>, JsonB);

/// `tune_model(source, target, search, ...) -> table(trial, best, metric, best_round, train, eval, eval_std,
/// params)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "they are the SQL function's")]
fn pgboost_tune_model(
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    search: Option<AnyElement>,
    params: Option<AnyElement>,
    trials: Option<i32>,
    rounds: Option<i32>,
    features: Option<Array<'_, &[u8]>>,
    weight: Option<&[u8]>,
    qid: Option<&[u8]>,
    label_upper_bound: Option<&[u8]>,
    eval_fraction: Option<f64>,
    eval_source: Option<&[u8]>,
    folds: Option<i32>,
    fold_by: Option<&[u8]>,
    stratified: Option<bool>,
    early_stopping_rounds: Option<i32>,
    seed: Option<i32>,
) -> Rows<Tried> {
    let no_evaluation = [eval_fraction.is_none(), eval_source.is_none(), fold_by.is_none()];
    let mut arguments = arguments! {
        texts: source, target, weight, qid, label_upper_bound, eval_source, fold_by;
        array: features;
        others: rounds, eval_fraction, folds, stratified, early_stopping_rounds, seed
    };
    arguments.folds_by_default = no_evaluation == [true; 3];
    let search = json(Some(required(search, "search")?))?;
    let trials = trials.map(trial_count).transpose()?;
    let requests = requests(&arguments, &search, json(params)?, trials)?;
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

/// Creates a request per combination, each with the common parameters.
fn requests(
    arguments: &Arguments<'_>,
    search: &Value,
    params: Value,
    trials: Option<u32>,
) -> Result<Vec<Request>> {
    let Value::Object(common) = params else {
        return Err(Error::ParametersForm { given: type_name(&params) });
    };
    check_comparable(search, common.get("eval_metric"))?;
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

type Running =
    (i32, Option<TimestampWithTimeZone>, Option<String>, String, i64, i32, i32, Option<String>);

/// `progress_records()`: the records of running trainings that the current user may see.
#[pg_extern(sql = false)]
fn pgboost_progress_records() -> Rows<Running> {
    fault::at("progress: asked");
    let visible = |user| session::may_watch(pg_sys::Oid::from(user));
    let records = progress::records().into_iter().filter(move |(_, record)| visible(record.user));
    let round = |round| i32::try_from(round).unwrap_or(0);
    Ok(TableIterator::new(records.map(move |(pid, record)| {
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
    })))
}

const DEFAULT_ROUNDS: i32 = 100;
const DEFAULT_SEED: i32 = 0;
const DEFAULT_FOLDS: i32 = 5;

/// Arguments as the caller gave them; `None` for NULL.
#[derive(Default)]
pub(crate) struct Arguments<'a> {
    pub(crate) source: Option<&'a str>,
    pub(crate) target: Option<&'a str>,
    pub(crate) rounds: Option<i32>,
    pub(crate) features: Option<Vec<Option<String>>>,
    pub(crate) weight: Option<&'a str>,
    pub(crate) qid: Option<&'a str>,
    pub(crate) label_upper_bound: Option<&'a str>,
    pub(crate) eval_fraction: Option<f64>,
    pub(crate) eval_source: Option<&'a str>,
    pub(crate) folds: Option<i32>,
    pub(crate) fold_by: Option<&'a str>,
    pub(crate) stratified: Option<bool>,
    /// Evaluate by folds unless the caller chose another evaluation.
    pub(crate) folds_by_default: bool,
    pub(crate) early_stopping_rounds: Option<i32>,
    pub(crate) seed: Option<i32>,
    pub(crate) verbose_eval: Option<i32>,
}

/// Parses a jsonb value, an empty object for NULL. Fails for numbers that serde_json cannot hold.
pub(crate) fn json(argument: Option<AnyElement>) -> Result<Value> {
    let given = "one with a number out of range or more than 127 levels";
    let Some(argument) = argument else { return Ok(json!({})) };
    serde_json::from_str(&argument_text(&argument)).map_err(|_| Error::ParametersForm { given })
}

impl Arguments<'_> {
    /// Checks the arguments, with these parameters.
    pub(crate) fn request(&self, parameters: &Value) -> Result<Request> {
        let parameters = Parameters::parse(parameters)?;
        let rounds = parameters.argument("rounds", self.rounds)?.unwrap_or(DEFAULT_ROUNDS);
        let patience = parameters.argument("early_stopping_rounds", self.early_stopping_rounds)?;
        let seed = parameters.argument("seed", self.seed)?.unwrap_or(DEFAULT_SEED);
        let evaluation = self.evaluation()?;
        if patience.is_some() && evaluation.is_none() {
            return Err(Error::Arguments {
                message: "early_stopping_rounds needs rows for evaluation",
                hint: "Give eval_fraction or eval_source.",
            });
        }
        Ok(Request {
            source: required(self.source, "source")?.to_owned(),
            roles: self.roles()?,
            parameters,
            rounds: between("rounds", rounds)?,
            evaluation,
            early_stopping_rounds: patience
                .map(|rounds| between("early_stopping_rounds", rounds))
                .transpose()?,
            seed,
            verbose_eval: self
                .verbose_eval
                .map(|rounds| between("verbose_eval", rounds))
                .transpose()?,
            replaced: None,
        })
    }

    fn roles(&self) -> Result<Roles> {
        Ok(Roles {
            target: required(self.target, "target")?.to_owned(),
            features: self.features.as_ref().map(|names| feature_names(names)).transpose()?,
            weight: self.weight.map(str::to_owned),
            group: self.qid.map(str::to_owned),
            label_upper_bound: self.label_upper_bound.map(str::to_owned),
            fold: self.fold_by.map(str::to_owned),
            order: Vec::new(),
        })
    }

    fn evaluation(&self) -> Result<Option<Evaluation>> {
        let fail = |message, hint| Err(Error::Arguments { message, hint });
        let ways = [
            self.eval_fraction.is_some(),
            self.eval_source.is_some(),
            self.folds.is_some(),
            self.fold_by.is_some(),
        ];
        let stratified = self.stratified == Some(true);
        match (ways, self.folds_by_default) {
            ([true, true, ..], false) => {
                return fail(
                    "eval_fraction and eval_source exclude each other",
                    "Give one of them.",
                );
            }
            ([false, false, true, true], _) => {
                return fail("folds and fold_by exclude each other", "Give one of them.");
            }
            _ if ways.iter().filter(|given| **given).count() > 1 => {
                return fail(
                    "eval_fraction, eval_source, folds and fold_by exclude each other",
                    "Give one of them.",
                );
            }
            _ if stratified && (ways[0] || ways[1] || ways[3]) => {
                return fail("stratified is for random folds", "Leave it out.");
            }
            _ => {}
        }
        if let Some(fraction) = self.eval_fraction {
            return Ok(Some(Evaluation::Fraction(share(fraction)?)));
        }
        if let Some(source) = self.eval_source {
            return Ok(Some(Evaluation::Source(source.to_owned())));
        }
        if self.fold_by.is_some() {
            return Ok(Some(Evaluation::Folds(FoldChoice::Column)));
        }
        let folds = self.folds.or(self.folds_by_default.then_some(DEFAULT_FOLDS));
        let Some(folds) = folds else { return Ok(None) };
        match u32::try_from(folds) {
            Ok(count @ 2..=MAX_FOLDS) => {
                Ok(Some(Evaluation::Folds(FoldChoice::Dealt { count, stratified })))
            }
            _ => out_of_range("folds", folds.to_string(), "between 2 and 100"),
        }
    }
}

fn feature_names(given: &[Option<String>]) -> Result<Vec<String>> {
    let names: Option<Vec<String>> = given.iter().cloned().collect();
    names.ok_or(Error::NullArgument { argument: "feature" })
}

fn between(argument: &'static str, rounds: i32) -> Result<u32> {
    match u32::try_from(rounds) {
        Ok(number @ 1..) if rounds <= MAX_ROUNDS => Ok(number),
        _ => out_of_range(argument, rounds.to_string(), "between 1 and 1000000"),
    }
}

/// Checks the number of trials of a search.
pub(crate) fn trial_count(trials: i32) -> Result<u32> {
    match u32::try_from(trials) {
        Ok(number @ 1..=10_000) => Ok(number),
        _ => out_of_range("trials", trials.to_string(), "between 1 and 10000"),
    }
}

fn share(fraction: f64) -> Result<f64> {
    if fraction > 0.0 && fraction < 1.0 {
        return Ok(fraction);
    }
    let given = format!("{fraction:?}").replace("inf", "Infinity");
    let given = given.strip_suffix(".0").unwrap_or(&given).to_owned();
    out_of_range("eval_fraction", given, "between 0 and 1")
}

fn out_of_range<T>(argument: &'static str, given: String, allowed: &'static str) -> Result<T> {
    Err(Error::ArgumentRange { argument, given, allowed })
}
