//! Cross-validation: each fold is evaluated by a model that was trained on the others.
//!
//! As `xgboost.cv` has it: all folds take a round, then their metrics are averaged, and the last average
//! decides when to stop.

use super::prepared;
use super::progress::{Phase, Progress};
use super::request::Request;
use super::rounds;
use super::score::Score;
use super::trainer::Trainer;
use crate::error::Result;

/// The scores of each round, up to the best one if the training stopped early; and how many rows were left
/// out because their target is NULL.
pub fn cross_validate(
    request: &Request,
    progress: &mut Progress,
) -> Result<(Vec<Vec<Score>>, u64)> {
    let mut trainer = Trainer::start()?;
    let prepared = prepared::read(request, None, false, progress)?;
    progress.phase(Phase::Building);
    trainer.build(prepared.job(request)?, None)?;
    progress.phase(Phase::Training);
    let mut history = Vec::new();
    let ran = rounds::run(&mut trainer, request, progress, |scores| history.push(scores.to_vec()))?;
    history.truncate(ran.rounds as usize);
    let [.., skipped] = prepared.rows.counts();
    Ok((history, skipped))
}
