//! A training, from the source's rows to the bytes of a model; and what else is trained on such rows.
//!
//! `prepared` has read them, `job` tells the trainer of them, `rounds` has it run. A cross-validation and a
//! search read as a training does, and keep figures instead of a model.

mod choices;
mod combinations;
pub(crate) mod folds;
mod learning_task;
mod prepared;
pub(crate) mod progress;
mod random;
mod read;
pub(crate) mod request;
pub(crate) mod rounds;
pub(crate) mod search;
pub(crate) mod start;
mod trainer;

use pg_interface::fault;
use serde_json::{Map, Value};

use crate::error::Result;
use progress::{Phase, Progress};
pub(crate) use request::{Evaluation, Request};
pub(crate) use rounds::Score;
use start::Start;
use trainer::Trainer;

/// The outcome of a training.
pub(crate) struct Outcome {
    pub(crate) bytes: Vec<u8>,
    pub(crate) labels: Option<Vec<String>>,
    /// The names of the features, where the model's file has none.
    pub(crate) feature_names: Option<Vec<String>>,
    /// The rounds that the model has.
    pub(crate) rounds: u32,
    pub(crate) scores: Vec<Score>,
    pub(crate) parameters: Map<String, Value>,
    /// What the features were, as pgboost keeps it.
    pub(crate) profile: Value,
    /// Rows that were trained on, kept for evaluation, and left out because their target is NULL.
    pub(crate) rows: [u64; 3],
}

/// Trains a model, from nothing or from another model's trees.
pub(crate) fn train(
    request: &Request,
    start: Option<&Start>,
    progress: &mut Progress,
) -> Result<Outcome> {
    let mut trainer = Trainer::start()?;
    let prepared = prepared::read(request, start, true, progress)?;
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
