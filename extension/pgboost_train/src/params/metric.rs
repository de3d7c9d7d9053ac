//! The metrics, and which way is better.

/// A metric's name, and whether more of it is better.
type Metric = (&'static str, bool);

const TABLE: &[Metric] = &[
    ("rmse", false),
    ("rmsle", false),
    ("mae", false),
    ("mape", false),
    ("mphe", false),
    ("logloss", false),
    ("error", false),
    ("merror", false),
    ("mlogloss", false),
    ("auc", true),
    ("aucpr", true),
    ("pre", true),
    ("ndcg", true),
    ("map", true),
    ("poisson-nloglik", false),
    ("gamma-nloglik", false),
    ("gamma-deviance", false),
    ("tweedie-nloglik", false),
    ("cox-nloglik", false),
    ("aft-nloglik", false),
    ("interval-regression-accuracy", true),
    ("quantile", false),
    ("expectile", false),
];

/// The metrics that `@` and a number may follow.
const NUMBERED: [&str; 5] = ["error", "pre", "ndcg", "map", "tweedie-nloglik"];

fn base(name: &str) -> &str {
    name.split_once('@').map_or(name, |(base, _)| base)
}

fn named(name: &str) -> Option<&'static Metric> {
    TABLE.iter().find(|metric| metric.0 == base(name))
}

/// Whether there is such a metric. `ndcg@5-` is one: five rows, and no score for empty groups.
pub fn exists(name: &str) -> bool {
    match (named(name), name.split_once('@')) {
        (Some(_), None) => true,
        (Some(metric), Some((_, number))) => {
            let number = number.strip_suffix('-').unwrap_or(number);
            NUMBERED.contains(&metric.0)
                && number.parse().is_ok_and(|n: f64| n.is_finite() && n >= 0.0)
        }
        (None, _) => false,
    }
}

pub fn more_is_better(name: &str) -> bool {
    named(name.trim_end_matches('-')).is_some_and(|metric| metric.1)
}

pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|metric| metric.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_only_where_they_mean_something() {
        for good in ["rmse", "ndcg@5", "ndcg@5-", "error@0.7", "tweedie-nloglik@1.5"] {
            assert!(exists(good), "{good}");
        }
        for bad in ["rmse@5", "ndcg@", "ndcg@x", "nonsense", ""] {
            assert!(!exists(bad), "{bad}");
        }
    }

    #[test]
    fn direction_is_that_of_the_name() {
        assert!(more_is_better("auc") && more_is_better("ndcg@5-") && more_is_better("map@3"));
        assert!(!more_is_better("rmse") && !more_is_better("merror"));
    }
}
