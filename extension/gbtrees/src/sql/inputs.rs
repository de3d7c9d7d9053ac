//! A row's values as the trees test them: arguments, codes of categories, variables.
//!
//! Functions take numbers as double precision and categories as the file has them. What calls the functions
//! of trees has turned NaN into NULL before.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::UnknownCategory;
use super::cuts::cut;
use super::quote::{array, literal, number};
use super::trees::{Kind, Variable};
use crate::ensemble::{Categories, Comparison, Ensemble, MissingRule, Precision};

/// PostgreSQL cuts names after as many bytes.
pub(super) const NAME_BYTES: usize = 63;

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentType {
    Number,
    Integer,
    Text,
}

impl ArgumentType {
    fn of(categories: Option<&Categories>) -> Self {
        match categories {
            Some(Categories::Text(_) | Categories::Hashed(_)) => ArgumentType::Text,
            Some(Categories::Integer(_)) => ArgumentType::Integer,
            Some(Categories::Float(_)) | None => ArgumentType::Number,
        }
    }

    pub(super) fn sql(self) -> &'static str {
        match self {
            ArgumentType::Number => "pg_catalog.float8",
            ArgumentType::Integer => "pg_catalog.int8",
            ArgumentType::Text => "pg_catalog.text",
        }
    }
}

/// An argument of the functions: a feature.
pub(super) struct Argument {
    /// Unique, and not longer than PostgreSQL's names.
    pub(super) name: String,
    /// The feature's name in full.
    pub(super) feature: String,
    pub(super) kind: ArgumentType,
}

/// Returns one argument per feature.
pub(super) fn arguments(model: &Ensemble) -> Vec<Argument> {
    let mut taken = HashSet::new();
    let features = (0..model.num_features()).map(|index| {
        let own = model.feature_names().get(index).filter(|name| !name.is_empty());
        let feature = own.cloned().unwrap_or_else(|| format!("f{index}"));
        let mut name = cut_to(&feature, NAME_BYTES).to_owned();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            let ending = format!("_{number}");
            name = format!("{}{ending}", cut_to(&feature, NAME_BYTES - ending.len()));
        }
        Argument { name, feature, kind: ArgumentType::of(categories(model, index)) }
    });
    features.collect()
}

fn cut_to(name: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    name.get(..end.unwrap_or(0)).unwrap_or(name)
}

fn categories(model: &Ensemble, feature: usize) -> Option<&Categories> {
    model.categories().get(feature)?.as_ref().filter(|all| !all.is_empty())
}

/// The part of a function that prepares variables: declarations, and statements.
pub(super) struct Prologue {
    pub(super) declarations: String,
    pub(super) statements: String,
    /// The expression of each variable.
    pub(super) variables: Vec<String>,
}

/// Prepares the variables of a model; `hash` names the function of hashes.
pub(super) fn prologue(
    model: &Ensemble,
    arguments: &[Argument],
    variables: &[Variable],
    unknown: UnknownCategory,
    hash: &str,
) -> Prologue {
    let mut all =
        Prologue { declarations: String::new(), statements: String::new(), variables: Vec::new() };
    for (feature, argument) in arguments.iter().enumerate() {
        if let Some(categories) = categories(model, feature) {
            let open = model.has_unknown_code(feature);
            let unknown = if open { None } else { Some(unknown) };
            all.look_up(feature, argument, categories, unknown, hash);
        }
    }
    for (index, variable) in variables.iter().enumerate() {
        let value = value_of(model, variable.feature);
        let (type_name, expression) = match variable.kind {
            Kind::Number => {
                all.variables.push(value);
                continue;
            }
            Kind::NonZero => ("pg_catalog.float8", non_zero(model.value_precision(), &value)),
            Kind::Code => ("pg_catalog.int4", code(model, variable.feature, &value)),
        };
        let _ = writeln!(all.declarations, "  v{index} {type_name};");
        let _ = writeln!(all.statements, "  v{index} := {expression};");
        all.variables.push(format!("v{index}"));
    }
    all
}

/// Returns the expression of a feature's number.
pub(super) fn value_of(model: &Ensemble, feature: usize) -> String {
    match categories(model, feature) {
        Some(_) => format!("f{feature}"),
        None => format!("${}", feature + 1),
    }
}

impl Prologue {
    /// Looks a category's code up. Unknown ones without a code are errors, or missing.
    fn look_up(
        &mut self,
        feature: usize,
        argument: &Argument,
        categories: &Categories,
        unknown: Option<UnknownCategory>,
        hash: &str,
    ) {
        let given = format!("${}", feature + 1);
        let found = match categories {
            Categories::Text(values) => {
                let known = (0..).zip(values).filter(|(_, value)| !value.contains('\0'));
                in_object(known.map(|(code, value)| (json(value), code)), &given)
            }
            Categories::Integer(values) => in_object(
                (0..).zip(values).map(|(code, value)| (format!("\"{value}\""), code)),
                &format!("{given}::pg_catalog.text"),
            ),
            Categories::Hashed(values) => in_object(
                (0..).zip(values).map(|(code, value)| (format!("\"{value}\""), code)),
                &format!("{hash}({given})::pg_catalog.text"),
            ),
            Categories::Float(values) => {
                let values = array(values.iter().map(|value| number(*value, Precision::Double)));
                let place =
                    format!("pg_catalog.array_position({values}::pg_catalog.float8[], {given})");
                format!("({place} OPERATOR(pg_catalog.-) 1)")
            }
        };
        let always = matches!(categories, Categories::Hashed(_)) || unknown.is_none();
        let _ = writeln!(self.declarations, "  f{feature} pg_catalog.float8;");
        let _ = writeln!(self.statements, "  f{feature} := {found};");
        let (end, name) = (categories.len(), literal(&argument.feature));
        let otherwise = match unknown {
            _ if always => format!("f{feature} := {end};"),
            None | Some(UnknownCategory::Missing) => return,
            Some(UnknownCategory::Error) => format!(
                "RAISE EXCEPTION 'unknown category \"%\" for feature \"%\"', {given}, {name} \
                 USING ERRCODE = '22P02';"
            ),
        };
        let _ = writeln!(
            self.statements,
            "  IF f{feature} IS NULL AND {given} IS NOT NULL THEN {otherwise} END IF;"
        );
    }
}

/// Looks a text up among the keys of an object, which are compared by their bytes.
fn in_object(entries: impl Iterator<Item = (String, usize)>, key: &str) -> String {
    let entries: Vec<String> = entries.map(|(key, code)| format!("{key}:{code}")).collect();
    let object = literal(&format!("{{{}}}", entries.join(",")));
    format!("({object}::pg_catalog.jsonb OPERATOR(pg_catalog.->) {key})::pg_catalog.float8")
}

/// Writes a text as JSON does.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn non_zero(precision: Precision, value: &str) -> String {
    let zero = f64::from(MissingRule::ZERO);
    let ends =
        [cut(precision, Comparison::Less, -zero), cut(precision, Comparison::LessOrEqual, zero)];
    let [low, high] = ends.map(|end| number(end.unwrap_or(f64::INFINITY), Precision::Double));
    format!(
        "CASE WHEN {value} OPERATOR(pg_catalog.<) '{low}' OR {value} OPERATOR(pg_catalog.>=) \
         '{high}' THEN {value} END"
    )
}

/// The code that sets have of a number; -1 for what is in none.
fn code(model: &Ensemble, feature: usize, value: &str) -> String {
    let precision = model.value_precision();
    let at_least = |number: f64| cut(precision, Comparison::Less, number).unwrap_or(number);
    let shown = |value| number(value, Precision::Double);
    let ranks = model.ranks_of(feature as u32);
    if !ranks.is_empty() {
        let ends = array(ranks.iter().map(|rank| shown(at_least(*rank))));
        return format!("pg_catalog.width_bucket({value}, {ends}::pg_catalog.float8[])");
    }
    if categories(model, feature).is_some() {
        return format!("{value}::pg_catalog.int4");
    }
    // In f64, numbers down to -1 are truncated to 0; in f32 they are first rounded.
    let (start, whole) = match precision {
        Precision::Single => (shown(at_least(0.0)), format!("{value}::pg_catalog.float4")),
        Precision::Double => (shown((-1f64).next_up()), value.to_owned()),
    };
    let end = shown(at_least(16_777_216.0));
    format!(
        "CASE WHEN {value} IS NULL THEN NULL WHEN {value} OPERATOR(pg_catalog.<) '{start}' OR \
         {value} OPERATOR(pg_catalog.>=) '{end}' THEN -1 WHEN {value} OPERATOR(pg_catalog.<) '0.5' \
         THEN 0 ELSE pg_catalog.trunc(({whole})::pg_catalog.float8)::pg_catalog.int4 END"
    )
}
