//! Training parameters: a jsonb object in XGBoost's own names, checked against a list of their types and
//! ranges.
//!
//! The names are XGBoost's own and those of its scikit-learn interface (python-package's sklearn.py). Names that
//! libxgboost would silently ignore are refused, and so are parameters that the extension controls.

pub(crate) mod objectives;

use row_source::names::nearest;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use ValueRule::{Bool, Fractions, Number, Whole, Word};
use objectives::Objective;

/// Checked parameters.
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
            return Err(Error::ParametersForm { given: type_name(params) });
        };
        let mut parsed = Parameters::default();
        for (name, value) in params {
            if !is_left_at_default(name, value)? {
                parsed.take(name, value)?;
            }
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
        let text = checked_value(name, parameter.rule, value)?;
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

    /// Returns the value of a parameter as libxgboost takes it.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.find_given(name).map(|given| given.value.as_str())
    }

    /// Returns the value of an argument of `train_model` that may be given as a parameter instead.
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

    /// Returns the number of values of a parameter, or `None` if it is not given.
    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        self.given.get(name).map(|value| value.as_array().map_or(1, Vec::len))
    }

    /// Checks that there is what the objective and the metrics need. A model that `continues` has its levels.
    pub(crate) fn check_needs(&self, objective: &Objective, continues: bool) -> Result<()> {
        let fail = |by, needed| Err(Error::Needed { by, needed });
        let absent = |name: &&str| !continues && self.find_given(name).is_none();
        let parameter = objectives::needed_parameter(objective.name);
        if let Some(name) = parameter.filter(absent) {
            return fail(format!("objective {}", objective.name), name);
        }
        let levels = parameter.and_then(|name| self.count(name)).unwrap_or(1);
        for metric in &self.metrics {
            let parameter = match metric.as_str() {
                "quantile" => Some("quantile_alpha").filter(absent),
                "expectile" => Some("expectile_alpha").filter(absent),
                _ => None,
            };
            let needed = objectives::needed_by_metric(metric, objective, levels);
            if let Some(needed) = needed.or(parameter) {
                return fail(format!("metric {metric}"), needed);
            }
        }
        Ok(())
    }

    /// Returns the quantiles or expectiles of an objective that are given.
    pub(crate) fn levels(&self, objective: &str) -> Vec<f32> {
        let Some(name) = objectives::needed_parameter(objective) else { return Vec::new() };
        let given = self.get(name).unwrap_or_default().trim_matches(['[', ']']);
        given.split(',').filter_map(|level| level.parse().ok()).collect()
    }

    /// The most bins of a feature.
    pub(crate) fn max_bin(&self) -> u32 {
        self.get("max_bin").and_then(|bins| bins.parse().ok()).unwrap_or(DEFAULT_MAX_BIN)
    }

    /// Returns the requested number of threads, but at most `allowed`.
    pub(crate) fn threads(&self, allowed: usize) -> usize {
        self.get("nthread").and_then(|n| n.parse().ok()).map_or(allowed, |n: usize| n.min(allowed))
    }

    /// Returns all settings for libxgboost except the objective and the numbers of threads and classes.
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

/// Returns whether a parameter has a value without effect, as most have that `get_params` of XGBoost's
/// scikit-learn interface returns. Fails for an unknown parameter.
fn is_left_at_default(name: &str, value: &Value) -> Result<bool> {
    let is_known = SPECIAL.contains(&name)
        || REFUSED.iter().any(|(refused, _)| *refused == name)
        || TABLE.iter().flat_map(Parameter::names).any(|known| known == name);
    if value.is_null() {
        return if is_known { Ok(true) } else { find(name).map(|_| true) };
    }
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let defaults = HARMLESS.iter().find(|(harmless, _)| *harmless == name);
    Ok(defaults.is_some_and(|(_, values)| values.contains(&text.as_str())))
}

/// Returns whether a parameter is a whole number. Fails for an unknown parameter.
pub(crate) fn is_whole(name: &str) -> Result<bool> {
    Ok(matches!(find(name)?.0.rule, ValueRule::Whole(..)))
}

/// Finds a parameter by its name or alias; also returns the name as the table spells it.
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

/// Fails if the values under two names differ.
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
        wrong("objective", known_names("an objective", value, objectives::objective_names()), value)
    })
}

fn checked_metrics(value: &Value) -> Result<Vec<String>> {
    let one = |value: &Value| match value.as_str() {
        Some(name) if objectives::metric_exists(name) => Ok(name.to_owned()),
        _ => {
            let metric = known_names("a metric", value, objectives::metric_names());
            Err(wrong("eval_metric", format!("{metric}, or an array of metrics"), value))
        }
    };
    match value {
        Value::Array(all) if !all.is_empty() => all.iter().map(one).collect(),
        one_only => Ok(vec![one(one_only)?]),
    }
}

/// Lists the names that a parameter accepts, and the nearest to the given one.
fn known_names(what: &str, value: &Value, names: impl Iterator<Item = &'static str>) -> String {
    let nearest = value.as_str().and_then(|given| nearest(given, names));
    nearest.map_or_else(|| what.to_owned(), |nearest| format!("{what} such as \"{nearest}\""))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueRule {
    /// A number between two bounds, both allowed.
    Number(f64, f64),
    /// A whole number between two bounds, both allowed.
    Whole(i64, i64),
    /// true or false, or 1 or 0.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A number, or at most this many, each above 0 and below 1.
    Fractions(usize),
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// Other names for the same: XGBoost's own, or those of its scikit-learn interface.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) rule: ValueRule,
}

impl Parameter {
    /// The main name first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// A bound that no number passes.
pub(crate) const ANY: f64 = f32::MAX as f64;

const fn parameter(name: &'static str, rule: ValueRule) -> Parameter {
    Parameter { name, aliases: &[], rule }
}

const fn aliased(
    name: &'static str,
    aliases: &'static [&'static str],
    rule: ValueRule,
) -> Parameter {
    Parameter { name, aliases, rule }
}

pub(crate) const MAX_ROUNDS: i32 = 1_000_000;

/// A fraction that is not zero.
const SHARE: ValueRule = Number(1e-6, 1.0);

/// The parameters. `objective`, `eval_metric` and the constraints have separate rules.
pub(crate) const TABLE: &[Parameter] = &[
    aliased(
        "rounds",
        &["n_estimators", "num_boost_round", "num_round"],
        Whole(1, MAX_ROUNDS as i64),
    ),
    aliased("seed", &["random_state"], Whole(i32::MIN as i64, i32::MAX as i64)),
    parameter("early_stopping_rounds", Whole(1, MAX_ROUNDS as i64)),
    parameter("booster", Word(&["gbtree", "dart"])),
    parameter("tree_method", Word(&["hist", "auto"])),
    aliased("eta", &["learning_rate"], Number(0.0, ANY)),
    aliased("gamma", &["min_split_loss"], Number(0.0, ANY)),
    parameter("max_depth", Whole(0, 64)),
    parameter("max_leaves", Whole(0, 1 << 20)),
    parameter("min_child_weight", Number(0.0, ANY)),
    parameter("max_delta_step", Number(0.0, ANY)),
    parameter("subsample", SHARE),
    parameter("colsample_bytree", SHARE),
    parameter("colsample_bylevel", SHARE),
    parameter("colsample_bynode", SHARE),
    aliased("lambda", &["reg_lambda"], Number(0.0, ANY)),
    aliased("alpha", &["reg_alpha"], Number(0.0, ANY)),
    parameter("scale_pos_weight", Number(0.0, ANY)),
    parameter("rate_drop", Number(0.0, 1.0)),
    parameter("one_drop", Bool),
    parameter("skip_drop", Number(0.0, 1.0)),
    parameter("sample_type", Word(&["uniform", "weighted"])),
    parameter("normalize_type", Word(&["tree", "forest"])),
    parameter("grow_policy", Word(&["depthwise", "lossguide"])),
    parameter("max_bin", Whole(2, 65_536)),
    parameter("num_parallel_tree", Whole(1, 10_000)),
    parameter("max_cached_hist_node", Whole(1, 1 << 20)),
    parameter("max_cat_to_onehot", Whole(1, 1 << 24)),
    parameter("max_cat_threshold", Whole(1, 1 << 24)),
    parameter("base_score", Number(-ANY, ANY)),
    parameter("num_class", Whole(2, 4_096)),
    aliased("nthread", &["n_jobs"], Whole(1, 1_024)),
    parameter("seed_per_iteration", Bool),
    parameter("tweedie_variance_power", Number(1.0, 2.0)),
    parameter("huber_slope", Number(1e-6, ANY)),
    parameter("quantile_alpha", Fractions(4_096)),
    // XGBoost compares each of them with each other, for each row.
    parameter("expectile_alpha", Fractions(64)),
    parameter("aft_loss_distribution", Word(&["normal", "logistic", "extreme"])),
    parameter("aft_loss_distribution_scale", Number(1e-6, ANY)),
    parameter("lambdarank_pair_method", Word(&["mean", "topk"])),
    parameter("lambdarank_num_pair_per_sample", Whole(1, 10_000)),
    parameter("lambdarank_normalization", Bool),
    parameter("lambdarank_score_normalization", Bool),
    parameter("lambdarank_unbiased", Bool),
    parameter("lambdarank_bias_norm", Number(0.0, ANY)),
    parameter("ndcg_exp_gain", Bool),
];

/// The parameters that are arguments of `train_model` too.
pub(crate) const ARGUMENTS: [&str; 3] = ["rounds", "seed", "early_stopping_rounds"];

/// The names that have separate rules.
pub(crate) const SPECIAL: [&str; 4] =
    ["objective", "eval_metric", "monotone_constraints", "interaction_constraints"];

/// Parameters that XGBoost has and that cannot be used here, each with what to do instead.
pub(crate) const REFUSED: &[(&str, &str)] = &[
    ("device", "Training runs on the processors of the server."),
    ("gpu_id", "Training runs on the processors of the server."),
    ("updater", "Training always uses the histogram method."),
    ("process_type", "Training adds trees and leaves existing ones as they are."),
    ("refresh_leaf", "Training adds trees and leaves existing ones as they are."),
    ("multi_strategy", "Train a model for each target."),
    ("sampling_method", "Rows are sampled uniformly."),
    ("verbosity", "Use the verbose_eval argument."),
    ("disable_default_eval_metric", "Choose metrics with eval_metric."),
    ("missing", "Null is missing."),
    ("feature_types", "The types of the columns decide."),
    ("feature_weights", "Every feature has the same chance to be sampled."),
    ("importance_type", "Use the argument importance_type of feature_importance."),
    ("enable_categorical", "Text and enums are categorical."),
    ("use_label_encoder", "The target may be text."),
    ("predictor", "Training runs on the processors of the server."),
    ("callbacks", "Training calls no functions of the client."),
    ("validate_parameters", "Parameters are always checked."),
];

/// Values of parameters that change nothing here, as text.
const HARMLESS: &[(&str, &[&str])] = &[
    ("device", &["cpu"]),
    ("enable_categorical", &["false", "true"]),
    ("gpu_id", &["-1"]),
    ("interaction_constraints", &[""]),
    ("missing", &["NaN", "nan"]),
    ("monotone_constraints", &["", "()"]),
    ("multi_strategy", &["one_output_per_tree"]),
    ("n_jobs", &["-1"]),
    ("nthread", &["-1"]),
    ("predictor", &["auto", "cpu_predictor"]),
    ("process_type", &["default"]),
    ("sampling_method", &["uniform"]),
    ("use_label_encoder", &["false", "true"]),
    ("validate_parameters", &["1", "true"]),
    ("verbosity", &["0", "1"]),
];

/// The value as libxgboost takes it.
pub(crate) fn checked_value(name: &str, rule: ValueRule, value: &Value) -> Result<String> {
    let text = match rule {
        ValueRule::Number(min, max) => {
            value.as_f64().filter(|number| (min..=max).contains(number)).map(written)
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

/// Writes a number with an exponent where Python does: libxgboost reads whole parts modulo 2^64, and no more than 19
/// digits of a fraction.
fn written(number: f64) -> String {
    format!("{number:?}")
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
            let texts: Vec<String> = all?.into_iter().map(written).collect();
            Some(format!("[{}]", texts.join(",")))
        }
        one => inside(one).map(written),
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

pub(crate) fn wrong(name: &str, allowed: String, value: &Value) -> Error {
    let mut given: String = value.to_string().chars().take(64).collect();
    if given.len() < value.to_string().len() {
        given.push_str("...");
    }
    Error::ParameterValue { name: name.to_owned(), allowed: allowed.into(), given }
}

/// Returns the JSON name of the type.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn aliases_reach_libxgboost_under_the_main_name() {
        let parsed = Parameters::parse(&json!({"learning_rate": 0.5, "max_depth": 4.0})).unwrap();
        assert_eq!(parsed.get("eta"), Some("0.5"));
        assert_eq!(parsed.get("max_depth"), Some("4"));
    }

    #[test]
    fn threads_stay_below_the_cap() {
        let parsed = Parameters::parse(&json!({"nthread": 64})).unwrap();
        assert_eq!(parsed.threads(2), 2);
        assert_eq!(Parameters::default().threads(2), 2);
        assert_eq!(Parameters::parse(&json!({"nthread": 1})).unwrap().threads(2), 1);
    }

    #[test]
    fn constraints_name_features() {
        let params = json!({"monotone_constraints": {"b": -1},
                            "interaction_constraints": [["a", "b"], ["c"]]});
        let settings = Parameters::parse(&params).unwrap().settings(&["a", "b", "c"]).unwrap();
        assert!(settings.contains(&("monotone_constraints", "(0,-1,0)".to_owned())));
        assert!(settings.contains(&("interaction_constraints", "[[0,1],[2]]".to_owned())));
        let wrong = json!({"monotone_constraints": {"x": 1}});
        let wrong = Parameters::parse(&wrong).unwrap().settings(&["a"]);
        assert!(matches!(wrong, Err(Error::Source { .. })));
    }

    #[test]
    fn what_get_params_returns_is_taken() {
        let pasted = json!({
            "objective": "binary:logistic", "base_score": null, "booster": null, "callbacks": null,
            "colsample_bytree": 0.5, "device": null, "early_stopping_rounds": null,
            "enable_categorical": false, "eval_metric": null, "feature_types": null, "gamma": null,
            "gpu_id": -1, "grow_policy": null, "importance_type": null,
            "interaction_constraints": "", "learning_rate": 0.3, "max_depth": 6, "missing": "NaN",
            "monotone_constraints": "()", "multi_strategy": null, "n_estimators": 100,
            "n_jobs": -1, "num_parallel_tree": 1, "predictor": "auto", "random_state": null,
            "sampling_method": "uniform", "tree_method": "hist", "use_label_encoder": false,
            "validate_parameters": true, "verbosity": null,
        });
        let parameters = Parameters::parse(&pasted).unwrap();
        assert_eq!((parameters.get("eta"), parameters.get("seed")), (Some("0.3"), None));
        assert!(parameters.constraints.is_empty() && parameters.metrics.is_empty());
        for (wrong, name) in [
            (json!({"device": "cuda"}), "device"),
            (json!({"missing": -1}), "missing"),
            (json!({"sampling_method": "gradient_based"}), "sampling_method"),
            (json!({"callbacks": []}), "callbacks"),
        ] {
            let error = Parameters::parse(&wrong).unwrap_err();
            assert!(matches!(error, Error::ParameterRefused { name: n, .. } if n == name));
        }
        let unknown = Parameters::parse(&json!({"max_dept": null}));
        assert!(matches!(unknown, Err(Error::UnknownParameter { .. })));
    }

    #[test]
    fn names_are_unique() {
        let table = TABLE.iter().flat_map(Parameter::names);
        let names: Vec<_> =
            table.chain(SPECIAL).chain(REFUSED.iter().map(|(name, _)| *name)).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }
}
