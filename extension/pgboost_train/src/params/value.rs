//! One value of `params`: its type, its range, and how libxgboost takes it.

use serde_json::Value;

use super::table::{ANY, ValueRule};
use crate::error::{Error, Result};

/// The value as libxgboost takes it.
pub fn checked(name: &str, rule: ValueRule, value: &Value) -> Result<String> {
    let text = match rule {
        ValueRule::Number(min, max) => {
            value.as_f64().filter(|number| (min..=max).contains(number)).map(|n| n.to_string())
        }
        ValueRule::Whole(min, max) => {
            whole(value).filter(|number| (min..=max).contains(number)).map(|n| n.to_string())
        }
        ValueRule::Bool => match (value.as_bool(), whole(value)) {
            (Some(on), _) => Some(u8::from(on).to_string()),
            (None, Some(bit @ 0..=1)) => Some(bit.to_string()),
            _ => None,
        },
        ValueRule::Word(words) => {
            value.as_str().filter(|word| words.contains(word)).map(str::to_owned)
        }
        ValueRule::Fractions(max) => fractions(value, max),
    };
    text.ok_or_else(|| wrong(name, allowed(rule), value))
}

/// A whole number, also one that jsonb writes with a fraction of zero.
fn whole(value: &Value) -> Option<i64> {
    value
        .as_i64()
        .or_else(|| value.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 1e15).map(|n| n as i64))
}

fn fractions(value: &Value, max: usize) -> Option<String> {
    let inside = |value: &Value| value.as_f64().filter(|n| *n > 0.0 && *n < 1.0);
    match value {
        Value::Array(all) if (1..=max).contains(&all.len()) => {
            let all: Option<Vec<f64>> = all.iter().map(inside).collect();
            let texts: Vec<String> = all?.iter().map(f64::to_string).collect();
            Some(format!("[{}]", texts.join(",")))
        }
        one => inside(one).map(|n| n.to_string()),
    }
}

fn allowed(rule: ValueRule) -> String {
    match rule {
        ValueRule::Number(min, ANY) if min <= -ANY => "a number".to_owned(),
        ValueRule::Number(min, ANY) => format!("a number of {min} or more"),
        ValueRule::Number(min, max) => format!("a number between {min} and {max}"),
        ValueRule::Whole(min, max) => format!("a whole number between {min} and {max}"),
        ValueRule::Bool => "true or false".to_owned(),
        ValueRule::Word(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            words.join(" or ")
        }
        ValueRule::Fractions(max) => {
            format!("a number between 0 and 1, or an array of at most {max} such numbers")
        }
    }
}

pub fn wrong(name: &str, allowed: String, value: &Value) -> Error {
    let mut given: String = value.to_string().chars().take(64).collect();
    if given.len() < value.to_string().len() {
        given.push_str("...");
    }
    Error::ParameterValue { name: name.to_owned(), allowed, given }
}

/// What JSON calls the type.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
