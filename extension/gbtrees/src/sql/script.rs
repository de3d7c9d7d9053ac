//! The script: which functions there are, and how they call each other.
//!
//! Functions of features that a user calls are SQL, have named arguments, and are inlined into the query. Those
//! behind them have arguments without names, so that no name of a feature can mean something else in a body.

use super::codes::Codes;
use super::function::Function;
use super::guard::{self, GENERATION_DIGITS, Kept, SETTINGS, mark, qualified};
use super::inputs::{ArgumentType, Inputs, Place, Prologue, RAISE_UNKNOWN, UNKNOWN};
use super::nested::{sum_type, sums};
use super::quote::{comment, literal};
use super::symmetric::Symmetric;
use super::trees::Forest;
use super::values::{
    are_probabilities, class, has_one_value, margin_scaling, probabilities, result, values,
};
use super::{Options, explain, hash, linear, lookup, nested, objects, rows};
use crate::ensemble::{Ensemble, Precision, city_hash};
use crate::{Cancel, Result};

/// The longest name: the longest ending, with a version, must fit into PostgreSQL's names.
pub(super) const NAME_BYTES: usize = 63 - "_4294967295_scan_margin".len();

/// Nodes up to which trees are nested expressions, of which a session keeps 3 kB per node.
const MAX_NESTED: usize = 20_000;

/// The endings of names of functions that users call.
const PUBLIC: [&str; 7] = ["", "_margin", "_class", "_proba", EXPLAIN, "_scan", "_scan_margin"];

/// The endings of those that take a query.
pub(super) const ROWS: [&str; 2] = ["_rows", "_rows_margin"];

/// The endings of the others, but for those of hashes.
const INTERNAL: [&str; 13] = [
    "_single",
    "_sum",
    "_scan_sum",
    "_value",
    "_class_of",
    "_proba_of",
    "_number",
    "_integer",
    "_text",
    "_hashed",
    UNKNOWN,
    QUERY,
    EXPLAINED,
];

/// The endings of the functions of trees, for one row and for many.
pub(super) const ONE: &str = "_sum";
const SCAN: &str = "_scan_sum";

/// The ending of the function from a query to that of its margins.
pub(super) const QUERY: &str = "_query";

/// The endings of the functions of SHAP values, the user's and the one behind it.
const EXPLAIN: &str = "_explain";
const EXPLAINED: &str = "_explained";

/// Stands for the digest of the whole script until that is known.
const GENERATION: &str = "\0generation\0";

const IMMUTABLE: &str = "IMMUTABLE PARALLEL SAFE";

/// The ending of the function of a group of trees.
pub(super) fn group(number: usize) -> String {
    format!("_group{number}")
}

/// Names of an export's functions.
pub(super) struct Names<'a> {
    options: &'a Options,
}

impl Names<'_> {
    /// Returns the name of this version's function. Without a version it is one behind those that users call, whose
    /// generation stands in the place of a number: nothing that a running statement calls is ever replaced.
    fn own(&self, ending: &str) -> String {
        let name = &self.options.name;
        match self.options.version {
            Some(version) => format!("{name}_{version}{ending}"),
            None => format!("{name}_{GENERATION}{ending}"),
        }
    }

    pub(super) fn qualified(&self, ending: &str) -> String {
        qualified(&self.options.schema, &self.own(ending))
    }

    /// Returns the mark of this version's functions.
    fn mark(&self) -> String {
        let version = self.options.version.map(|version| format!("@{version}"));
        mark(&format!("{}{}", self.options.name, version.unwrap_or_default()))
    }
}

pub(super) fn script(
    model: &Ensemble,
    labels: &[String],
    options: &Options,
    cancel: Cancel<'_>,
) -> Result<String> {
    let codes = Codes::of(model, cancel)?;
    let functions = Functions {
        model,
        labels,
        options,
        names: Names { options },
        inputs: Inputs::of(model, &codes),
        forest: Forest::of(model, &codes, cancel)?,
    };
    functions.script(cancel)
}

pub(super) fn drop_script(options: &Options) -> String {
    let (names, Options { name, schema, .. }) = (Names { options }, options);
    if options.version.is_none() {
        let all = PUBLIC.into_iter().chain(ROWS).map(|ending| format!("{name}{ending}"));
        let all: Vec<String> = all.collect();
        let generations = guard::drop_generations(schema, name, None);
        return guard::drop_script(schema, &all, &names.mark(), &generations);
    }
    let hashes = hash::PARTS.iter().map(|(ending, ..)| *ending);
    let endings = PUBLIC.into_iter().chain(ROWS).chain(INTERNAL).chain(hashes);
    let groups = (0..rows::MAX_GROUPS).map(|number| names.own(&group(number)));
    let all: Vec<String> = endings.map(|ending| names.own(ending)).chain(groups).collect();
    guard::drop_script(schema, &all, &names.mark(), "")
}

pub(super) struct Functions<'a> {
    pub(super) model: &'a Ensemble,
    labels: &'a [String],
    pub(super) options: &'a Options,
    pub(super) names: Names<'a>,
    pub(super) inputs: Inputs<'a>,
    pub(super) forest: Forest<'a>,
}

impl Functions<'_> {
    fn script(&self, cancel: Cancel<'_>) -> Result<String> {
        let mut functions = self.readers();
        functions.extend(self.hashes());
        let symmetric = Symmetric::of(&self.forest, cancel)?;
        let margins = self.margins(symmetric.as_ref(), cancel)?;
        let scan = if margins.iter().any(|own| own.name.ends_with(SCAN)) { SCAN } else { ONE };
        functions.extend(margins);
        functions.extend(self.query_of_rows(symmetric.as_ref(), cancel)?);
        functions.extend(self.results());
        let explained = self.explained(cancel)?;
        let mut endings = PUBLIC.to_vec();
        if explained.is_err() {
            endings.retain(|ending| *ending != EXPLAIN);
        }
        let mut out = self.header(explained.as_ref().err().copied());
        functions.extend(explained);
        if self.options.version.is_some() {
            functions.extend(self.public(&self.names.own(""), scan, &endings));
        }
        let current = self.public(&self.options.name, scan, &endings);
        let mark = mark(&self.options.name);
        functions.extend(current.into_iter().map(|own| Function { mark: mark.clone(), ..own }));
        out.push_str("BEGIN;\n");
        out.push_str(SETTINGS);
        if !self.options.schema.is_ascii() || !functions.iter().all(Function::is_ascii) {
            out.push_str("SET LOCAL client_encoding = 'UTF8';\n");
        }
        let kept: Vec<Kept> = functions.iter().map(Function::kept).collect();
        out.push_str(&guard::guard(&self.options.schema, &kept));
        if self.options.version.is_none() {
            let Options { name, schema, .. } = self.options;
            out.push_str(&guard::drop_generations(schema, name, Some(GENERATION)));
        }
        functions.iter().for_each(|function| function.create(&mut out, &self.options.schema));
        out.push_str("COMMIT;\n");
        let digest = city_hash::hash(out.as_bytes());
        Ok(out.replace(GENERATION, &format!("{digest:0GENERATION_DIGITS$x}")))
    }

    fn header(&self, unexplained: Option<&str>) -> String {
        let (model, name) = (self.model, comment(&self.options.name));
        let unexplained = unexplained
            .map(|reason| format!("-- There is no {name}{EXPLAIN}(...): {reason}.\n"))
            .unwrap_or_default();
        format!(
            "-- {name}: a model as SQL functions, for PostgreSQL 13 and later without an extension.\n\
             -- {} of {} trees with {} nodes, {} features, {}.\n\
             -- {name}(...), {name}(record) and {name}(jsonb) are for one row, {name}_scan(...) and\n\
             -- {name}_rows(query) for many.\n\
             {unexplained}-- Written by gbtrees {}.\n",
            comment(model.format()),
            model.trees().len(),
            self.forest.num_nodes(),
            self.inputs.arguments.len(),
            comment(model.objective().name()),
            env!("CARGO_PKG_VERSION"),
        )
    }

    /// A function behind those that users call.
    pub(super) fn internal(
        &self,
        ending: &str,
        types: Vec<&'static str>,
        returns: &str,
        body: String,
        comment: &str,
    ) -> Function {
        Function {
            name: self.names.own(ending),
            types,
            names: Vec::new(),
            columns: &[],
            returns: returns.to_owned(),
            language: "plpgsql",
            properties: IMMUTABLE,
            cost: 100,
            body,
            mark: self.names.mark(),
            comment: comment.to_owned(),
        }
    }

    /// The functions that read jsonb objects.
    fn readers(&self) -> Vec<Function> {
        let kinds =
            [ArgumentType::Number, ArgumentType::Integer, ArgumentType::Text, ArgumentType::Hashed];
        let used = kinds
            .into_iter()
            .filter(|kind| self.inputs.arguments.iter().any(|argument| argument.kind == *kind));
        let readers = used.map(|kind| {
            let what = "a feature of an object";
            let precision = self.model.value_precision();
            let body = objects::body(kind, self.options.unknown_category, precision);
            self.internal(objects::reader(kind), objects::types(kind), kind.sql(), body, what)
        });
        let unknown = self.inputs.has_categories().then(|| {
            let types = vec!["text", "text"];
            let (float, what) = ("float8", "the error of an unknown category");
            self.internal(UNKNOWN, types, float, RAISE_UNKNOWN.to_owned(), what)
        });
        readers.chain(unknown).collect()
    }

    fn hashes(&self) -> Vec<Function> {
        if !self.inputs.has_hashes() {
            return Vec::new();
        }
        let name = |ending: &str| self.names.qualified(ending);
        let parts = hash::PARTS.iter().map(|(ending, types, returns, template)| {
            let body = hash::spelled(template, name);
            self.internal(ending, types.to_vec(), returns, body, "CatBoost's hash of a category")
        });
        parts.collect()
    }

    pub(super) fn prologue(&self, place: Place) -> Prologue {
        let unknown = self.options.unknown_category;
        let qualified = |ending: &str| self.names.qualified(ending);
        self.inputs.prologue(&self.forest.variables, unknown, qualified, place)
    }

    /// The functions of all trees: by lookups, and nested.
    fn margins(
        &self,
        symmetric: Option<&Symmetric<'_>>,
        cancel: Cancel<'_>,
    ) -> Result<Vec<Function>> {
        let model = self.model;
        let (outputs, precision) = (model.num_outputs(), model.sum_precision());
        let prologue = self.prologue(Place::Function);
        let function = |ending: &str, declared: String, statements: String| {
            let scaled = margin_scaling(model);
            let body = format!(
                "DECLARE\n{}{declared}BEGIN\n{}{statements}{scaled}  RETURN {};\nEND",
                prologue.declarations(),
                prologue.statements(),
                result(outputs),
            );
            let returns = self.margin_type();
            let cost = self.cost();
            let function = self.internal(ending, self.inputs.types(), returns, body, "margins");
            Function { cost, ..function }
        };
        let trees = 0..self.forest.trees.len();
        if model.is_linear() {
            let round = self.names.qualified("_single");
            let (declared, statements) = linear::statements(model, &self.inputs, &round);
            let number = "float8";
            let rounding = linear::ROUND.to_owned();
            return Ok(vec![
                self.internal("_single", vec![number], number, rounding, "a number as real"),
                function(ONE, declared, statements),
            ]);
        }
        if let Some(trees) = symmetric {
            let variables = self.forest.variables.len();
            let (declared, statements) = trees.loops(variables, outputs, precision, &prologue);
            let one = function(ONE, sums(model) + &declared, statements);
            let (declared, statements) = trees.unrolled(variables, outputs, precision, &prologue);
            return Ok(vec![one, function(SCAN, sums(model) + &declared, statements)]);
        }
        let factors = model.has_linear_leaves().then(|| self.inputs.factors());
        let (declared, statements) = lookup::statements(
            &self.forest,
            trees.clone(),
            outputs,
            precision,
            &prologue,
            factors.as_deref(),
            cancel,
        )?;
        let mut all = vec![function(ONE, sums(model) + &declared, statements)];
        if self.has_nested() {
            let statements = nested::statements(&self.forest, trees, outputs, precision, &prologue);
            all.push(function(SCAN, sums(model), statements));
        }
        Ok(all)
    }

    fn has_nested(&self) -> bool {
        self.can_nest() && self.forest.num_nodes() <= MAX_NESTED
    }

    pub(super) fn can_nest(&self) -> bool {
        !self.model.is_linear()
            && !self.model.has_linear_leaves()
            && self.forest.depth() <= nested::MAX_DEPTH
    }

    fn cost(&self) -> u64 {
        let splits: u64 = self.forest.trees.iter().map(|tree| u64::from(tree.depth)).sum();
        splits.clamp(100, 100_000)
    }

    pub(super) fn margin_type(&self) -> &'static str {
        type_of(self.model.sum_precision(), self.model.num_outputs() == 1)
    }

    pub(super) fn value_type(&self) -> &'static str {
        type_of(self.model.sum_precision(), has_one_value(self.model))
    }

    /// The functions from margins to results.
    fn results(&self) -> Vec<Function> {
        let (model, margin) = (self.model, self.margin_type());
        let mut all = Vec::new();
        let value = values(model).map(|body| {
            self.internal("_value", vec![margin], self.value_type(), body, "values of margins")
        });
        all.extend(value);
        if let Some(body) = class(model, &self.value("$1")) {
            let what = "number of the class of margins";
            all.push(self.internal("_class_of", vec![margin], "int4", body, what));
        }
        if are_probabilities(model) {
            let body = probabilities(model, &self.all_labels());
            let types = vec![self.value_type()];
            all.push(self.internal("_proba_of", types, "jsonb", body, "probabilities"));
        }
        all
    }

    /// Returns the expression of the values of margins.
    fn value(&self, margins: &str) -> String {
        match values(self.model) {
            Some(_) => format!("{}({margins})", self.names.qualified("_value")),
            None => margins.to_owned(),
        }
    }

    /// Returns the array of labels, or of the classes' numbers.
    fn all_labels(&self) -> String {
        let labels: Vec<String> = match self.labels {
            [] => (0..self.model.num_classes()).map(|class| format!("'{class}'")).collect(),
            labels => labels.iter().map(|label| literal(label)).collect(),
        };
        format!("ARRAY[{}]::text[]", labels.join(", "))
    }

    /// The function of SHAP values, or the reason why there is none.
    fn explained(&self, cancel: Cancel<'_>) -> Result<std::result::Result<Function, &'static str>> {
        let prologue = self.prologue(Place::Function);
        let (model, inputs) = (self.model, &self.inputs);
        let found = explain::statements(model, inputs, &self.forest, &prologue, cancel)?;
        Ok(found.map(|(declared, statements)| {
            let body = format!(
                "DECLARE\n{}{declared}BEGIN\n{}{statements}END",
                prologue.declarations(),
                prologue.statements(),
            );
            let types = self.inputs.types();
            let function = self.internal(EXPLAINED, types, "jsonb", body, "SHAP values");
            Function { cost: 100_000, ..function }
        }))
    }

    /// The functions that users call, under a name.
    fn public(&self, name: &str, scan: &str, endings: &[&str]) -> Vec<Function> {
        let mut all = Vec::new();
        let numbers = !self.inputs.are_columns() && self.inputs.are_numbers();
        if self.inputs.are_columns() || numbers {
            for ending in endings {
                let trees = match *ending {
                    EXPLAIN => EXPLAINED,
                    ending if ending.starts_with("_scan") => scan,
                    _ => ONE,
                };
                all.extend(self.of_values(name, ending, trees));
            }
        }
        all.extend(ROWS.iter().filter_map(|ending| self.of_rows(name, ending)));
        for ending in endings.iter().filter(|ending| !ending.starts_with("_scan")) {
            if let Some(of_object) = self.of_object(name, ending) {
                all.push(self.of_row(&of_object));
                all.push(of_object);
            }
        }
        all
    }

    /// Returns the type and the expression of what a public function returns.
    pub(super) fn result(&self, ending: &str, margins: &str) -> Option<(&'static str, String)> {
        Some(match ending {
            "_margin" | "_scan_margin" => (self.margin_type(), margins.to_owned()),
            "_class" => {
                class(self.model, "")?;
                let number = format!("{}({margins})", self.names.qualified("_class_of"));
                let labels = self.all_labels();
                let label = format!("({labels})[{number} + 1]");
                ("text", label)
            }
            "_proba" => {
                are_probabilities(self.model).then_some(())?;
                let values = self.value(margins);
                let object = format!("{}({values})", self.names.qualified("_proba_of"));
                ("jsonb", object)
            }
            EXPLAIN => ("jsonb", margins.to_owned()),
            _ => (self.value_type(), self.value(margins)),
        })
    }

    /// A function with an argument per feature, or with one array of them.
    fn of_values(&self, name: &str, ending: &str, trees: &str) -> Option<Function> {
        let trees = self.names.qualified(trees);
        let (names, types, margins) = if self.inputs.are_columns() {
            let passed: Vec<String> = (1..)
                .zip(&self.inputs.arguments)
                .map(|(number, argument)| match argument.kind {
                    // NaN is not less than itself.
                    ArgumentType::Number => {
                        format!("CASE WHEN ${number} < 'NaN' THEN ${number} END")
                    }
                    _ => format!("${number}"),
                })
                .collect();
            let names = self.inputs.arguments.iter().map(|argument| argument.name.clone());
            let margins = format!("{trees}({})", passed.join(", "));
            (names.collect(), self.inputs.types(), margins)
        } else {
            let numbers = "array_replace($1, 'NaN'::float8, NULL)";
            let margins = format!("{trees}({numbers}, NULL)");
            (vec!["features".to_owned()], vec!["float8[]"], margins)
        };
        self.query(name, ending, names, types, &margins)
    }

    /// Returns the arguments of a function of trees, of an expression per feature.
    pub(super) fn passed(&self, features: Vec<String>) -> String {
        if self.inputs.are_columns() {
            return features.join(", ");
        }
        let of = |numbers: bool| {
            let elements = features.iter().zip(&self.inputs.arguments).map(|(value, argument)| {
                match ((argument.kind == ArgumentType::Number) == numbers, numbers) {
                    (true, true) => value.clone(),
                    (true, false) => format!("({value})::text"),
                    (false, _) => "NULL".to_owned(),
                }
            });
            elements.collect::<Vec<_>>().join(", ")
        };
        let (numbers, texts) = (of(true), of(false));
        format!("ARRAY[{numbers}]::float8[], ARRAY[{texts}]::text[]")
    }

    /// A function with one object of features.
    fn of_object(&self, name: &str, ending: &str) -> Option<Function> {
        let read = self.inputs.arguments.iter().enumerate().map(|(feature, argument)| {
            let reader = self.names.qualified(objects::reader(argument.kind));
            let other = match argument.kind {
                ArgumentType::Integer => {
                    let other = self.inputs.no_category(feature);
                    format!(", {}", other.unwrap_or_else(|| "NULL".to_owned()))
                }
                _ => String::new(),
            };
            format!("{reader}($1, {}{other})", literal(&argument.feature))
        });
        let passed = self.passed(read.collect());
        let trees = if ending == EXPLAIN { EXPLAINED } else { ONE };
        let margins = format!("{}({passed})", self.names.qualified(trees));
        let names = vec!["features".to_owned()];
        self.query(name, ending, names, vec!["jsonb"], &margins)
    }

    /// A function with a row, whose columns are matched by name as an object's keys are; a column of type real
    /// is its decimal there.
    fn of_row(&self, of_object: &Function) -> Function {
        let name = qualified(&self.options.schema, &of_object.name);
        Function {
            name: of_object.name.clone(),
            types: vec!["record"],
            names: Vec::new(),
            columns: &[],
            returns: of_object.returns.clone(),
            language: "plpgsql",
            // The text of a time depends on settings, as would that of a real.
            properties: "STABLE PARALLEL SAFE SET extra_float_digits = 1",
            cost: of_object.cost,
            body: format!("BEGIN\n  RETURN {name}(to_jsonb($1));\nEND"),
            mark: of_object.mark.clone(),
            comment: of_object.comment.clone(),
        }
    }

    fn query(
        &self,
        name: &str,
        ending: &str,
        mut names: Vec<String>,
        types: Vec<&'static str>,
        margins: &str,
    ) -> Option<Function> {
        let (returns, result) = self.result(ending, margins)?;
        let is_object = types == ["jsonb"];
        // `f()` with a default would be as good a match for one form as for another.
        if is_object {
            names.clear();
        }
        // A function that is inlined computes an object again for each feature.
        let (language, body) = match is_object {
            true => ("plpgsql", format!("BEGIN\n  RETURN {result};\nEND")),
            false => ("sql", format!("SELECT {result}")),
        };
        Some(Function {
            name: format!("{name}{ending}"),
            types,
            names,
            columns: &[],
            returns: returns.to_owned(),
            language,
            properties: IMMUTABLE,
            cost: self.cost(),
            body,
            mark: self.names.mark(),
            comment: format!(
                "{} of a model of {}",
                if ending.is_empty() { "prediction" } else { ending.trim_start_matches('_') },
                self.model.format()
            ),
        })
    }
}

fn type_of(precision: Precision, is_one: bool) -> &'static str {
    match (precision, is_one) {
        (_, true) => sum_type(precision),
        (Precision::Single, false) => "float4[]",
        (Precision::Double, false) => "float8[]",
    }
}
