//! Parameters of a training and of a search, as jsonb objects made of an input's bytes: they are refused for
//! a reason, or in range, and what was taken of them is taken again and means the same.
#![no_main]

#[allow(dead_code, reason = "a training uses the rest")]
#[path = "../../pgboost_train/src/training/combinations.rs"]
mod combinations;
#[allow(dead_code, reason = "most errors come from elsewhere")]
#[path = "../../pgboost_train/src/error.rs"]
mod error;
mod object;
#[allow(dead_code, reason = "a training uses the rest")]
#[path = "../../pgboost_train/src/params/mod.rs"]
mod params;

use combinations::combinations;
use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use object::Drawn;
use params::Parameters;
use params::{TABLE, ValueRule};
use serde_json::{Map, Value};

const FEATURES: [&str; 3] = ["a", "b", "größe"];
const MAX_TRIALS: u32 = 20;
/// The last of the six digits that a drawn number has.
const SHORT: f64 = 1e-5;

fuzz_target!(|input: &[u8]| {
    let mut drawn = Drawn(Unstructured::new(input));
    if drawn.whether() { check_search(&mut drawn) } else { check_parameters(&drawn.object(0)) }
});

fn check_parameters(object: &Value) {
    let parsed = match Parameters::parse(object) {
        Ok(parsed) => parsed,
        Err(error) => return assert!(!error.report().message.is_empty()),
    };
    for parameter in TABLE {
        if let Some(text) = parsed.get(parameter.name) {
            check_value(parameter.rule, text, object, parameter.names());
        }
    }
    let settings = sorted(&parsed);
    for (name, text) in settings.iter().flatten() {
        assert!(!text.contains('\0'), "{name} would end early in C");
    }
    assert!((1..=3).contains(&parsed.threads(3)) && (2..=65_536).contains(&parsed.max_bin()));
    let again = Parameters::parse(&Value::Object(parsed.given())).expect("it was taken");
    assert_eq!(sorted(&again), settings);
    assert_eq!((again.objective, &again.metrics), (parsed.objective, &parsed.metrics));
    assert_eq!(again.given(), parsed.given());
    for name in params::ARGUMENTS {
        assert_eq!(again.argument(name, None), parsed.argument(name, None));
    }
}

/// By name, since a name may come elsewhere than the alias that it stands for; nothing for an error.
fn sorted(parameters: &Parameters) -> Option<Vec<(&'static str, String)>> {
    let mut settings = parameters.settings(&FEATURES).ok()?;
    settings.sort();
    Some(settings)
}

/// Checks that a value passed to libxgboost is the caller's, and in range. A parameter that is null is not given.
fn check_value(
    rule: ValueRule,
    text: &str,
    object: &Value,
    names: impl Iterator<Item = &'static str>,
) {
    let given = || names.filter_map(|name| object.get(name)).filter(|value| !value.is_null());
    let number = || text.parse::<f64>().expect("a number");
    match rule {
        ValueRule::Number(min, max) => {
            assert!((min..=max).contains(&number()), "{text}");
            assert!(given().all(|value| value.as_f64() == Some(number())), "{text}");
        }
        ValueRule::Whole(min, max) => {
            assert!((min..=max).contains(&text.parse().expect("a whole number")), "{text}");
            assert!(given().all(|value| value.as_f64() == Some(number())), "{text}");
        }
        ValueRule::Bool => assert!(["0", "1"].contains(&text)),
        ValueRule::Word(words) => assert!(words.contains(&text)),
        ValueRule::Fractions(most) => {
            let inside = |value: &Value| value.as_f64().is_some_and(|n| n > 0.0 && n < 1.0);
            match serde_json::from_str(text).expect("JSON") {
                Value::Array(all) => assert!(all.len() <= most && all.iter().all(inside)),
                one => assert!(inside(&one)),
            }
        }
    }
}

fn check_search(drawn: &mut Drawn<'_>) {
    let (trials, seed) = (drawn.below(MAX_TRIALS), drawn.below(9) as i32 - 4);
    let trials = (trials > 0).then_some(trials);
    let search = drawn.search();
    let found = match combinations(&search, trials, seed) {
        Ok(found) => found,
        Err(error) => return assert!(!error.report().message.is_empty()),
    };
    if let Some(trials) = trials {
        assert!(found.len() <= trials as usize);
    }
    for (at, combination) in found.iter().enumerate().take(MAX_TRIALS as usize) {
        check_combination(&search, combination);
        assert!(trials.is_some() || !found[..at].contains(combination) || repeats(&search));
    }
    assert_eq!(combinations(&search, trials, seed), Ok(found));
}

/// Whether a parameter is offered the same value twice.
fn repeats(search: &Value) -> bool {
    let twice =
        |values: &Vec<Value>| (1..values.len()).any(|at| values[..at].contains(&values[at]));
    search.as_object().is_some_and(|all| all.values().filter_map(Value::as_array).any(twice))
}

/// It has each parameter, with a value of those offered.
fn check_combination(search: &Value, combination: &Map<String, Value>) {
    let search = search.as_object().expect("it was taken");
    assert_eq!(search.len(), combination.len());
    for (name, offered) in search {
        let value = &combination[name];
        if let Some(listed) = offered.as_array() {
            assert!(listed.contains(value), "{value} of {offered}");
            continue;
        }
        let bound = |key| offered.get(key).and_then(Value::as_f64).expect("a bound");
        let (min, max) = (bound("min"), bound("max"));
        let number = value.as_f64().expect("a number");
        let slack = SHORT * min.abs().max(max.abs());
        assert!((min - slack..=max + slack).contains(&number), "{value} of {offered}");
        assert!(value.is_i64() || !params::is_whole(name).expect("it was taken"), "{value}");
    }
}
