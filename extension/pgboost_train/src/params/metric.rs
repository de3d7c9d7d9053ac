//! The metrics, and which way is better.

/// A metric's name, whether more of it is better, and whether `@` and a number may follow.
struct Metric {
    name: &'static str,
    more_is_better: bool,
    takes_number: bool,
}

const fn less(name: &'static str, takes_number: bool) -> Metric {
    Metric { name, more_is_better: false, takes_number }
}

const fn more(name: &'static str, takes_number: bool) -> Metric {
    Metric { name, more_is_better: true, takes_number }
}

const TABLE: &[Metric] = &[
    less("rmse", false),
    less("rmsle", false),
    less("mae", false),
    less("mape", false),
    less("mphe", false),
    less("logloss", false),
    less("error", true),
    less("merror", false),
    less("mlogloss", false),
    more("auc", false),
    more("aucpr", false),
    more("pre", true),
    more("ndcg", true),
    more("map", true),
    less("poisson-nloglik", false),
    less("gamma-nloglik", false),
    less("gamma-deviance", false),
    less("tweedie-nloglik", true),
    less("cox-nloglik", false),
    less("aft-nloglik", false),
    more("interval-regression-accuracy", false),
    less("quantile", false),
    less("expectile", false),
];

fn base(name: &str) -> &str {
    name.split_once('@').map_or(name, |(base, _)| base)
}

fn named(name: &str) -> Option<&'static Metric> {
    TABLE.iter().find(|metric| metric.name == base(name))
}

/// Whether there is such a metric. `ndcg@5-` is one: five rows, and no score for empty groups.
pub fn exists(name: &str) -> bool {
    match (named(name), name.split_once('@')) {
        (Some(_), None) => true,
        (Some(metric), Some((_, number))) => {
            let number = number.strip_suffix('-').unwrap_or(number);
            metric.takes_number && number.parse().is_ok_and(|n: f64| n.is_finite() && n >= 0.0)
        }
        (None, _) => false,
    }
}

pub fn more_is_better(name: &str) -> bool {
    named(name.trim_end_matches('-')).is_some_and(|metric| metric.more_is_better)
}

pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|metric| metric.name)
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
