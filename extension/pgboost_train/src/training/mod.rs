//! A training, from the source's rows to the bytes of a model; and what else is trained on such rows.
//!
//! `prepared` has read them, `job` tells the trainer of them, `rounds` has it run. A cross-validation and a
//! search read as a training does, and keep figures instead of a model.

mod choices;
pub mod cross_validation;
pub mod folds;
mod job;
mod prepared;
mod process;
mod profile;
pub mod progress;
mod random;
mod read;
pub mod request;
mod rounds;
mod score;
pub mod search;
mod split;
pub mod start;
mod task;
mod trainer;

use pg_interface::fault;
use progress::{Phase, Progress};
pub use request::{Evaluation, Request};
pub use score::Score;
use serde_json::{Map, Value};
use start::Start;
use trainer::Trainer;

use crate::error::Result;

/// What came of a training.
pub struct Outcome {
    pub bytes: Vec<u8>,
    pub labels: Option<Vec<String>>,
    /// The names of the features, where the model's file has none.
    pub feature_names: Option<Vec<String>>,
    /// The rounds that the model has.
    pub rounds: u32,
    pub scores: Vec<Score>,
    pub parameters: Map<String, Value>,
    /// What the features were, as pgboost keeps it.
    pub profile: Value,
    /// Rows that were trained on, kept for evaluation, and left out because their target is NULL.
    pub rows: [u64; 3],
}

/// Trains a model, from nothing or from another model's trees.
pub fn train(request: &Request, start: Option<&Start>, progress: &mut Progress) -> Result<Outcome> {
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
