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

/// Arguments that a function of PostgreSQL can have.
const MAX_ARGUMENTS: usize = 100;

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

/// The arguments of a model's functions, and how bodies find them.
///
/// Features of a model with more than a function's arguments come in two arrays, of numbers and of texts,
/// whose elements for features of the other kind are NULL.
pub(super) struct Inputs<'m> {
    model: &'m Ensemble,
    pub(super) arguments: Vec<Argument>,
}

impl<'m> Inputs<'m> {
    pub(super) fn of(model: &'m Ensemble) -> Self {
        Inputs { model, arguments: arguments(model) }
    }

    /// Whether each feature is an argument.
    pub(super) fn are_columns(&self) -> bool {
        self.arguments.len() <= MAX_ARGUMENTS
    }

    /// Whether all features are numbers without categories.
    pub(super) fn are_numbers(&self) -> bool {
        self.arguments.iter().all(|argument| argument.kind == ArgumentType::Number)
    }

    /// Returns the types of the arguments of functions behind those that users call.
    pub(super) fn types(&self) -> Vec<&'static str> {
        match self.are_columns() {
            true => self.arguments.iter().map(|argument| argument.kind.sql()).collect(),
            false => vec!["pg_catalog.float8[]", "pg_catalog.text[]"],
        }
    }

    /// Returns the expression of a feature as it was given.
    fn given(&self, feature: usize) -> String {
        let is_number =
            self.arguments.get(feature).is_none_or(|own| own.kind == ArgumentType::Number);
        match (self.are_columns(), is_number) {
            (true, _) => format!("${}", feature + 1),
            (false, true) => format!("$1[{}]", feature + 1),
            (false, false) => format!("$2[{}]", feature + 1),
        }
    }

    /// Returns the expression of a feature's number.
    pub(super) fn value(&self, feature: usize) -> String {
        match categories(self.model, feature) {
            Some(_) => format!("f{feature}"),
            None => self.given(feature),
        }
    }

    /// Whether a category is found by CatBoost's hash of it.
    pub(super) fn has_hashes(&self) -> bool {
        let mut all = self.model.categories().iter().flatten();
        all.any(|all| !all.is_empty() && matches!(all, Categories::Hashed(_)))
    }
}

/// Returns one argument per feature.
fn arguments(model: &Ensemble) -> Vec<Argument> {
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

impl Inputs<'_> {
    /// Prepares variables; `hash` names the function of hashes.
    pub(super) fn prologue(
        &self,
        variables: &[Variable],
        unknown: UnknownCategory,
        hash: &str,
    ) -> Prologue {
        let model = self.model;
        let mut all = Prologue {
            declarations: String::new(),
            statements: String::new(),
            variables: Vec::new(),
        };
        if !self.are_columns() {
            let count = self.arguments.len();
            let _ = writeln!(
                all.statements,
                "  IF pg_catalog.cardinality($1) OPERATOR(pg_catalog.<>) {count} THEN\n    RAISE EXCEPTION \
                 'model has {count} features, not %', pg_catalog.cardinality($1) USING ERRCODE = \
                 '22023';\n  END IF;"
            );
        }
        for feature in 0..self.arguments.len() {
            if let Some(categories) = categories(model, feature) {
                let open = model.has_unknown_code(feature);
                let unknown = if open { None } else { Some(unknown) };
                self.look_up(&mut all, feature, categories, unknown, hash);
            }
        }
        for (index, variable) in variables.iter().enumerate() {
            let value = self.value(variable.feature);
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

    /// Returns the array of features that coefficients of linear leaves multiply: see
    /// [`crate::ensemble::linear::factor`].
    pub(super) fn factors(&self) -> String {
        let zero = number(f64::from(MissingRule::ZERO), Precision::Double);
        let factors = (0..self.arguments.len()).map(|feature| {
            let value = self.value(feature);
            format!(
                "CASE WHEN pg_catalog.abs({value}) OPERATOR(pg_catalog.<=) '{zero}' THEN '0' ELSE {value} END"
            )
        });
        format!("ARRAY[{}]::pg_catalog.float8[]", factors.collect::<Vec<_>>().join(", "))
    }

    /// Looks a category's code up. Unknown ones without a code are errors, or missing.
    fn look_up(
        &self,
        all: &mut Prologue,
        feature: usize,
        categories: &Categories,
        unknown: Option<UnknownCategory>,
        hash: &str,
    ) {
        let Some(argument) = self.arguments.get(feature) else { return };
        let given = self.given(feature);
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
        let _ = writeln!(all.declarations, "  f{feature} pg_catalog.float8;");
        let _ = writeln!(all.statements, "  f{feature} := {found};");
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
            all.statements,
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
