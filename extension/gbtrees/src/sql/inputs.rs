//! A row's values as the trees test them: arguments, codes of categories, variables.
//!
//! Functions take numbers as double precision and categories as the file has them. What calls the functions
//! of trees has turned NaN into NULL before.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::UnknownCategory;
use super::codes::Codes;
use super::cuts::cut;
use super::quote::{array, array_text, literal, number};
use super::trees::{Forest, Kind, Variable, non_zero_ends};
use crate::ensemble::{Categories, Comparison, Ensemble, MissingRule, Precision, RealInput};

/// PostgreSQL cuts names after as many bytes.
pub(super) const NAME_BYTES: usize = 63;

/// Arguments that a function of PostgreSQL can have.
pub(super) const MAX_ARGUMENTS: usize = 100;

/// The number that a real is to a feature: itself, or its decimal.
pub(super) const ITSELF: &str = "itself";
const DECIMAL: &str = "decimal";

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentType {
    Number,
    Integer,
    Text,
    /// A text, of which CatBoost has a hash.
    Hashed,
}

impl ArgumentType {
    fn of(categories: Option<&Categories>) -> Self {
        match categories {
            Some(Categories::Text(_)) => ArgumentType::Text,
            Some(Categories::Hashed(_)) => ArgumentType::Hashed,
            Some(Categories::Integer(_)) => ArgumentType::Integer,
            Some(Categories::Float(_)) | None => ArgumentType::Number,
        }
    }

    pub(super) fn sql(self) -> &'static str {
        match self {
            ArgumentType::Number => "float8",
            ArgumentType::Integer => "int8",
            ArgumentType::Text | ArgumentType::Hashed => "text",
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

/// Where expressions stand, which decides how they find a row's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a function: arguments and variables.
    Function,
    /// In a query: columns of `q`.
    Query,
}

impl Place {
    fn named(self, name: &str) -> String {
        match self {
            Place::Function => name.to_owned(),
            Place::Query => format!("q.{name}"),
        }
    }
}

/// The arguments of a model's functions, and how bodies find them.
///
/// Features of a model with more than a function's arguments come in two arrays, of numbers and of texts,
/// whose elements for features of the other kind are NULL.
pub(super) struct Inputs<'m> {
    model: &'m Ensemble,
    codes: &'m Codes,
    pub(super) arguments: Vec<Argument>,
}

impl<'m> Inputs<'m> {
    pub(super) fn of(model: &'m Ensemble, codes: &'m Codes) -> Self {
        Inputs { model, codes, arguments: arguments(model) }
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
            false => vec!["float8[]", "text[]"],
        }
    }

    /// Returns the expression of a feature as it was given.
    pub(super) fn given(&self, feature: usize, place: Place) -> String {
        let is_number =
            self.arguments.get(feature).is_none_or(|own| own.kind == ArgumentType::Number);
        match (place, self.are_columns(), is_number) {
            (Place::Query, ..) => format!("q.x{feature}"),
            (Place::Function, true, _) => format!("${}", feature + 1),
            (Place::Function, false, true) => format!("$1[{}]", feature + 1),
            (Place::Function, false, false) => format!("$2[{}]", feature + 1),
        }
    }

    /// Returns the expression of a feature's number.
    pub(super) fn value(&self, feature: usize, place: Place) -> String {
        match categories(self.model, feature) {
            Some(_) => place.named(&format!("f{feature}")),
            None => self.given(feature, place),
        }
    }

    /// Whether a feature has categories that the file names.
    pub(super) fn is_category(&self, feature: usize) -> bool {
        categories(self.model, feature).is_some()
    }

    /// Whether a feature is a number that is rounded to f32.
    pub(super) fn is_rounded(&self, feature: usize) -> bool {
        self.model.value_precision() == Precision::Single && !self.is_category(feature)
    }

    /// Returns the number that a real is to a feature: itself, its decimal, or one of an array and else its decimal.
    pub(super) fn real(&self, feature: usize) -> String {
        if self.is_rounded(feature) || self.model.real_input() == RealInput::Binary {
            return ITSELF.to_owned();
        }
        match categories(self.model, feature) {
            Some(Categories::Float(values)) => {
                array_text(values.iter().map(|value| number(*value, Precision::Double)))
            }
            _ => DECIMAL.to_owned(),
        }
    }

    /// Returns by feature the array of the reals that must be their decimals, where others may be themselves: where
    /// trees do nothing but compare.
    pub(super) fn reals_apart(&self, forest: &Forest<'_>) -> Vec<Option<String>> {
        if self.model.is_linear() || self.model.has_linear_leaves() {
            return Vec::new();
        }
        let shown = |reals: Vec<f32>| {
            array_text(reals.iter().map(|real| number((*real).into(), Precision::Single)))
        };
        let all = forest.reals_apart(self.arguments.len()).into_iter().enumerate();
        all.map(|(feature, reals)| {
            reals.filter(|_| !self.is_category(feature) && self.real(feature) == DECIMAL).map(shown)
        })
        .collect()
    }

    /// Whether a real is its decimal to a feature.
    pub(super) fn have_decimals(&self) -> bool {
        (0..self.arguments.len()).any(|feature| self.real(feature) != ITSELF)
    }

    /// Returns an integer that is none of a feature's categories, if others than these have a code.
    pub(super) fn no_category(&self, feature: usize) -> Option<String> {
        let known: &[i64] = match categories(self.model, feature) {
            Some(Categories::Integer(values)) if self.model.has_unknown_code(feature) => values,
            _ => return None,
        };
        let other = (0..=i64::MAX).find(|number| !known.contains(number));
        other.map(|number| format!("'{number}'"))
    }

    /// Whether there are categories that the file names.
    pub(super) fn has_categories(&self) -> bool {
        (0..self.arguments.len()).any(|feature| self.is_category(feature))
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
        // A category of CatBoost that no split tests has no hashes, and is text all the same.
        let own = model.categories().get(index).and_then(Option::as_ref);
        let own = own.filter(|all| !all.is_empty() || matches!(all, Categories::Hashed(_)));
        Argument { name, feature, kind: ArgumentType::of(own) }
    });
    features.collect()
}

fn cut_to(name: &str, bytes: usize) -> &str {
    name.get(..name.floor_char_boundary(bytes)).unwrap_or(name)
}

fn categories(model: &Ensemble, feature: usize) -> Option<&Categories> {
    model.categories().get(feature)?.as_ref().filter(|all| !all.is_empty())
}

/// A value that others are computed of: its name, type and expression.
pub(super) struct Step {
    pub(super) name: String,
    pub(super) type_name: &'static str,
    pub(super) expression: String,
}

/// The values that trees test, as they are prepared of a row.
pub(super) struct Prologue {
    /// Numbers of categories.
    pub(super) codes: Vec<Step>,
    /// Variables that are no numbers as they were given.
    pub(super) computed: Vec<Step>,
    /// The expression of each variable.
    pub(super) variables: Vec<String>,
    check: String,
}

impl Prologue {
    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.codes.iter().chain(&self.computed)
    }

    /// Returns the declarations of a function's variables.
    pub(super) fn declarations(&self) -> String {
        self.steps().map(|step| format!("  {} {};\n", step.name, step.type_name)).collect()
    }

    /// Returns the statements that assign to them.
    pub(super) fn statements(&self) -> String {
        let assigned = |step: &Step| format!("  {} := {};\n", step.name, step.expression);
        std::iter::once(self.check.clone()).chain(self.steps().map(assigned)).collect()
    }
}

/// The ending of the name of the function that raises the error of an unknown category.
pub(super) const UNKNOWN: &str = "_unknown";

/// The body of that function, of the category and the feature.
pub(super) const RAISE_UNKNOWN: &str = "BEGIN
  RAISE EXCEPTION 'unknown category \"%\" for feature \"%\"', $1, $2 USING ERRCODE := '22P02';
END";

impl Inputs<'_> {
    /// Prepares variables; `qualified` qualifies the ending of a function's name.
    pub(super) fn prologue(
        &self,
        variables: &[Variable],
        unknown: UnknownCategory,
        qualified: impl Fn(&str) -> String,
        place: Place,
    ) -> Prologue {
        let model = self.model;
        let mut all = Prologue {
            codes: Vec::new(),
            computed: Vec::new(),
            variables: Vec::new(),
            check: String::new(),
        };
        if !self.are_columns() {
            let count = self.arguments.len();
            all.check = format!(
                "  IF cardinality($1) <> {count} THEN\n    RAISE EXCEPTION 'model has {count} \
                 features, not %', cardinality($1) USING ERRCODE := '22023';\n  END IF;\n"
            );
        }
        for (feature, argument) in self.arguments.iter().enumerate() {
            let Some(categories) = categories(model, feature) else { continue };
            let given = self.given(feature, place);
            let otherwise = match unknown {
                _ if model.has_unknown_code(feature)
                    || matches!(categories, Categories::Hashed(_)) =>
                {
                    format!("'{}'::float8", categories.len())
                }
                UnknownCategory::Missing => "NULL::float8".to_owned(),
                UnknownCategory::Error => {
                    format!("{}({given}::text, {})", qualified(UNKNOWN), literal(&argument.feature))
                }
            };
            let found = found(categories, &given, &qualified("_hash"));
            all.codes.push(Step {
                name: format!("f{feature}"),
                type_name: "float8",
                expression: format!(
                    "COALESCE({found}, CASE WHEN {given} IS NOT NULL THEN {otherwise} END)"
                ),
            });
        }
        for (index, variable) in variables.iter().enumerate() {
            let value = self.value(variable.feature, place);
            let (type_name, expression) = match variable.kind {
                Kind::Number => {
                    all.variables.push(value);
                    continue;
                }
                Kind::NonZero => ("float8", non_zero(model.value_precision(), &value)),
                Kind::Code => {
                    let code = code(model, variable.feature, &value);
                    ("int4", self.codes.number_of(variable.feature, code))
                }
            };
            let name = format!("v{index}");
            all.variables.push(place.named(&name));
            all.computed.push(Step { name, type_name, expression });
        }
        all
    }

    /// Returns the array of features that coefficients of linear leaves multiply: see
    /// [`crate::ensemble::linear::factor`].
    pub(super) fn factors(&self) -> String {
        let zero = number(f64::from(MissingRule::ZERO), Precision::Double);
        let factors = (0..self.arguments.len()).map(|feature| {
            let value = self.value(feature, Place::Function);
            format!("CASE WHEN abs({value}) <= '{zero}' THEN '0' ELSE {value} END")
        });
        format!("ARRAY[{}]::float8[]", factors.collect::<Vec<_>>().join(", "))
    }
}

/// Looks the number of a category up; NULL for what is none.
fn found(categories: &Categories, given: &str, hash: &str) -> String {
    match categories {
        Categories::Text(values) => {
            let known = (0..).zip(values).filter(|(_, value)| !value.contains('\0'));
            in_object(known.map(|(code, value)| (json(value), code)), given)
        }
        Categories::Integer(values) => in_object(
            (0..).zip(values).map(|(code, value)| (format!("\"{value}\""), code)),
            &format!("{given}::text"),
        ),
        Categories::Hashed(values) => in_object(
            (0..).zip(values).map(|(code, value)| (format!("\"{value}\""), code)),
            &format!("{hash}({given})::text"),
        ),
        Categories::Float(values) => {
            let values = array(values.iter().map(|value| number(*value, Precision::Double)));
            let place = format!("array_position({values}::float8[], {given})");
            format!("({place} - 1)::float8")
        }
    }
}

/// Looks a text up among the keys of an object, which are compared by their bytes.
fn in_object(entries: impl Iterator<Item = (String, usize)>, key: &str) -> String {
    let entries: Vec<String> = entries.map(|(key, code)| format!("{key}:{code}")).collect();
    let object = literal(&format!("{{{}}}", entries.join(",")));
    format!("({object}::jsonb -> {key})::float8")
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
    let [low, high] =
        non_zero_ends(precision).map(|end| number(end.unwrap_or(f64::INFINITY), Precision::Double));
    format!("CASE WHEN {value} < '{low}' OR {value} >= '{high}' THEN {value} END")
}

/// The code that sets have of a number; -1 for what is in none.
fn code(model: &Ensemble, feature: usize, value: &str) -> String {
    let precision = model.value_precision();
    let at_least = |number: f64| cut(precision, Comparison::Less, number).unwrap_or(number);
    let shown = |value| number(value, Precision::Double);
    let ranks = model.ranks_of(feature as u32);
    if !ranks.is_empty() {
        let ends = array(ranks.iter().map(|rank| shown(at_least(*rank))));
        return format!("width_bucket({value}, {ends}::float8[])");
    }
    if categories(model, feature).is_some() {
        return format!("{value}::int4");
    }
    // In f64, numbers down to -1 are truncated to 0; in f32 they are first rounded.
    let (start, whole) = match precision {
        Precision::Single => (shown(at_least(0.0)), format!("{value}::float4")),
        Precision::Double => (shown((-1f64).next_up()), value.to_owned()),
    };
    let end = shown(at_least(16_777_216.0));
    format!(
        "CASE WHEN {value} IS NULL THEN NULL WHEN {value} < '{start}' OR {value} >= '{end}' THEN \
         '-1' WHEN {value} < '0.5' THEN 0 ELSE trunc(({whole})::float8)::int4 END"
    )
}
