//! What a round's evaluation says: a value for each set of rows and each metric.

use crate::params::metric;

#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The rows: `train` or `eval`.
    pub set: String,
    pub metric: String,
    pub value: f64,
}

impl Score {
    /// Reads a line of libxgboost's: `[7]<tab>train-rmse:1.25<tab>eval-rmse:1.5`.
    pub fn all_of(line: &str) -> Vec<Score> {
        line.split('\t').skip(1).filter_map(Score::of).collect()
    }

    fn of(text: &str) -> Option<Score> {
        let (name, value) = text.trim().rsplit_once(':')?;
        let (set, metric) = name.split_once('-')?;
        Some(Score {
            set: set.to_owned(),
            metric: metric.to_owned(),
            value: value.parse().unwrap_or(f64::NAN),
        })
    }

    /// Whether this is better than an earlier value of the same metric.
    pub fn is_better_than(&self, earlier: f64) -> bool {
        if metric::more_is_better(&self.metric) {
            self.value > earlier
        } else {
            self.value < earlier
        }
    }
}

/// The scores in a line for a person.
pub fn line(scores: &[Score]) -> String {
    let texts: Vec<String> = scores
        .iter()
        .map(|score| format!("{}-{} {:.6}", score.set, score.metric, score.value))
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_with_dashes_and_numbers_are_read() {
        let scores =
            Score::all_of("[3]\ttrain-poisson-nloglik:1.5\teval-ndcg@5-:0.25\teval-auc:nan");
        assert_eq!(scores[0].metric, "poisson-nloglik");
        assert_eq!((scores[1].metric.as_str(), scores[1].value), ("ndcg@5-", 0.25));
        assert_eq!(scores[2].set, "eval");
        assert!(scores[2].value.is_nan());
    }

    #[test]
    fn better_follows_the_metric() {
        let score = |metric: &str| Score { set: "eval".into(), metric: metric.into(), value: 0.5 };
        assert!(score("auc").is_better_than(0.4) && !score("auc").is_better_than(0.5));
        assert!(score("rmse").is_better_than(0.6) && !score("rmse").is_better_than(0.5));
    }
}
