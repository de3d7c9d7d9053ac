//! Training parameters: a jsonb object in XGBoost's own names, checked against a list.

mod constraint;
pub mod metric;
pub mod nearest;
pub mod objective;
mod table;
mod value;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use objective::Objective;
use table::{OTHERS, Parameter, REFUSED, TABLE};

/// Parameters that are known and in range.
#[derive(Debug, Default)]
pub struct Parameters {
    /// As libxgboost takes them.
    values: Vec<(&'static str, String)>,
    /// As the caller gave them, under their main names.
    given: Map<String, Value>,
    /// The objective, if one was chosen.
    pub objective: Option<&'static Objective>,
    /// The metrics, if any were chosen.
    pub metrics: Vec<String>,
    constraints: Vec<(&'static str, Value)>,
}

/// XGBoost's default.
const DEFAULT_MAX_BIN: u32 = 256;

impl Parameters {
    /// Checks an object.
    ///
    /// # Errors
    /// Unknown, refused, ill-typed and out-of-range parameters, each by its name.
    pub fn parse(params: &Value) -> Result<Parameters> {
        let Value::Object(params) = params else {
            return Err(Error::ParametersForm { given: value::type_name(params) });
        };
        let mut parsed = Parameters::default();
        for (name, value) in params {
            parsed.take(name, value)?;
        }
        Ok(parsed)
    }

    fn take(&mut self, name: &str, value: &Value) -> Result<()> {
        if let Some(other) = OTHERS.into_iter().find(|other| *other == name) {
            self.take_other(other, value)?;
            self.given.insert(name.to_owned(), value.clone());
            return Ok(());
        }
        let parameter = find(name)?;
        if self.given.insert(parameter.name.to_owned(), value.clone()).is_some() {
            return Err(Error::ParameterTwice { name: parameter.name });
        }
        self.values.push((parameter.name, value::checked(name, parameter.takes, value)?));
        Ok(())
    }

    fn take_other(&mut self, name: &'static str, value: &Value) -> Result<()> {
        match name {
            "objective" => self.objective = Some(checked_objective(value)?),
            "eval_metric" => self.metrics = checked_metrics(value)?,
            _ => self.constraints.push((name, value.clone())),
        }
        Ok(())
    }

    /// The value of a parameter as libxgboost takes it.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Most bins of a feature.
    pub fn max_bin(&self) -> u32 {
        self.get("max_bin").and_then(|bins| bins.parse().ok()).unwrap_or(DEFAULT_MAX_BIN)
    }

    /// The threads that were asked for, but no more than are allowed.
    pub fn threads(&self, allowed: usize) -> usize {
        self.get("nthread").and_then(|n| n.parse().ok()).map_or(allowed, |n: usize| n.min(allowed))
    }

    /// Everything for libxgboost but the objective, the number of threads and the number of classes.
    ///
    /// # Errors
    /// Constraints that name features which are not there.
    pub fn settings(&self, features: &[&str]) -> Result<Vec<(&'static str, String)>> {
        const SET_ELSEWHERE: [&str; 3] = ["nthread", "num_class", "tree_method"];
        let mut all: Vec<_> =
            self.values.iter().filter(|(name, _)| !SET_ELSEWHERE.contains(name)).cloned().collect();
        for (name, value) in &self.constraints {
            all.push((name, constraint::checked(name, value, features)?));
        }
        all.extend(self.metrics.iter().map(|metric| ("eval_metric", metric.clone())));
        Ok(all)
    }

    /// As the caller gave them, under their main names.
    pub fn given(&self) -> Map<String, Value> {
        self.given.clone()
    }
}

/// The parameter of that name or alias.
fn find(name: &str) -> Result<&'static Parameter> {
    let known = TABLE.iter().find(|known| known.name == name || known.alias == Some(name));
    if let Some(known) = known {
        return Ok(known);
    }
    if let Some((name, hint)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(Error::ParameterRefused { name: (*name).to_owned(), hint });
    }
    let names = TABLE.iter().flat_map(|known| [Some(known.name), known.alias]).flatten();
    let nearest = nearest::nearest(name, names.chain(OTHERS));
    Err(Error::UnknownParameter { name: name.to_owned(), nearest })
}

fn checked_objective(value: &Value) -> Result<&'static Objective> {
    value.as_str().and_then(objective::named).ok_or_else(|| {
        value::wrong("objective", known_names("an objective", value, objective::names()), value)
    })
}

fn checked_metrics(value: &Value) -> Result<Vec<String>> {
    let one = |value: &Value| match value.as_str() {
        Some(name) if metric::exists(name) => Ok(name.to_owned()),
        _ => {
            let allowed = known_names("a metric, or an array of them", value, metric::names());
            Err(value::wrong("eval_metric", allowed, value))
        }
    };
    match value {
        Value::Array(all) if !all.is_empty() => all.iter().map(one).collect(),
        one_only => Ok(vec![one(one_only)?]),
    }
}

/// What a parameter takes, with the nearest of the names.
fn known_names(what: &str, value: &Value, names: impl Iterator<Item = &'static str>) -> String {
    let nearest = value.as_str().and_then(|given| nearest::nearest(given, names));
    nearest.map_or_else(|| what.to_owned(), |nearest| format!("{what} such as \"{nearest}\""))
}

#[cfg(test)]
mod tests;
