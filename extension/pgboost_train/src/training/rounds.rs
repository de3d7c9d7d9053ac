//! The boosting rounds: between two of them the progress is told, and the training may stop early.

use std::time::{Duration, Instant};

use pg_interface::{fault, report};

use super::progress::Progress;
use super::request::Request;
use super::score::{self, Score};
use super::trainer::Trainer;
use crate::error::Result;

/// Without rows for evaluation, the metric is worked out only this often, for the progress.
const BETWEEN_EVALUATIONS: Duration = Duration::from_secs(2);

/// What came of the rounds.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How many of them count: all, or those up to the best one.
    pub rounds: u32,
    /// The scores after these.
    pub scores: Vec<Score>,
}

/// Runs the rounds. Where there are rows for evaluation, `each` is given the scores of each round. The best
/// round is that of the last metric of the last set, as in XGBoost.
pub fn run(
    trainer: &mut Trainer,
    request: &Request,
    progress: &mut Progress,
    mut each: impl FnMut(&[Score]),
) -> Result<Ran> {
    let rounds = request.rounds;
    let evaluated_always = request.evaluation.is_some();
    let mut best: Option<Ran> = None;
    let mut last = Vec::new();
    let mut evaluated = Instant::now();
    for number in 1..=rounds {
        let noticed = request.verbose_eval.is_some_and(|every| number.is_multiple_of(every));
        let due = evaluated.elapsed() >= BETWEEN_EVALUATIONS || number == rounds || noticed;
        if due || evaluated_always {
            last = Score::all_of(&trainer.round(number - 1, true)?);
            evaluated = Instant::now();
            each(&last);
        } else {
            trainer.round(number - 1, false)?;
        }
        fault::at("training: round");
        let line = score::line(&last);
        progress.round(number, &line);
        if noticed {
            report::notice(&format!("round {number} of {rounds}: {line}"));
        }
        let Some(patience) = request.early_stopping_rounds else { continue };
        if is_better(&last, best.as_ref()) {
            best = Some(Ran { rounds: number, scores: last.clone() });
        } else if best.as_ref().is_some_and(|best| number - best.rounds >= patience) {
            break;
        }
    }
    Ok(best.unwrap_or(Ran { rounds, scores: last }))
}

fn is_better(scores: &[Score], best: Option<&Ran>) -> bool {
    match (scores.last(), best.and_then(|best| best.scores.last())) {
        (Some(score), Some(best)) => score.is_better_than(best.mean()),
        _ => true,
    }
}
