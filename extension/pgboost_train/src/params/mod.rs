//! Training parameters: a jsonb object in XGBoost's own names, checked against a list.

pub(crate) mod objectives;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use row_source::names::nearest;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use objectives::Objective;
use table::{ARGUMENTS, Parameter, REFUSED, SPECIAL, TABLE};

/// Parameters that are known and in range.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    values: Vec<Given>,
    /// As the caller gave them, under their main names.
    given: Map<String, Value>,
    pub(crate) objective: Option<&'static Objective>,
    pub(crate) metrics: Vec<String>,
    constraints: Vec<(&'static str, Value)>,
}

#[derive(Debug)]
struct Given {
    name: &'static str,
    /// The name or alias that the caller used.
    alias: &'static str,
    /// The value as libxgboost takes it.
    value: String,
}

const DEFAULT_MAX_BIN: u32 = 256;

impl Parameters {
    pub(crate) fn parse(params: &Value) -> Result<Parameters> {
        let Value::Object(params) = params else {
            return Err(Error::ParametersForm { given: table::type_name(params) });
        };
        let mut parsed = Parameters::default();
        for (name, value) in params {
            parsed.take(name, value)?;
        }
        Ok(parsed)
    }

    fn take(&mut self, name: &str, value: &Value) -> Result<()> {
        if let Some(special) = SPECIAL.into_iter().find(|special| *special == name) {
            self.take_special(special, value)?;
            self.given.insert(name.to_owned(), value.clone());
            return Ok(());
        }
        let (parameter, alias) = find(name)?;
        let text = table::checked_value(name, parameter.rule, value)?;
        if let Some(earlier) = self.find_given(parameter.name) {
            return same(&earlier.value, &text, || [quoted(earlier.alias), quoted(alias)]);
        }
        self.given.insert(parameter.name.to_owned(), value.clone());
        self.values.push(Given { name: parameter.name, alias, value: text });
        Ok(())
    }

    fn take_special(&mut self, name: &'static str, value: &Value) -> Result<()> {
        match name {
            "objective" => self.objective = Some(checked_objective(value)?),
            "eval_metric" => self.metrics = checked_metrics(value)?,
            _ => self.constraints.push((name, value.clone())),
        }
        Ok(())
    }

    fn find_given(&self, name: &str) -> Option<&Given> {
        self.values.iter().find(|given| given.name == name)
    }

    /// The value of a parameter as libxgboost takes it.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.find_given(name).map(|given| given.value.as_str())
    }

    /// The value of an argument of `train_model` that may be given as a parameter instead.
    pub(crate) fn argument(
        &self,
        name: &'static str,
        argument: Option<i32>,
    ) -> Result<Option<i32>> {
        let Some(given) = self.find_given(name) else { return Ok(argument) };
        if let Some(argument) = argument {
            let names = || [format!("argument {name}"), quoted(given.alias)];
            same(&given.value, &argument.to_string(), names)?;
        }
        Ok(given.value.parse().ok())
    }

    /// How many values a parameter has, if it is given.
    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        self.given.get(name).map(|value| value.as_array().map_or(1, Vec::len))
    }

    /// Most bins of a feature.
    pub(crate) fn max_bin(&self) -> u32 {
        self.get("max_bin").and_then(|bins| bins.parse().ok()).unwrap_or(DEFAULT_MAX_BIN)
    }

    /// The threads that were asked for, but no more than are allowed.
    pub(crate) fn threads(&self, allowed: usize) -> usize {
        self.get("nthread").and_then(|n| n.parse().ok()).map_or(allowed, |n: usize| n.min(allowed))
    }

    /// Everything for libxgboost but the objective, the number of threads and the number of classes.
    pub(crate) fn settings(&self, features: &[&str]) -> Result<Vec<(&'static str, String)>> {
        const SET_ELSEWHERE: [&str; 3] = ["nthread", "num_class", "tree_method"];
        let elsewhere = |name| SET_ELSEWHERE.contains(&name) || ARGUMENTS.contains(&name);
        let own = self.values.iter().filter(|given| !elsewhere(given.name));
        let mut all: Vec<_> = own.map(|given| (given.name, given.value.clone())).collect();
        for (name, value) in &self.constraints {
            all.push((name, objectives::checked_constraint(name, value, features)?));
        }
        all.extend(self.metrics.iter().map(|metric| ("eval_metric", metric.clone())));
        Ok(all)
    }

    /// As the caller gave them, under their main names.
    pub(crate) fn given(&self) -> Map<String, Value> {
        self.given.clone()
    }
}

/// Whether a parameter is a whole number. Fails for one that there is not.
pub(crate) fn is_whole(name: &str) -> Result<bool> {
    Ok(matches!(find(name)?.0.rule, table::ValueRule::Whole(..)))
}

/// The parameter of that name or alias, and the name as it stands in the table.
fn find(name: &str) -> Result<(&'static Parameter, &'static str)> {
    let mut names = TABLE.iter().flat_map(|known| known.names().map(move |alias| (known, alias)));
    if let Some(found) = names.find(|(_, alias)| *alias == name) {
        return Ok(found);
    }
    if let Some((name, hint)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(Error::ParameterRefused { name: (*name).to_owned(), hint });
    }
    let names = TABLE.iter().flat_map(Parameter::names);
    let nearest = nearest(name, names.chain(SPECIAL));
    Err(Error::UnknownParameter { name: name.to_owned(), nearest })
}

/// Fails if what was given under two names differs.
fn same(one: &str, other: &str, names: impl FnOnce() -> [String; 2]) -> Result<()> {
    if one == other {
        return Ok(());
    }
    let [first, second] = names();
    Err(Error::Contradiction { first, second })
}

fn quoted(name: &str) -> String {
    format!("training parameter \"{name}\"")
}

fn checked_objective(value: &Value) -> Result<&'static Objective> {
    value.as_str().and_then(objectives::objective_named).ok_or_else(|| {
        table::wrong(
            "objective",
            known_names("an objective", value, objectives::objective_names()),
            value,
        )
    })
}

fn checked_metrics(value: &Value) -> Result<Vec<String>> {
    let one = |value: &Value| match value.as_str() {
        Some(name) if objectives::metric_exists(name) => Ok(name.to_owned()),
        _ => {
            let allowed =
                known_names("a metric, or an array of them", value, objectives::metric_names());
            Err(table::wrong("eval_metric", allowed, value))
        }
    };
    match value {
        Value::Array(all) if !all.is_empty() => all.iter().map(one).collect(),
        one_only => Ok(vec![one(one_only)?]),
    }
}

/// What a parameter takes, with the nearest of the names.
fn known_names(what: &str, value: &Value, names: impl Iterator<Item = &'static str>) -> String {
    let nearest = value.as_str().and_then(|given| nearest(given, names));
    nearest.map_or_else(|| what.to_owned(), |nearest| format!("{what} such as \"{nearest}\""))
}
