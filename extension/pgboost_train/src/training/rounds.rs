//! The boosting rounds: between two of them the progress is told, and the training may stop early.

use std::time::{Duration, Instant};

use pg_interface::report;

use super::Request;
use super::progress::Progress;
use super::score::{self, Score};
use super::trainer::Trainer;
use crate::error::Result;

/// Without rows for evaluation, the metric is worked out only this often, for the progress.
const BETWEEN_EVALUATIONS: Duration = Duration::from_secs(2);

/// The best round so far, by the last metric of the last set, as in XGBoost.
struct Best {
    round: u32,
    scores: Vec<Score>,
}

/// Runs the rounds. Returns how many the model keeps, and its scores.
pub fn run(
    trainer: &mut Trainer,
    request: &Request,
    progress: &mut Progress,
) -> Result<(u32, Vec<Score>)> {
    let rounds = request.rounds;
    let evaluated_always = request.eval_fraction.is_some() || request.eval_source.is_some();
    let mut best: Option<Best> = None;
    let mut last = Vec::new();
    let mut evaluated = Instant::now();
    for number in 1..=rounds {
        let noticed = request.notice_every.is_some_and(|every| number.is_multiple_of(every));
        let due = evaluated.elapsed() >= BETWEEN_EVALUATIONS || number == rounds || noticed;
        if let Some(line) = trainer.round(number - 1, due || evaluated_always)? {
            last = Score::all_of(&line);
            evaluated = Instant::now();
        }
        let line = score::line(&last);
        progress.round(number, &line);
        if noticed {
            report::notice(&format!("round {number} of {rounds}: {line}"));
        }
        let Some(patience) = request.early_stopping_rounds else { continue };
        if is_better(&last, best.as_ref()) {
            best = Some(Best { round: number, scores: last.clone() });
        } else if best.as_ref().is_some_and(|best| number - best.round >= patience) {
            break;
        }
    }
    Ok(match best {
        Some(best) => (best.round, best.scores),
        None => (rounds, last),
    })
}

fn is_better(scores: &[Score], best: Option<&Best>) -> bool {
    match (scores.last(), best.and_then(|best| best.scores.last())) {
        (Some(score), Some(best)) => score.is_better_than(best.value),
        _ => true,
    }
}
