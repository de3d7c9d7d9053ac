//! The boosting rounds, and the scores of each evaluation: a value for each set of rows, each metric and each
//! fold.
//!
//! Between two rounds the progress is written, and the training may stop early. A cross-validation works as
//! `xgboost.cv`: all folds take a round, then their metrics are averaged, and the last average decides
//! about stopping.

use std::time::{Duration, Instant};

use pg_interface::{fault, report};

use super::progress::{Phase, Progress};
use super::{Request, prepared};
use crate::error::Result;
use crate::params::objectives;
use crate::trainer::Trainer;

/// The interval between two evaluations for the progress alone, if there are no rows for evaluation.
const BETWEEN_EVALUATIONS: Duration = Duration::from_secs(2);

/// The outcome of the rounds.
#[derive(Clone, Debug)]
pub(crate) struct RoundsOutcome {
    /// The number of rounds that count: all, or those up to the best one.
    pub(crate) rounds: u32,
    /// The scores after those rounds.
    pub(crate) scores: Vec<Score>,
}

/// Runs the rounds. If there are rows for evaluation, `each` receives the scores of each round. The best
/// round is by the last metric of the last set, as in XGBoost.
pub(crate) fn run(
    trainer: &mut Trainer,
    request: &Request,
    progress: &mut Progress,
    mut each: impl FnMut(&[Score]),
) -> Result<RoundsOutcome> {
    let rounds = request.rounds;
    let evaluated_always = request.evaluation.is_some();
    let mut best: Option<RoundsOutcome> = None;
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
        let line = line(&last);
        progress.round(number, &line);
        if noticed {
            report::notice(&format!("round {number} of {rounds}: {line}"));
        }
        let Some(patience) = request.early_stopping_rounds else { continue };
        if is_better(&last, best.as_ref()) {
            best = Some(RoundsOutcome { rounds: number, scores: last.clone() });
        } else if best.as_ref().is_some_and(|best| number - best.rounds >= patience) {
            break;
        }
    }
    Ok(best.unwrap_or(RoundsOutcome { rounds, scores: last }))
}

fn is_better(scores: &[Score], best: Option<&RoundsOutcome>) -> bool {
    match (scores.last(), best.and_then(|best| best.scores.last())) {
        (Some(score), Some(best)) => score.is_better_than(best.mean()),
        _ => true,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Score {
    /// The rows: `train` or `eval`.
    pub(crate) set: String,
    pub(crate) metric: String,
    /// By fold; one without folds.
    pub(crate) values: Vec<f64>,
}

impl Score {
    /// Parses libxgboost's lines, one for each fold: `[7]<tab>train-rmse:1.25<tab>eval-rmse:1.5`.
    pub(crate) fn all_of(lines: &[String]) -> Vec<Score> {
        let mut scores: Vec<Score> = Vec::new();
        for (fold, line) in lines.iter().enumerate() {
            for (set, metric, value) in line.split('\t').skip(1).filter_map(parsed) {
                match scores.iter_mut().find(|score| score.set == set && score.metric == metric) {
                    // libxgboost gives `error` and `error@0.5` one name.
                    Some(score) if score.values.len() > fold => {}
                    Some(score) => score.values.push(value),
                    None => scores.push(Score {
                        set: set.to_owned(),
                        metric: metric.to_owned(),
                        values: vec![value],
                    }),
                }
            }
        }
        scores
    }

    /// Returns the mean over the folds.
    pub(crate) fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// Returns the standard deviation over the folds, as of a whole population.
    pub(crate) fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.values.iter().map(|value| (value - mean) * (value - mean)).sum();
        (squares / self.values.len() as f64).sqrt()
    }

    /// Returns whether this is better than an earlier mean of the same metric.
    pub(crate) fn is_better_than(&self, earlier: f64) -> bool {
        if objectives::more_is_better(&self.metric) {
            self.mean() > earlier
        } else {
            self.mean() < earlier
        }
    }
}

/// Parses the set, the metric and its value.
fn parsed(text: &str) -> Option<(&str, &str, f64)> {
    let (name, value) = text.trim().rsplit_once(':')?;
    let (set, metric) = name.split_once('-')?;
    Some((set, metric, value.parse().unwrap_or(f64::NAN)))
}

/// Formats the scores for a notice.
pub(crate) fn line(scores: &[Score]) -> String {
    let texts: Vec<String> = scores
        .iter()
        .map(|score| format!("{}-{} {:.6}", score.set, score.metric, score.mean()))
        .collect();
    texts.join(", ")
}

/// Returns the scores of each round, up to the best one if the training stopped early, and the number of rows
/// left out because their target is NULL.
pub(crate) fn cross_validate(
    request: &Request,
    progress: &mut Progress,
) -> Result<(Vec<Vec<Score>>, u64)> {
    let mut trainer = Trainer::start()?;
    let prepared = prepared::read(request, None, false, progress)?;
    progress.phase(Phase::Building);
    trainer.build(prepared.job(request)?, None)?;
    progress.phase(Phase::Training);
    let mut history = Vec::new();
    let ran = run(&mut trainer, request, progress, |scores| history.push(scores.to_vec()))?;
    history.truncate(ran.rounds as usize);
    let [.., skipped] = prepared.rows.counts();
    Ok((history, skipped))
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn metrics_with_dashes_and_numbers_are_read() {
        let line = "[3]\ttrain-poisson-nloglik:1.5\teval-ndcg@5-:0.25\teval-auc:nan";
        let scores = Score::all_of(&[line.to_owned()]);
        assert_eq!(scores[0].metric, "poisson-nloglik");
        assert_eq!((scores[1].metric.as_str(), scores[1].mean()), ("ndcg@5-", 0.25));
        assert_eq!(scores[2].set, "eval");
        assert!(scores[2].mean().is_nan());
    }

    #[test]
    fn folds_have_a_mean_and_a_deviation() {
        let lines = ["[0]\ttrain-rmse:1\teval-rmse:2", "[0]\ttrain-rmse:1\teval-rmse:4"];
        let scores = Score::all_of(&lines.map(str::to_owned));
        assert_eq!(scores[1].values, [2.0, 4.0]);
        assert_eq!((scores[1].mean(), scores[1].deviation()), (3.0, 1.0));
        assert_eq!(line(&scores), "train-rmse 1.000000, eval-rmse 3.000000");
        let lines =
            ["[0]\teval-error:0.5\teval-error:0.5", "[0]\teval-error:0.25\teval-error:0.25"];
        let scores = Score::all_of(&lines.map(str::to_owned));
        assert_eq!((scores.len(), &scores[0].values), (1, &vec![0.5, 0.25]));
    }

    #[test]
    fn better_follows_the_metric() {
        let score =
            |metric: &str| Score { set: "eval".into(), metric: metric.into(), values: vec![0.5] };
        assert!(score("auc").is_better_than(0.4) && !score("auc").is_better_than(0.5));
        assert!(score("rmse").is_better_than(0.6) && !score("rmse").is_better_than(0.5));
    }
}
