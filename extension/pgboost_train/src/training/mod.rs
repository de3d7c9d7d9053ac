//! Trainings, from the source's rows to the bytes of a model, and cross-validations and searches.
//!
//! `prepared` reads the rows and describes them to the trainer, `rounds` runs the trainer. A cross-validation
//! and a search read as a training does, and keep metrics instead of a model.

mod combinations;
pub(crate) mod folds;
mod learning_task;
mod prepared;
pub(crate) mod progress;
mod read;
mod replaced;
pub(crate) mod rounds;
pub(crate) mod search;
pub(crate) mod start;

use pg_interface::fault;
use serde_json::{Map, Value};

use self::folds::FoldChoice;
use crate::error::Result;
use crate::params::Parameters;
use crate::registry::Replaced;
use crate::source::columns::Roles;
use crate::trainer::Trainer;
use progress::{Phase, Progress};
pub(crate) use rounds::Score;
use start::Start;

/// The outcome of a training.
pub(crate) struct Outcome {
    pub(crate) bytes: Vec<u8>,
    pub(crate) labels: Option<Vec<String>>,
    /// The names of the features, if the model's file has none.
    pub(crate) feature_names: Option<Vec<String>>,
    /// The number of the model's rounds.
    pub(crate) rounds: u32,
    pub(crate) scores: Vec<Score>,
    pub(crate) parameters: Map<String, Value>,
    /// Profiles of the features, in pgboost's form.
    pub(crate) profile: Value,
    /// The numbers of rows trained on, kept for evaluation, and left out because their target is NULL.
    pub(crate) rows: [u64; 3],
}

/// Trains a model, a new one or from another model's trees.
pub(crate) fn train(
    request: &Request,
    start: Option<&Start>,
    progress: &mut Progress,
) -> Result<Outcome> {
    let mut trainer = Trainer::start()?;
    let prepared = prepared::read(request, start, true, progress)?;
    if let Some(replaced) = &request.replaced {
        replaced::check(replaced, &prepared, request)?;
    }
    progress.phase(Phase::Building);
    trainer.build(prepared.job(request)?, start)?;
    fault::at("training: built");
    progress.phase(Phase::Training);
    let ran = rounds::run(&mut trainer, request, progress, |_| ())?;
    let rounds = ran.rounds + start.map_or(0, |start| start.rounds);
    Ok(Outcome {
        bytes: trainer.save(rounds)?,
        rounds,
        scores: ran.scores,
        parameters: prepared.parameters(request),
        rows: prepared.rows.counts(),
        feature_names: prepared.names_beside(),
        labels: start.map_or(prepared.task.labels, |start| start.labels.clone()),
        profile: prepared.profile,
    })
}

pub(crate) struct Request {
    pub(crate) source: String,
    pub(crate) roles: Roles,
    pub(crate) parameters: Parameters,
    pub(crate) rounds: u32,
    /// The rows for evaluation, besides those for training.
    pub(crate) evaluation: Option<Evaluation>,
    /// Rounds without a better evaluation after which the training ends.
    pub(crate) early_stopping_rounds: Option<u32>,
    pub(crate) seed: i32,
    /// Rounds between two notices.
    pub(crate) verbose_eval: Option<u32>,
    /// The version that the model is to replace, whose meaning it must have.
    pub(crate) replaced: Option<Replaced>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Evaluation {
    /// A share of the source's rows, excluded from training.
    Fraction(f64),
    /// The rows of another source.
    Source(String),
    /// All rows, each by a model trained on the other folds.
    Folds(FoldChoice),
}

impl Request {
    pub(crate) fn eval_fraction(&self) -> Option<f64> {
        match self.evaluation {
            Some(Evaluation::Fraction(fraction)) => Some(fraction),
            _ => None,
        }
    }

    pub(crate) fn eval_source(&self) -> Option<&str> {
        match &self.evaluation {
            Some(Evaluation::Source(source)) => Some(source),
            _ => None,
        }
    }

    pub(crate) fn folds(&self) -> Option<FoldChoice> {
        match self.evaluation {
            Some(Evaluation::Folds(choice)) => Some(choice),
            _ => None,
        }
    }
}
