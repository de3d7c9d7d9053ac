//! Reads CatBoost models, as JSON and as `cbm`, its binary format.
//!
//! `json` and `cbm` read a file into the same [`File`], from which `build` makes the model. `features`
//! are a row's columns, `splits` the tests, `tree` turns trees into nodes, `info` reads metadata,
//! `objective` defines the values, `flatbuffer` reads the tables of `cbm`, and `ctr` computes target
//! statistics, read by `json_ctr` and `cbm_ctr`.
//!
//! In CatBoost, a split gives bit 1 to a row whose value is above a border or whose category has a
//! hash; a symmetric tree has one split per level and a leaf per combination of bits; leaves are summed
//! in f64, then scaled and shifted. Files come from `OutputModel` in catboost/libs/model/model_export
//! and from catboost/libs/model/json_model_helpers.cpp; catboost/libs/model/cpu/evaluator_impl.cpp
//! scores them, adding leaves in the same order for one row and for many.

mod cbm;
mod cbm_ctr;
mod ctr;
mod features;
mod flatbuffer;
mod info;
mod json;
mod json_ctr;
mod objective;
mod splits;
mod tree;

pub(super) use crate::format::catboost::cbm::read as read_cbm;
pub(super) use crate::format::catboost::json::read as read_json;

use crate::ensemble::ctr::Ctrs;
use crate::ensemble::{Builder, Ensemble, EnsembleParts, Precision, Scaling, in_tree};
use crate::format::catboost::ctr::RawCtrs;
use crate::format::catboost::features::Features;
use crate::format::catboost::info::Info;
use crate::format::catboost::splits::{BinSplit, Bins, Dictionaries};
use crate::format::catboost::tree::RawTree;
use crate::format::reader::CancelChecks;
use crate::{Cancel, Error, ErrorKind, Limits, Result};

/// Advice for files with features unknown to this reader.
const KNOWN_RELEASE: &str = "Save the model with a release of CatBoost that this server knows.";

/// The contents of a file.
pub(super) struct File {
    info: Info,
    features: Features,
    ctrs: RawCtrs,
    trees: Vec<RawTree>,
    scale: f64,
    /// Empty, one for all outputs, or one per output.
    bias: Vec<f64>,
}

pub(in crate::format) fn build(
    file: File,
    format: &'static str,
    limits: &Limits,
    cancel: Cancel<'_>,
) -> Result<Ensemble> {
    let File { info, features, mut ctrs, trees, scale, bias } = file;
    let tables = std::mem::take(&mut ctrs.tables);
    let num_features = features.count(limits)?;
    let outputs = outputs(&trees, &bias)?;
    let bins = Bins::of(&features, &ctrs, num_features);
    let mut checks = CancelChecks::new(cancel);
    let mut splits: Vec<Vec<BinSplit>> = Vec::new();
    for (index, tree) in trees.iter().enumerate() {
        let of_tree = tree.splits.iter().map(|split| {
            checks.count()?;
            bins.split(*split)
        });
        splits.push(of_tree.collect::<Result<_>>().map_err(|error| in_tree(error, index))?);
        checks.count()?;
    }
    let mut compared = Vec::new();
    for (index, value) in ctrs.compared_hashes() {
        compared.push(BinSplit::Is { column: bins.category(index)?, hash: value.cast_unsigned() });
    }
    let tested = splits.iter().flatten().copied().chain(compared);
    let dictionaries = Dictionaries::of(tested, num_features, &mut checks);
    let hashed = hashed(&ctrs, &bins, num_features)?;
    let key_parts = |combination: &_| bins.key_parts(combination, &dictionaries, &hashed);
    let projections = ctrs.projections(tables, key_parts, limits, &mut checks)?;
    let columns =
        features.columns(num_features, |column| dictionaries.of_column(column).to_vec())?;
    let objective = objective::of(&info, outputs)?;
    let parts = EnsembleParts {
        format,
        version: info.version,
        class_labels: info.classes.of(objective.task(), outputs),
        objective,
        value_precision: Precision::Single,
        sum_precision: Precision::Double,
        base_score: (0..outputs).map(|output| of_output(&bias, output) as f32).collect(),
        base_margin: vec![0.0; outputs],
        scaling: Scaling {
            scale,
            bias: (0..outputs).map(|output| of_output(&bias, output)).collect(),
            ..Scaling::default()
        },
        num_features,
        feature_names: columns.names,
        feature_types: columns.types,
        categories: columns.categories,
        ranks: Vec::new(),
        attributes: info.attributes,
    };
    let mut builder = Builder::new(parts, limits)?;
    builder.set_ctrs(Ctrs { projections, hashed })?;
    let mut set_words = limits.set_words();
    let count = trees.len();
    for ((index, tree), splits) in trees.into_iter().enumerate().zip(&splits) {
        let parts = tree.parts(splits, &dictionaries, outputs, &mut set_words, &mut checks);
        let parts = parts.map_err(|error| in_tree(error, index))?;
        builder.add_tree(parts, checks.cancel())?;
        checks.check()?;
    }
    // The limit of trees is below 2^32.
    builder.finish((0..=count as u32).collect())
}

/// Returns which columns need hashes in rows, those of combined categories; empty if there are none.
fn hashed(ctrs: &RawCtrs, bins: &Bins<'_>, num_features: usize) -> Result<Vec<bool>> {
    if ctrs.ctrs.is_empty() {
        return Ok(Vec::new());
    }
    let mut hashed = vec![false; num_features];
    for index in ctrs.combined_categories() {
        if let Some(place) = hashed.get_mut(bins.category(index)? as usize) {
            *place = true;
        }
    }
    Ok(hashed)
}

/// Returns an output's bias; a single bias applies to all, none is 0.
fn of_output(bias: &[f64], output: usize) -> f64 {
    let place = if bias.len() == 1 { 0 } else { output };
    bias.get(place).copied().unwrap_or(0.0)
}

/// Returns the number of values per leaf, the same in all trees.
fn outputs(trees: &[RawTree], bias: &[f64]) -> Result<usize> {
    let fault = |message: String| Error::new(ErrorKind::Length, message);
    let mut outputs = None;
    for (index, tree) in trees.iter().enumerate() {
        let of_tree = tree.dimensions().ok_or_else(|| {
            in_tree(fault("the values of a tree's leaves do not come out even".to_owned()), index)
        })?;
        if outputs.is_some_and(|outputs| outputs != of_tree) {
            let message = format!("a leaf has {of_tree} values, and one of the first tree not");
            return Err(in_tree(fault(message), index));
        }
        outputs = Some(of_tree);
    }
    let outputs = outputs.unwrap_or(bias.len().max(1));
    if bias.len() > 1 && bias.len() != outputs {
        return Err(fault(format!("model has {} biases for {outputs} outputs", bias.len())));
    }
    Ok(outputs)
}
