//! The script: which functions there are, and how they call each other.
//!
//! Functions that a user calls are SQL, have named arguments, and are inlined into the query. Those behind
//! them have arguments without names, so that no name of a feature can mean something else in a body. All
//! names are qualified, operators included, so that objects planted elsewhere are never found.

use std::fmt::Write as _;

use super::Options;
use super::guard::{self, Kept, MARK, SETTINGS, qualified};
use super::inputs::{Argument, ArgumentType, arguments, prologue};
use super::nested::{self, sum_type, sums};
use super::quote::{body, comment, identifier, literal};
use super::trees::Forest;
use super::values::{are_probabilities, class, has_one_value, margin_scaling, result, values};
use crate::ensemble::Ensemble;
use crate::{Cancel, Result};

/// The longest name: the longest suffix, with a version, must fit into PostgreSQL's names.
pub(super) const NAME_BYTES: usize = 63 - "_4294967295_scan_margin".len();

/// Arguments that a function of PostgreSQL can have.
pub(super) const MAX_ARGUMENTS: usize = 100;

/// Names of an export's functions.
struct Names<'a> {
    options: &'a Options,
}

impl Names<'_> {
    /// Returns the name of this version's function.
    fn own(&self, suffix: &str) -> String {
        let version = self.options.version.map(|version| format!("_{version}"));
        format!("{}{}{suffix}", self.options.name, version.unwrap_or_default())
    }

    fn qualified(&self, suffix: &str) -> String {
        self.in_schema(&self.own(suffix))
    }

    fn in_schema(&self, name: &str) -> String {
        qualified(&self.options.schema, name)
    }
}

/// A function of the script.
struct Function {
    name: String,
    /// Names and types; a name may be empty.
    arguments: Vec<(String, &'static str)>,
    returns: String,
    language: &'static str,
    cost: u64,
    body: String,
    comment: String,
}

impl Function {
    fn types(&self) -> Vec<&'static str> {
        self.arguments.iter().map(|(_, type_name)| *type_name).collect()
    }

    fn kept(&self, named: bool) -> Kept {
        let names = self.arguments.iter().map(|(name, _)| name.clone());
        let names = if named { names.collect() } else { Vec::new() };
        let (name, returns) = (self.name.clone(), self.returns.clone());
        Kept { name, types: self.types(), names, returns }
    }

    fn is_ascii(&self) -> bool {
        self.name.is_ascii()
            && self.body.is_ascii()
            && self.arguments.iter().all(|(name, _)| name.is_ascii())
    }
}

pub(super) fn script(
    model: &Ensemble,
    labels: &[String],
    options: &Options,
    cancel: Cancel<'_>,
) -> Result<String> {
    let forest = Forest::of(model, cancel)?;
    let functions = Functions {
        model,
        labels,
        options,
        names: Names { options },
        arguments: arguments(model),
        forest,
    };
    Ok(functions.script())
}

struct Functions<'a> {
    model: &'a Ensemble,
    labels: &'a [String],
    options: &'a Options,
    names: Names<'a>,
    arguments: Vec<Argument>,
    forest: Forest<'a>,
}

impl Functions<'_> {
    fn script(&self) -> String {
        let mut functions = vec![self.margins()];
        functions.extend(self.values());
        functions.extend(self.class());
        let internal = functions.len();
        functions.extend(self.public(&self.names.own("")));
        if self.options.version.is_some() {
            functions.extend(self.public(&self.options.name));
        }
        let mut out = self.header();
        out.push_str("BEGIN;\n");
        out.push_str(SETTINGS);
        if !out.is_ascii() || functions.iter().any(|function| !function.is_ascii()) {
            out.push_str("SET LOCAL client_encoding = 'UTF8';\n");
        }
        let kept: Vec<Kept> = (0..).zip(&functions).map(|(n, f)| f.kept(n >= internal)).collect();
        out.push_str(&guard::guard(&self.options.schema, &kept));
        for (index, function) in functions.iter().enumerate() {
            self.create(&mut out, function, index >= internal);
        }
        out.push_str("COMMIT;\n");
        out
    }

    fn header(&self) -> String {
        let (model, options) = (self.model, self.options);
        let features = self.arguments.len();
        format!(
            "-- {} as SQL functions: a model of {} with {} trees, {} nodes and {features} features, objective {}.\n\
             -- Written by gbtrees {}. Needs PostgreSQL 13 or later, and no extension.\n",
            comment(&options.name),
            comment(model.format()),
            model.trees().len(),
            self.forest.num_nodes(),
            comment(model.objective().name()),
            env!("CARGO_PKG_VERSION"),
        )
    }

    fn create(&self, out: &mut String, function: &Function, named: bool) {
        let arguments: Vec<String> = function
            .arguments
            .iter()
            .map(|(name, type_name)| match named {
                true => format!("{} {type_name} DEFAULT NULL", identifier(name)),
                false => (*type_name).to_owned(),
            })
            .collect();
        let name = self.names.in_schema(&function.name);
        let _ = write!(
            out,
            "CREATE OR REPLACE FUNCTION {name}({}) RETURNS {}\n  LANGUAGE {} IMMUTABLE PARALLEL SAFE COST {}\n  AS {};\n",
            arguments.join(", "),
            function.returns,
            function.language,
            function.cost,
            body(&function.body),
        );
        let _ = writeln!(
            out,
            "COMMENT ON FUNCTION {name}({}) IS {};\n",
            function.types().join(", "),
            literal(&format!("{MARK}{}", function.comment)),
        );
    }

    fn margin_type(&self) -> String {
        let array = if self.model.num_outputs() == 1 { "" } else { "[]" };
        format!("{}{array}", sum_type(self.model.sum_precision()))
    }

    fn value_type(&self) -> String {
        let array = if has_one_value(self.model) { "" } else { "[]" };
        format!("{}{array}", sum_type(self.model.sum_precision()))
    }

    /// The function of all trees.
    fn margins(&self) -> Function {
        let variables = &self.forest.variables;
        let prologue = prologue(
            self.model,
            &self.arguments,
            variables,
            self.options.unknown_category,
            &self.names.qualified("_hash"),
        );
        let (outputs, precision) = (self.model.num_outputs(), self.model.sum_precision());
        let trees = 0..self.forest.trees.len();
        let statements = nested::statements(&self.forest, trees, outputs, precision, &prologue);
        Function {
            name: self.names.own("_sum"),
            arguments: self.unnamed(),
            returns: self.margin_type(),
            language: "plpgsql",
            cost: self.cost(),
            body: format!(
                "DECLARE\n{}{}BEGIN\n{}{statements}{}  RETURN {};\nEND",
                prologue.declarations,
                sums(self.model),
                prologue.statements,
                margin_scaling(self.model),
                result(outputs),
            ),
            comment: "margins of the trees".to_owned(),
        }
    }

    fn unnamed(&self) -> Vec<(String, &'static str)> {
        self.arguments.iter().map(|argument| (String::new(), argument.kind.sql())).collect()
    }

    fn cost(&self) -> u64 {
        let splits: u64 = self.forest.trees.iter().map(|tree| u64::from(tree.depth)).sum();
        splits.clamp(100, 100_000)
    }

    fn values(&self) -> Option<Function> {
        Some(Function {
            name: self.names.own("_value"),
            arguments: vec![(String::new(), self.margin_sql())],
            returns: self.value_type(),
            language: "plpgsql",
            cost: 100,
            body: values(self.model)?,
            comment: "values of margins".to_owned(),
        })
    }

    fn class(&self) -> Option<Function> {
        let values = match values(self.model) {
            Some(_) => self.names.qualified("_value"),
            None => String::new(),
        };
        Some(Function {
            name: self.names.own("_class_of"),
            arguments: vec![(String::new(), self.margin_sql())],
            returns: "pg_catalog.int4".to_owned(),
            language: "plpgsql",
            cost: 100,
            body: class(self.model, &values)?,
            comment: "number of the class of margins".to_owned(),
        })
    }

    fn margin_sql(&self) -> &'static str {
        use crate::ensemble::Precision::{Double, Single};
        match (self.model.sum_precision(), self.model.num_outputs()) {
            (Single, 1) => "pg_catalog.float4",
            (Single, _) => "pg_catalog.float4[]",
            (Double, 1) => "pg_catalog.float8",
            (Double, _) => "pg_catalog.float8[]",
        }
    }

    /// The functions that users call, under a name.
    fn public(&self, name: &str) -> Vec<Function> {
        let margins = self.call();
        let value = match values(self.model) {
            Some(_) => format!("{}({margins})", self.names.qualified("_value")),
            None => margins.clone(),
        };
        let mut all = vec![
            self.columns(name.to_owned(), self.value_type(), value.clone(), "prediction"),
            self.columns(format!("{name}_margin"), self.margin_type(), margins.clone(), "margin"),
        ];
        if self.class().is_some() {
            let number = format!("{}({margins})", self.names.qualified("_class_of"));
            all.push(self.columns(
                format!("{name}_class"),
                "pg_catalog.text".to_owned(),
                self.label(&number),
                "class",
            ));
        }
        let _ = (are_probabilities(self.model), &value);
        all
    }

    fn label(&self, number: &str) -> String {
        match self.labels {
            [] => format!("{number}::pg_catalog.text"),
            labels => {
                let labels: Vec<String> = labels.iter().map(|label| literal(label)).collect();
                format!(
                    "(ARRAY[{}]::pg_catalog.text[])[{number} OPERATOR(pg_catalog.+) 1]",
                    labels.join(", ")
                )
            }
        }
    }

    /// The call of the trees with the arguments, where NaN is NULL.
    fn call(&self) -> String {
        let passed: Vec<String> = (1..)
            .zip(&self.arguments)
            .map(|(number, argument)| match argument.kind {
                ArgumentType::Number => {
                    format!("CASE WHEN ${number} OPERATOR(pg_catalog.<) 'NaN' THEN ${number} END")
                }
                ArgumentType::Integer | ArgumentType::Text => format!("${number}"),
            })
            .collect();
        format!("{}({})", self.names.qualified("_sum"), passed.join(", "))
    }

    fn columns(&self, name: String, returns: String, result: String, what: &str) -> Function {
        let arguments =
            self.arguments.iter().map(|argument| (argument.name.clone(), argument.kind.sql()));
        Function {
            name,
            arguments: arguments.collect(),
            returns,
            language: "sql",
            cost: self.cost(),
            body: format!("SELECT {result}"),
            comment: format!("{what} of one row"),
        }
    }
}

/// The endings of names of functions.
const INTERNAL: [&str; 3] = ["_sum", "_value", "_class_of"];
const PUBLIC: [&str; 3] = ["", "_margin", "_class"];

pub(super) fn drop_script(options: &Options) -> String {
    let names = Names { options };
    let all = INTERNAL.iter().chain(&PUBLIC).map(|suffix| names.own(suffix));
    guard::drop_script(&options.schema, &all.collect::<Vec<_>>())
}
