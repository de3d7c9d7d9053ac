//! The arguments that `train_model`, `cross_validate_model` and `tune_model` have in common.

use pg_interface::query::argument_text;
use pgrx::AnyElement;
use serde_json::{Value, json};

use super::required;
use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::params::table::MAX_ROUNDS;
use crate::source::columns::Roles;
use crate::training::folds::{FoldChoice, MAX_FOLDS};
use crate::training::{Evaluation, Request};

const DEFAULT_ROUNDS: i32 = 100;
const DEFAULT_SEED: i32 = 0;
const DEFAULT_FOLDS: i32 = 5;

/// Arguments as the caller gave them; nothing for NULL.
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
    /// Whether there are folds where nothing else is said of the evaluation.
    pub(crate) folds_by_default: bool,
    pub(crate) early_stopping_rounds: Option<i32>,
    pub(crate) seed: Option<i32>,
    pub(crate) verbose_eval: Option<i32>,
}

/// A jsonb value, which may be more than serde_json can hold; an empty object for NULL.
pub(crate) fn json(argument: Option<AnyElement>) -> Result<Value> {
    let given = "one with a number out of range or more than 127 levels";
    let Some(argument) = argument else { return Ok(json!({})) };
    serde_json::from_str(&argument_text(&argument)).map_err(|_| Error::ParametersForm { given })
}

impl Arguments<'_> {
    /// The request, with these parameters.
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
                return fail("stratified is for folds that are made by chance", "Leave it out.");
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

/// The number of trials of a search.
pub(crate) fn trials(trials: i32) -> Result<u32> {
    match u32::try_from(trials) {
        Ok(number @ 1..=10_000) => Ok(number),
        _ => out_of_range("trials", trials.to_string(), "between 1 and 10000"),
    }
}

fn share(fraction: f64) -> Result<f64> {
    if fraction > 0.0 && fraction < 1.0 {
        return Ok(fraction);
    }
    out_of_range("eval_fraction", fraction.to_string(), "between 0 and 1")
}

fn out_of_range<T>(argument: &'static str, given: String, allowed: &'static str) -> Result<T> {
    Err(Error::ArgumentRange { argument, given, allowed })
}
