//! A search for parameters: the same rows are trained on with each combination in turn.
//!
//! The rows are read once, and the trainer keeps the matrices as long as `max_bin` is the same. Each trial
//! begins with a new booster, and gives the result of a training with its parameters alone.

use serde_json::{Map, Value, json};

use super::Request;
pub(crate) use super::combinations::{check_comparable, combinations};
use super::prepared::{self, Prepared};
use super::progress::{Phase, Progress};
use super::rounds::{self, RoundsOutcome, Score};
use crate::error::Result;
use crate::params::objectives;
use crate::trainer::Trainer;

/// The outcome of one combination.
pub(crate) struct Trial {
    /// Counted from 1.
    pub(crate) number: usize,
    pub(crate) best: bool,
    pub(crate) metric: String,
    /// The number of rounds, up to the best one or all.
    pub(crate) rounds: u32,
    pub(crate) train: f64,
    pub(crate) eval: f64,
    /// The standard deviation of the folds' metrics, if there are folds.
    pub(crate) deviation: Option<f64>,
    /// The parameters for `train_model` to train the same.
    pub(crate) parameters: Map<String, Value>,
}

/// Tries all requests, which differ in their parameters only, and marks the best one. Also returns the number
/// of rows left out because their target is NULL.
pub(crate) fn search(requests: &[Request], progress: &mut Progress) -> Result<(Vec<Trial>, u64)> {
    let Some(first) = requests.first() else { return Ok((Vec::new(), 0)) };
    let mut trainer = Trainer::start()?;
    let prepared = prepared::read(first, None, false, progress)?;
    // Errors that need no training are raised before the first trial.
    requests.iter().try_for_each(|request| prepared.check(request))?;
    let mut order: Vec<(usize, &Request)> = requests.iter().enumerate().collect();
    order.sort_by_key(|(_, request)| request.parameters.max_bin());
    let mut trials = Vec::with_capacity(requests.len());
    let mut max_bin = None;
    for (tried, (index, request)) in order.into_iter().enumerate() {
        if max_bin == Some(request.parameters.max_bin()) {
            trainer.reset(prepared.settings(request)?)?;
        } else {
            max_bin = Some(request.parameters.max_bin());
            progress.phase(Phase::Building);
            trainer.build(prepared.job(request)?, None)?;
        }
        progress.trial(tried + 1, requests.len(), request.rounds);
        let ran = rounds::run(&mut trainer, request, progress, |_| ())?;
        trials.push(trial(index + 1, request, &prepared, &ran));
    }
    trials.sort_by_key(|trial| trial.number);
    mark_best(&mut trials);
    let [.., skipped] = prepared.rows.counts();
    Ok((trials, skipped))
}

fn trial(number: usize, request: &Request, prepared: &Prepared<'_>, ran: &RoundsOutcome) -> Trial {
    let eval = ran.scores.last();
    let metric = eval.map(|score| score.metric.clone()).unwrap_or_default();
    let train = ran.scores.iter().find(|score| score.set == "train" && score.metric == metric);
    let mean = |score: Option<&Score>| score.map_or(f64::NAN, Score::mean);
    let folds = request.folds().is_some();
    let mut parameters = request.parameters.given();
    parameters.remove("early_stopping_rounds");
    parameters.insert("objective".to_owned(), json!(prepared.task.objective.name));
    parameters.insert("rounds".to_owned(), json!(ran.rounds));
    parameters.insert("seed".to_owned(), json!(request.seed));
    Trial {
        number,
        best: false,
        rounds: ran.rounds,
        train: mean(train),
        eval: mean(eval),
        deviation: eval.filter(|_| folds).map(Score::deviation),
        metric,
        parameters,
    }
}

/// Marks the best trial, the first of equal ones. NaN is never best.
fn mark_best(trials: &mut [Trial]) {
    let better = |trial: &Trial, best: &Trial| {
        if objectives::more_is_better(&trial.metric) {
            trial.eval > best.eval
        } else {
            trial.eval < best.eval
        }
    };
    let mut best: Option<usize> = None;
    for (index, trial) in trials.iter().enumerate().filter(|(_, trial)| !trial.eval.is_nan()) {
        let so_far = best.and_then(|best| trials.get(best));
        if so_far.is_none_or(|so_far| better(trial, so_far)) {
            best = Some(index);
        }
    }
    let best = best.and_then(|best| trials.get_mut(best));
    best.into_iter().for_each(|trial| trial.best = true);
}
