//! A model as a script of plain SQL functions, for servers without an extension.
//!
//! The script needs PostgreSQL 13 or later, SQL and PL/pgSQL. Its functions have the margins of the engine to
//! the bit, since they add the same leaves in the same order and precision; values differ by at most two
//! units in the last place, where `exp` does.
//!
//! ```
//! use gbtrees::{LoadOptions, sql};
//!
//! # fn main() -> Result<(), gbtrees::Error> {
//! # let file = include_bytes!("../../examples/model.ubj");
//! let script = sql::export(file, &LoadOptions::new(), &sql::Options::new("churn").version(3))?;
//! assert!(script.contains("CREATE OR REPLACE FUNCTION \"public\".\"churn_3\""));
//! # Ok(())
//! # }
//! ```

mod catalog;
mod codes;
mod columns;
mod cuts;
mod explain;
mod function;
mod guard;
mod hash;
mod inputs;
mod linear;
mod lookup;
mod nested;
mod objects;
mod quote;
mod row_functions;
mod rows;
mod script;
mod symmetric;
mod trees;
mod values;

use crate::ensemble::{Ensemble, Precision, check_class_labels, check_feature_names};
use crate::error::shown;
use crate::{Cancel, Error, ErrorKind, LoadOptions, Result, format};

/// The meaning of a category that the model does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownCategory {
    /// An error.
    #[default]
    Error,
    /// A missing value.
    Missing,
}

/// Options of an export.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Name of the functions.
    pub name: String,
    /// Schema of the functions.
    pub schema: String,
    /// Number of the version: functions `name_3` then stand behind those called `name`.
    pub version: Option<u32>,
    /// Unknown categories.
    pub unknown_category: UnknownCategory,
}

impl Options {
    /// Returns the options of functions of this name in schema `public`, without a version.
    pub fn new(name: impl Into<String>) -> Self {
        Options {
            name: name.into(),
            schema: "public".to_owned(),
            version: None,
            unknown_category: UnknownCategory::Error,
        }
    }

    /// Sets the schema.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets the version.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = Some(version);
        self
    }

    /// Sets the meaning of unknown categories.
    #[must_use]
    pub fn unknown_category(mut self, unknown_category: UnknownCategory) -> Self {
        self.unknown_category = unknown_category;
        self
    }

    fn check(&self) -> Result<()> {
        for (what, name, longest) in [
            ("function", &self.name, script::NAME_BYTES),
            ("schema", &self.schema, inputs::NAME_BYTES),
        ] {
            if name.is_empty() || name.contains('\0') {
                bail!(Names, "\"{}\" is not a name of a {what}", shown(name).replace('\0', ""));
            }
            if name.len() > longest {
                let message = format!(
                    "{what} name \"{}\" has {} bytes, more than {longest}",
                    shown(name),
                    name.len()
                );
                return Err(Error::new(ErrorKind::Names, message));
            }
        }
        Ok(())
    }
}

/// Exports a model's file as a script that creates its functions in one transaction.
///
/// # Errors
/// As for [`Model::load_with`](crate::Model::load_with); [`ErrorKind::Names`] for a name that PostgreSQL would
/// cut; [`ErrorKind::Unsupported`] for a model that SQL cannot evaluate with the same bits.
pub fn export(file: &[u8], load: &LoadOptions<'_>, options: &Options) -> Result<String> {
    let LoadOptions { limits, cancel, rounds, feature_names, labels } = load;
    let mut model = format::parse(file, limits, *cancel)?;
    if let Some(rounds) = rounds {
        model.keep_rounds(*rounds)?;
    }
    if let Some(names) = feature_names {
        check_feature_names(names, model.num_features())?;
        model.set_feature_names(names.clone())?;
    }
    export_ensemble(&model, labels, options, *cancel)
}

/// Exports a checked model; `labels` are the names of its classes, empty for the file's.
///
/// # Errors
/// As for [`export`].
pub fn export_ensemble(
    model: &Ensemble,
    labels: &[String],
    options: &Options,
    cancel: Cancel<'_>,
) -> Result<String> {
    options.check()?;
    let labels = if labels.is_empty() { model.class_labels() } else { labels };
    check_class_labels(labels, model.num_classes())?;
    check_exact(model)?;
    script::script(model, labels, options, cancel)
}

/// Writes the script that drops an export's functions: those of a version, or without a version those of the
/// name.
///
/// # Errors
/// [`ErrorKind::Names`] as for [`export`].
pub fn drop_script(options: &Options) -> Result<String> {
    options.check()?;
    Ok(script::drop_script(options))
}

/// Refuses what SQL cannot evaluate with the same bits.
fn check_exact(model: &Ensemble) -> Result<()> {
    let refused = |what: &str| Err(fault!(Unsupported, "cannot export a model with {what} as SQL"));
    if model.has_ctrs() {
        return refused("target statistics of categories");
    }
    let mut linear = model.trees().iter().flat_map(|tree| &tree.linear_leaves);
    let is_tiny = |coefficient: f64| coefficient != 0.0 && coefficient.abs() < TINY;
    if linear.any(|leaf| leaf.terms.iter().any(|(_, coefficient)| is_tiny(*coefficient))) {
        return refused("coefficients of leaves that products round to zero");
    }
    if largest_sum(model) >= largest(model.sum_precision()) {
        return refused("sums that may be infinite");
    }
    Ok(())
}

/// Products of smaller coefficients with values that are not taken for zero may underflow, an error in SQL.
const TINY: f64 = 1e-270;

fn largest(precision: Precision) -> f64 {
    match precision {
        Precision::Single => f64::from(f32::MAX),
        Precision::Double => f64::MAX,
    }
}

/// Returns a bound on the absolute values of sums; of linear leaves, whose bound is the row's, their constants.
fn largest_sum(model: &Ensemble) -> f64 {
    let base = model.base_margin().iter().fold(0f64, |most, base| most.max(f64::from(base.abs())));
    let outputs = model.num_outputs();
    model.trees().iter().fold(base, |sum, tree| {
        let nodes = 0..tree.nodes().len() as u32;
        let values = nodes.flat_map(|id| tree.leaf_values(id, outputs));
        sum + values.fold(0f64, |most, value| most.max(value.abs()))
    })
}
