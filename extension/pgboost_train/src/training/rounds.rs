//! The boosting rounds, one call of libxgboost each: between two of them a cancel acts, the progress
//! is told, and the training may stop early.

use std::time::{Duration, Instant};

use pg_interface::report;

use super::progress::Progress;
use super::score::{self, Score};
use crate::error::Result;
use crate::xgboost::booster::Booster;
use crate::xgboost::matrix::Matrix;

/// How many rounds, and what happens between them.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Number of rounds.
    pub rounds: u32,
    /// Rounds without a better evaluation after which the training ends.
    pub patience: Option<u32>,
    /// Rounds between two notices.
    pub notice_every: Option<u32>,
}

/// Without rows for evaluation, the metric is worked out only this often, for the progress.
const BETWEEN_EVALUATIONS: Duration = Duration::from_secs(2);

/// The best round so far, by the last metric of the last set, as in XGBoost.
struct Best {
    round: u32,
    scores: Vec<Score>,
}

/// Runs the rounds. Gives how many the model keeps, and its scores.
pub fn run(
    booster: &Booster,
    train: &Matrix,
    eval: Option<&Matrix>,
    plan: Plan,
    progress: &mut Progress,
) -> Result<(u32, Vec<Score>)> {
    let mut sets = vec![("train", train)];
    sets.extend(eval.map(|eval| ("eval", eval)));
    let mut best: Option<Best> = None;
    let mut last = Vec::new();
    let mut evaluated = Instant::now();
    for round in 0..plan.rounds {
        booster.update(round, train)?;
        report::check_for_interrupts();
        let number = round + 1;
        let noticed = plan.notice_every.is_some_and(|every| number.is_multiple_of(every));
        let due = evaluated.elapsed() >= BETWEEN_EVALUATIONS || number == plan.rounds || noticed;
        if due || eval.is_some() {
            last = Score::all_of(&booster.evaluate(round, &sets)?);
            evaluated = Instant::now();
        }
        let line = score::line(&last);
        progress.round(number, &line);
        if noticed {
            report::notice(&format!("round {number} of {}: {line}", plan.rounds));
        }
        let Some(patience) = plan.patience else { continue };
        if is_better(&last, best.as_ref()) {
            best = Some(Best { round: number, scores: last.clone() });
        } else if best.as_ref().is_some_and(|best| number - best.round >= patience) {
            break;
        }
    }
    Ok(match best {
        Some(best) => (best.round, best.scores),
        None => (plan.rounds, last),
    })
}

fn is_better(scores: &[Score], best: Option<&Best>) -> bool {
    match (scores.last(), best.and_then(|best| best.scores.last())) {
        (Some(score), Some(best)) => score.is_better_than(best.value),
        _ => true,
    }
}
