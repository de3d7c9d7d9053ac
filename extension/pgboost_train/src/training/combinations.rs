//! The combinations of parameters that a search tries: all of a grid, or a random sample.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use crate::error::{Error, Result};
use crate::params;
use crate::params::type_name;
use row_source::random::Random;

/// The most combinations.
const MAX_TRIALS: u64 = 10_000;

/// Parameters that all trials must share, so that they can be compared.
const COMMON: [&str; 3] = ["objective", "eval_metric", "num_class"];

/// Parameters of a default metric, each with the beginning of a metric's name that depends on it wherever it is given.
const OF_METRICS: [(&str, Option<&str>); 7] = [
    ("quantile_alpha", Some("quantile")),
    ("expectile_alpha", Some("expectile")),
    ("huber_slope", Some("mphe")),
    ("ndcg_exp_gain", Some("ndcg")),
    ("tweedie_variance_power", None),
    ("lambdarank_pair_method", None),
    ("lambdarank_num_pair_per_sample", None),
];

/// A parameter with its range.
struct Axis {
    name: String,
    values: ParameterValues,
}

enum ParameterValues {
    Listed(Vec<Value>),
    Range { min: f64, max: f64, log: bool, whole: bool },
}

/// Returns the parameters of each trial besides the common ones: the whole grid, or `trials` random combinations.
pub(crate) fn combinations(
    search: &Value,
    trials: Option<u32>,
    seed: i32,
) -> Result<Vec<Map<String, Value>>> {
    let Value::Object(search) = search else {
        return Err(Error::SearchForm { given: type_name(search) });
    };
    let axes: Vec<Axis> = search.iter().map(Axis::of).collect::<Result<_>>()?;
    let grid = axes.iter().try_fold(1_u64, |all, axis| Some(all.saturating_mul(axis.count()?)));
    let random = |number: u64| Random::of(u64::from(seed.cast_unsigned()), number);
    match (grid, trials.map(u64::from)) {
        (Some(all), trials) if trials.is_none_or(|trials| trials >= all) => {
            if all > MAX_TRIALS {
                return Err(Error::TooManyTrials { trials: all, max: MAX_TRIALS });
            }
            Ok((0..all).map(|index| chosen(&axes, index)).collect())
        }
        (Some(all), Some(trials)) => {
            let drawn = distinct(&mut random(0), all, trials);
            Ok(drawn.into_iter().map(|index| chosen(&axes, index)).collect())
        }
        (None, Some(trials)) => Ok((0..trials).map(|trial| drawn(&axes, random(trial))).collect()),
        (_, None) => {
            let ranged = axes.into_iter().find(|axis| axis.count().is_none());
            let name = ranged.map(|axis| axis.name).unwrap_or_default();
            let hint = "Say with it how many combinations to try.";
            Err(Error::SearchValues {
                name,
                what: "has a range, which needs the argument trials",
                hint,
            })
        }
    }
}

/// Checks that the metric that decides, the last one, is the same in all trials. Without `eval_metric` it is the
/// objective's.
pub(crate) fn check_comparable(search: &Value, eval_metric: Option<&Value>) -> Result<()> {
    let metric = match eval_metric {
        Some(Value::Array(all)) => all.last(),
        given => given,
    };
    let metric = metric.and_then(Value::as_str);
    let changes = OF_METRICS.into_iter().find(|(name, begin)| {
        search.get(name).is_some()
            && metric.is_none_or(|metric| begin.is_some_and(|begin| metric.starts_with(begin)))
    });
    match changes {
        Some((name, _)) => Err(Error::SearchValues {
            name: name.to_owned(),
            what: "changes the metric, so that trials cannot be compared",
            hint: "Choose another metric with eval_metric in params.",
        }),
        None => Ok(()),
    }
}

/// Returns the combination of a grid with this number; the last parameter changes first.
fn chosen(axes: &[Axis], mut index: u64) -> Map<String, Value> {
    let mut all = Map::new();
    for axis in axes.iter().rev() {
        let count = axis.count().unwrap_or(1);
        if let ParameterValues::Listed(values) = &axis.values {
            let value = values.get((index % count) as usize).cloned().unwrap_or_default();
            all.insert(axis.name.clone(), value);
        }
        index /= count;
    }
    all
}

fn drawn(axes: &[Axis], mut random: Random) -> Map<String, Value> {
    axes.iter().map(|axis| (axis.name.clone(), axis.values.draw(&mut random))).collect()
}

/// Draws `count` different numbers below a bound, and returns them in the order in which they were drawn.
fn distinct(random: &mut Random, bound: u64, count: u64) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    let mut numbers = Vec::new();
    while (numbers.len() as u64) < count.min(bound) {
        let number = random.below(bound);
        if seen.insert(number) {
            numbers.push(number);
        }
    }
    numbers
}

impl Axis {
    fn of((name, values): (&String, &Value)) -> Result<Axis> {
        let fail = |what, hint| Err(Error::SearchValues { name: name.clone(), what, hint });
        if COMMON.contains(&name.as_str()) {
            return fail("must be the same in all trials", "Give it in params.");
        }
        let values = match values {
            Value::Array(values) if values.is_empty() => {
                return fail("has no values", "Give it one or more, or leave it out.");
            }
            Value::Array(values) => ParameterValues::Listed(values.clone()),
            Value::Object(range) => match ParameterValues::range(range, params::is_whole(name)?) {
                Some(range) => range,
                None => {
                    return fail(
                        "has no range of numbers",
                        "A range is an object of min, a greater max and perhaps scale, \"linear\" or \"log\".",
                    );
                }
            },
            _ => {
                return fail(
                    "must be an array of values or an object with min and max",
                    "Give a value that is the same in all trials in params.",
                );
            }
        };
        Ok(Axis { name: name.clone(), values })
    }

    /// Returns the number of values, or `None` for a continuous range.
    fn count(&self) -> Option<u64> {
        match &self.values {
            ParameterValues::Listed(values) => Some(values.len() as u64),
            ParameterValues::Range { .. } => None,
        }
    }
}

impl ParameterValues {
    fn range(object: &Map<String, Value>, whole: bool) -> Option<ParameterValues> {
        let number = |key| object.get(key).and_then(Value::as_f64);
        let log = match object.get("scale").map(Value::as_str) {
            None | Some(Some("linear")) => false,
            Some(Some("log")) => true,
            Some(_) => return None,
        };
        let known = |key: &String| ["min", "max", "scale"].contains(&key.as_str());
        let (min, max) = (number("min")?, number("max")?);
        let fits = object.keys().all(known)
            && min < max
            && (!log || min > 0.0)
            && (!whole || (min.fract() == 0.0 && max.fract() == 0.0 && max - min < 1e15));
        fits.then_some(ParameterValues::Range { min, max, log, whole })
    }

    fn draw(&self, random: &mut Random) -> Value {
        match self {
            ParameterValues::Listed(values) => {
                let index = random.below(values.len() as u64);
                values.get(index as usize).cloned().unwrap_or_default()
            }
            ParameterValues::Range { min, max, log: false, whole: true } => {
                Value::from(*min as i64 + random.below((max - min) as u64 + 1) as i64)
            }
            ParameterValues::Range { min, max, log, whole } => {
                let share = random.unit();
                let number = if *log {
                    (min.ln() + share * (max.ln() - min.ln())).exp()
                } else {
                    min + share * (max - min)
                };
                let number = number.clamp(*min, *max);
                if *whole { Value::from(number.round() as i64) } else { short(number) }
            }
        }
    }
}

/// Rounds to six digits, which are enough for a search and readable.
fn short(number: f64) -> Value {
    let rounded = format!("{number:.5e}").parse().unwrap_or(number);
    Number::from_f64(rounded).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_grid_has_all_combinations_in_order() {
        let search = json!({"eta": [0.1, 0.3], "max_depth": [3, 6, 9]});
        let all = combinations(&search, None, 0).unwrap();
        assert_eq!(all.len(), 6);
        assert_eq!(Value::from(all[0].clone()), json!({"eta": 0.1, "max_depth": 3}));
        assert_eq!(Value::from(all[1].clone()), json!({"eta": 0.1, "max_depth": 6}));
        assert_eq!(Value::from(all[5].clone()), json!({"eta": 0.3, "max_depth": 9}));
        assert_eq!(combinations(&search, Some(100), 0).unwrap(), all);
        assert_eq!(combinations(&json!({}), None, 0).unwrap().len(), 1);
    }

    #[test]
    fn some_of_a_grid_are_all_different() {
        let search = json!({"eta": [0.1, 0.2, 0.3, 0.4], "max_depth": [3, 6, 9]});
        let some = combinations(&search, Some(11), 5).unwrap();
        let texts: BTreeSet<String> = some.iter().map(|one| format!("{one:?}")).collect();
        assert_eq!(texts.len(), 11);
        assert_eq!(combinations(&search, Some(11), 5).unwrap(), some);
        assert_ne!(combinations(&search, Some(11), 6).unwrap(), some);
    }

    #[test]
    fn ranges_are_drawn_from() {
        let search = json!({
            "max_depth": {"min": 2, "max": 4}, "eta": {"min": 0.001, "max": 1, "scale": "log"},
            "max_leaves": {"min": 1, "max": 1000, "scale": "log"}, "subsample": [0.5, 1],
        });
        let all = combinations(&search, Some(300), 1).unwrap();
        for wanted in 2..=4 {
            assert!(all.iter().filter(|one| one["max_depth"] == json!(wanted)).count() > 60);
        }
        let small = all.iter().filter(|one| one["eta"].as_f64().unwrap() < 0.03).count();
        assert!((110..190).contains(&small), "{small}");
        let few = all.iter().filter(|one| one["max_leaves"].as_i64().unwrap() < 32).count();
        assert!((110..190).contains(&few), "{few}");
        assert!(combinations(&search, None, 1).is_err());
    }

    #[test]
    fn metrics_are_those_of_all_trials() {
        for (name, metric, is_comparable) in [
            ("quantile_alpha", json!(null), false),
            ("quantile_alpha", json!("mae"), true),
            ("quantile_alpha", json!(["mae", "quantile"]), false),
            ("expectile_alpha", json!(["expectile", "mae"]), true),
            ("ndcg_exp_gain", json!("ndcg@5"), false),
            ("tweedie_variance_power", json!("tweedie-nloglik@1.5"), true),
            ("lambdarank_pair_method", json!(null), false),
            ("eta", json!(null), true),
        ] {
            let found = check_comparable(&json!({name: [0.1, 0.2]}), Some(&metric));
            assert_eq!(found.is_ok(), is_comparable, "{name} {metric}");
        }
    }

    #[test]
    fn what_is_no_space_is_refused() {
        for wrong in [
            json!([1]),
            json!({"eta": 0.1}),
            json!({"eta": []}),
            json!({"eta": {"min": 1}}),
            json!({"eta": {"min": 2, "max": 1}}),
            json!({"eta": {"min": 0, "max": 1, "scale": "log"}}),
            json!({"eta": {"min": 0, "max": 1, "step": 1}}),
            json!({"objective": ["reg:gamma"]}),
            json!({"max_depth": {"min": 1.5, "max": 3}}),
            json!({"etaa": {"min": 1, "max": 3}}),
        ] {
            assert!(combinations(&wrong, Some(5), 1).is_err(), "{wrong}");
        }
        let wide = json!({"eta": vec![0.1; 200], "gamma": vec![1; 200]});
        assert!(matches!(
            combinations(&wide, None, 1),
            Err(Error::TooManyTrials { trials: 40_000, .. })
        ));
        assert_eq!(combinations(&wide, Some(20), 1).unwrap().len(), 20);
    }
}
