//! Objectives, metrics and constraints by their names: the target that each objective needs, the direction of
//! each metric, and the features that a constraint names.

use std::sync::LazyLock;

use gbtrees::internals::Task;
use row_source::SourceError;
use row_source::names::nearest;
use serde_json::Value;

use super::wrong;
use crate::error::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Numbers,
    TwoClasses,
    Classes,
    /// Times, or bounds of them.
    Bounds,
    /// Relevance within groups.
    Groups,
}

/// An objective of XGBoost.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Objective {
    pub(crate) name: &'static str,
    pub(crate) target: Target,
}

const fn objective(name: &'static str, target: Target) -> Objective {
    Objective { name, target }
}

/// The default objective of a target of numbers.
pub(crate) const REGRESSION: &Objective = &objective("reg:squarederror", Target::Numbers);
/// The default objective of a target with two texts.
pub(crate) const BINARY: &Objective = &objective("binary:logistic", Target::TwoClasses);
/// The default objective of a target with more texts.
pub(crate) const MULTICLASS: &Objective = &objective("multi:softprob", Target::Classes);
/// The default objective of groups.
pub(crate) const RANKING: &Objective = &objective("rank:ndcg", Target::Groups);
/// The default objective of bounds.
pub(crate) const SURVIVAL: &Objective = &objective("survival:aft", Target::Bounds);

/// The objectives that the engine can evaluate.
static ALL: LazyLock<Vec<Objective>> = LazyLock::new(|| {
    gbtrees::internals::xgboost_objectives().map(|(name, task, _)| of_task(name, task)).collect()
});

fn of_task(name: &'static str, task: Task) -> Objective {
    let target = match task {
        Task::Regression if name == SURVIVAL.name => Target::Bounds,
        Task::Regression => Target::Numbers,
        Task::Binary => Target::TwoClasses,
        Task::Multiclass => Target::Classes,
        Task::Ranking => Target::Groups,
    };
    Objective { name, target }
}

pub(crate) fn objective_named(name: &str) -> Option<&'static Objective> {
    ALL.iter().find(|objective| objective.name == name)
}

/// Returns the task and the link of an objective, by the names of `model_info`.
pub(crate) fn task_and_link(objective: &Objective) -> Option<(&'static str, &'static str)> {
    let mut all = gbtrees::internals::xgboost_objectives();
    let (_, task, transform) = all.find(|(name, ..)| *name == objective.name)?;
    Some((task.name(), transform.link()))
}

pub(crate) fn objective_names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|objective| objective.name)
}

/// A test of a target's values, and the description of the valid ones.
pub(crate) type Allowed = (fn(f32) -> bool, &'static str);

/// Returns the values that an objective allows, or `None` if libxgboost accepts all; `exp_gain` is whether the
/// objective or a metric has gains of `ndcg_exp_gain`.
pub(crate) fn allowed_targets(objective: &str, exp_gain: bool) -> Option<Allowed> {
    Some(match objective {
        "reg:logistic" => (|y| (0.0..=1.0).contains(&y), "between 0 and 1"),
        "reg:squaredlogerror" => (|y| y > -1.0, "greater than -1"),
        "reg:gamma" => (|y| y > 0.0, "greater than 0"),
        "count:poisson" | "reg:tweedie" | "survival:aft" => (|y| y >= 0.0, "0 or more"),
        "rank:ndcg" | "rank:pairwise" if exp_gain => {
            (|y| y.fract() == 0.0 && (0.0..=31.0).contains(&y), "a whole number between 0 and 31")
        }
        "rank:map" => (|y| y == 0.0 || y == 1.0, "0 or 1"),
        _ => return None,
    })
}

/// A metric's name, and whether more of it is better.
type Metric = (&'static str, bool);

const METRICS: &[Metric] = &[
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

fn metric_base(name: &str) -> &str {
    name.split_once('@').map_or(name, |(metric_base, _)| metric_base)
}

fn metric_named(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.0 == metric_base(name))
}

/// Returns whether XGBoost has a metric. `ndcg@5-` is one: five rows, and no score for empty groups.
pub(crate) fn metric_exists(name: &str) -> bool {
    let Some((base, number)) = name.split_once('@') else { return metric_named(name).is_some() };
    match base {
        // libxgboost would read `2.7` and `1e3` as 2 and 1.
        "pre" | "ndcg" | "map" => {
            number.strip_suffix('-').unwrap_or(number).parse().is_ok_and(|rows: u32| rows > 0)
        }
        "error" | "tweedie-nloglik" => {
            number.parse().is_ok_and(|number: f64| number.is_finite() && number >= 0.0)
        }
        _ => false,
    }
}

/// Returns the parameter that an objective cannot do without.
pub(crate) fn needed_parameter(objective: &str) -> Option<&'static str> {
    match objective {
        "reg:quantileerror" => Some("quantile_alpha"),
        "reg:expectileerror" => Some("expectile_alpha"),
        _ => None,
    }
}

/// Returns what a metric needs, unless it can be computed of an objective, of which there are `levels` quantiles
/// or expectiles.
pub(crate) fn needed_by_metric(
    metric: &str,
    objective: &Objective,
    levels: usize,
) -> Option<&'static str> {
    let needed = |what, is_there: bool| (!is_there).then_some(what);
    match (metric_base(metric), objective.target) {
        ("merror" | "mlogloss", target) => {
            needed("an objective for several classes", target == Target::Classes)
        }
        ("aft-nloglik" | "interval-regression-accuracy", target) => {
            needed("objective survival:aft", target == Target::Bounds)
        }
        (_, Target::Bounds) => Some("an objective without upper bounds"),
        ("auc" | "aucpr", Target::Classes) => None,
        ("quantile", _) if objective.name == "reg:quantileerror" => None,
        ("expectile", _) if objective.name == "reg:expectileerror" => None,
        (_, target) => {
            needed("an objective with one output", target != Target::Classes && levels < 2)
        }
    }
}

pub(crate) fn more_is_better(name: &str) -> bool {
    metric_named(name.trim_end_matches('-')).is_some_and(|metric| metric.1)
}

pub(crate) fn metric_names() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|metric| metric.0)
}

/// The constraint as libxgboost takes it.
pub(crate) fn checked_constraint(
    name: &'static str,
    value: &Value,
    features: &[&str],
) -> Result<String> {
    if name == "monotone_constraints" {
        monotone(name, value, features)
    } else {
        interaction(name, value, features)
    }
}

/// A direction for each feature: an array of them, or an object of those that are not 0.
fn monotone(name: &'static str, value: &Value, features: &[&str]) -> Result<String> {
    let fail = || {
        let allowed = "an object of features, each with -1, 0 or 1, or an array of one for each";
        wrong(name, allowed.to_owned(), value)
    };
    let direction =
        |value: &Value| value.as_i64().filter(|d| (-1..=1).contains(d)).ok_or_else(fail);
    let mut directions = vec![0; features.len()];
    match value {
        Value::Array(all) if all.len() == features.len() => {
            for (place, value) in directions.iter_mut().zip(all) {
                *place = direction(value)?;
            }
        }
        Value::Object(some) => {
            for (feature, value) in some {
                let at = position(feature, features, "features")?;
                if let Some(place) = directions.get_mut(at) {
                    *place = direction(value)?;
                }
            }
        }
        _ => return Err(fail()),
    }
    let texts: Vec<String> = directions.iter().map(i64::to_string).collect();
    Ok(format!("({})", texts.join(",")))
}

/// Sets of features that may be split on together.
fn interaction(name: &'static str, value: &Value, features: &[&str]) -> Result<String> {
    let fail = || wrong(name, "an array of arrays of features".to_owned(), value);
    let mut sets = Vec::new();
    for set in value.as_array().ok_or_else(fail)? {
        let mut positions = Vec::new();
        for feature in set.as_array().ok_or_else(fail)? {
            let feature = feature.as_str().ok_or_else(fail)?;
            positions.push(position(feature, features, "features")?.to_string());
        }
        sets.push(format!("[{}]", positions.join(",")));
    }
    Ok(format!("[{}]", sets.join(",")))
}

fn position(feature: &str, features: &[&str], argument: &'static str) -> Result<usize> {
    features.iter().position(|known| *known == feature).ok_or_else(|| {
        SourceError::NoSuchColumn {
            column: feature.to_owned(),
            argument,
            nearest: nearest(feature, features.iter().copied()).map(str::to_owned),
        }
        .into()
    })
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_ones_chosen_here_are_among_them() {
        for chosen in [REGRESSION, BINARY, MULTICLASS, RANKING, SURVIVAL] {
            assert_eq!(objective_named(chosen.name), Some(chosen));
        }
    }

    #[test]
    fn numbers_follow_only_where_they_mean_something() {
        for good in ["rmse", "ndcg@5", "ndcg@5-", "error@0.7", "tweedie-nloglik@1.5"] {
            assert!(metric_exists(good), "{good}");
        }
        for bad in [
            "rmse@5",
            "ndcg@",
            "ndcg@x",
            "ndcg@0",
            "map@2.7",
            "pre@1e3",
            "ndcg@-",
            "error@nan",
            "error@0.7-",
            "nonsense",
            "",
        ] {
            assert!(!metric_exists(bad), "{bad}");
        }
    }

    #[test]
    fn direction_is_that_of_the_name() {
        assert!(more_is_better("auc") && more_is_better("ndcg@5-") && more_is_better("map@3"));
        assert!(!more_is_better("rmse") && !more_is_better("merror"));
    }
}
