//! Constraints, which speak of features: by name here, by position in libxgboost.

use row_source::SourceError;
use row_source::names::nearest;
use serde_json::Value;

use super::value::wrong;
use crate::error::Result;

/// The constraint as libxgboost takes it.
pub fn checked(name: &'static str, value: &Value, features: &[&str]) -> Result<String> {
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
