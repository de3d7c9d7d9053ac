//! Reads XGBoost models of every release, in each of its formats.
//!
//! Keys come in any order, so everything is read into `Option`s and required keys are checked last; an
//! unsupported booster is refused before missing keys are reported. `learner`, `booster` and `tree`
//! interpret the keys, `tree_nodes` turns a tree's arrays into nodes, `build` passes everything to the
//! model's builder. XGBoost's own invariants are checked here: right children follow left ones, marks
//! of parents and deleted nodes, the lists of outputs, rounds, weights and categories, and the link of
//! a base score.
//!
//! Files come from `SaveModel` in src/learner.cc, src/gbm/gbtree.cc, src/gbm/gbtree_model.cc and
//! src/tree/tree_model.cc. They are scored as the newest release does, whichever wrote them.

mod binary;
mod booster;
mod categories;
mod learner;
mod objective;
mod parameters;
mod training;
mod tree;
mod tree_nodes;
mod ubjson;
mod write;

pub(super) use crate::format::xgboost::binary::read as read_binary;
pub use crate::format::xgboost::objective::objectives;

use std::mem::take;

use crate::ensemble::{
    Builder, Ensemble, EnsembleParts, Objective, Precision, Scaling, Task, Tree, TreeOutput,
    check_limit, in_tree,
};
use crate::format::reader::{Reader, ValueKind, array, object, required};
use crate::format::sniff::{shown, unsupported};
use crate::format::xgboost::booster::derive_rounds;
use crate::format::xgboost::learner::Learner;
use crate::format::xgboost::objective::{Link, base_margins, base_scores};
use crate::format::xgboost::tree_nodes::RawTree;
use crate::memory::{collect, filled};
use crate::{Cancel, Error, ErrorKind, Limits, Result};

const LOST_WEIGHTS: &str = "XGBoost 3.1 and 3.2 lose weights of a slice such as booster[2:] or booster[::2]; \
                            booster[2:n] has them.";

pub(super) struct File {
    version: [u32; 3],
    learner: Learner,
}

pub(super) fn read<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<File> {
    let root = root(reader, limits, true)?;
    reader.finish()?;
    required(root, "learner")
}

/// Reads the outermost object, or the model inside a memory snapshot.
fn root<'a, R: Reader<'a>>(
    reader: &mut R,
    limits: &Limits,
    outermost: bool,
) -> Result<Option<File>> {
    let mut version = [0; 3];
    let mut learner = None;
    let mut inner = None;
    object(reader, |reader, key| {
        match key {
            // A re-indented LightGBM dump may have sorted keys.
            "version" if reader.kind()? == ValueKind::String => return Err(lightgbm_dump()),
            "version" => version = read_version(reader)?,
            "learner" => learner = Some(learner::read(reader, limits)?),
            "Model" if outermost => inner = root(reader, limits, false)?,
            "name" if reader.kind()? == ValueKind::String => {
                if reader.string()? == "tree" {
                    return Err(lightgbm_dump());
                }
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(learner.map(|learner| File { version, learner }).or(inner))
}

fn lightgbm_dump() -> Error {
    let hint = "Save the model with LightGBM's save_model(\"model.txt\") instead.";
    unsupported("a JSON dump of a LightGBM model", hint)
}

fn read_version<'a, R: Reader<'a>>(reader: &mut R) -> Result<[u32; 3]> {
    let parts = array(reader, 3, "parts of a version", |reader| {
        let part = reader.integer()?;
        u32::try_from(part)
            .map_err(|_| reader.error(ErrorKind::Number, "a part of the version is no u32"))
    })?;
    <[u32; 3]>::try_from(parts)
        .map_err(|_| reader.error(ErrorKind::Length, "the version does not have three parts"))
}

/// Checks the model of a file, up to `rounds` of its rounds; returns it with the file written for libxgboost.
pub(in crate::format) fn rewrite(
    mut file: File,
    format: &'static str,
    rounds: Option<usize>,
    limits: &Limits,
    cancel: Cancel<'_>,
) -> Result<(Ensemble, Vec<u8>)> {
    let booster = &mut file.learner.booster;
    let besides = write::Besides {
        num_parallel_tree: booster.num_parallel_tree,
        statistics: collect(booster.trees.iter_mut().map(|tree| take(&mut tree.statistics)))?,
        training: take(&mut file.learner.training),
    };
    let mut model = build(file, format, limits, cancel)?;
    if let Some(rounds) = rounds.filter(|rounds| *rounds != model.num_rounds()) {
        model.keep_rounds(rounds)?;
    }
    let bytes = write::file(&model, &besides, cancel)?;
    Ok((model, bytes))
}

pub(in crate::format) fn build(
    file: File,
    format: &'static str,
    limits: &Limits,
    cancel: Cancel<'_>,
) -> Result<Ensemble> {
    let File { version, learner } = file;
    check_levels(&learner)?;
    let (parameters, booster) = (learner.parameters, learner.booster);
    let num_features = size(parameters.num_feature, 1, "features")?;
    let classes = size(parameters.num_class, 0, "classes")?;
    let targets = size(parameters.num_target, 1, "targets")?;
    let num_outputs = num_outputs(classes, targets, &learner.objective, limits)?;
    let num_trees = booster.trees.len();
    same_number("trees", usize::try_from(booster.num_trees).unwrap_or(usize::MAX), num_trees)?;
    same_number("outputs of trees", booster.tree_info.len(), num_trees)?;
    let weights = match booster.weights {
        Some(weights) => weights,
        None => filled(num_trees, 1.0)?,
    };
    same_number("weights of trees", weights.len(), num_trees)
        .map_err(|error| error.with_hint(LOST_WEIGHTS))?;
    let rounds = match booster.iteration_indptr {
        // An invalid index is not in order either, so it fails the same check.
        Some(stated) => {
            stated.iter().map(|start| u32::try_from(*start).unwrap_or(u32::MAX)).collect()
        }
        None => derive_rounds(booster.num_parallel_tree, &booster.tree_info)?,
    };
    let scores = base_scores(&parameters.base_score, num_outputs)?;
    // XGBoost predicts the raw base score for a model without any rounds, unless its user gave the score
    // (`LearnerModelParam` of src/learner.cc).
    let is_fitted = match (&booster.coefficients, booster.boosted_rounds) {
        (Some(_), Some(rounds)) => rounds != 0,
        // Releases before 1.3 leave the number of rounds out.
        (Some(coefficients), None) => !coefficients.is_empty(),
        (None, _) => num_trees > 0,
    };
    let from_average = parameters.boost_from_average.is_none_or(|switch| switch != 0);
    let link = if is_fitted || !from_average { learner.link } else { Link::Identity };
    let mut base_margin = base_margins(link, &scores)?;
    if booster.coefficients.is_some() {
        // Its linear booster uses only the first (`PredictBatchInternal` in src/gbm/gblinear.cc).
        let first = base_margin.first().copied().unwrap_or_default();
        base_margin.fill(first);
    }
    let parts = EnsembleParts {
        format,
        version,
        objective: learner.objective,
        value_precision: Precision::Single,
        sum_precision: Precision::Single,
        scaling: Scaling::default(),
        base_margin,
        base_score: scores,
        num_features,
        feature_names: learner.feature_names,
        feature_types: learner.feature_types,
        categories: categories::drop_miscut_categories(version, booster.categories),
        ranks: Vec::new(),
        class_labels: Vec::new(),
        attributes: learner.attributes,
    };
    let mut builder = Builder::new(parts, limits)?;
    let listed = booster.tree_info.into_iter().zip(weights);
    for (index, (tree, (output, weight))) in booster.trees.into_iter().zip(listed).enumerate() {
        let RawTree { parts, leaf_size, .. } = tree;
        let output = match parts.output {
            TreeOutput::All if usize::try_from(leaf_size) != Ok(num_outputs) => {
                let message =
                    format!("leaves have {leaf_size} values in a model of {num_outputs} outputs");
                return Err(in_tree(Error::new(ErrorKind::Length, message), index));
            }
            TreeOutput::All => TreeOutput::All,
            TreeOutput::One(_) => TreeOutput::One(u32::try_from(output).unwrap_or(u32::MAX)),
        };
        builder.add_tree(Tree { output, weight, ..parts }, cancel)?;
    }
    if let Some(coefficients) = booster.coefficients.filter(|all| is_fitted || !all.is_empty()) {
        builder.set_coefficients(coefficients)?;
    }
    builder.finish(rounds)
}

/// Returns the number of classes or of targets, whichever is above one.
fn num_outputs(
    classes: usize,
    targets: usize,
    objective: &Objective,
    limits: &Limits,
) -> Result<usize> {
    check_limit(classes, limits.outputs, "classes")?;
    check_limit(targets, limits.outputs, "targets")?;
    if classes > 1 && targets > 1 {
        bail!(Unsupported, "a model of {classes} classes and {targets} targets is not supported");
    }
    if objective.task == Task::Multiclass && classes == 0 {
        bail!(Parameter, "a model with objective \"{}\" has no classes", objective.name);
    }
    Ok(classes.max(targets))
}

/// As many quantiles or expectiles as outputs, if any are listed.
fn check_levels(learner: &Learner) -> Result<()> {
    let (levels, outputs) = (learner.objective.levels.len(), learner.parameters.num_target);
    if levels == 0 || i64::try_from(levels) == Ok(outputs) {
        return Ok(());
    }
    let name = &learner.objective.name;
    Err(fault!(Length, "objective \"{name}\" has {levels} levels for {outputs} outputs"))
}

fn size(value: i64, min: usize, what: &str) -> Result<usize> {
    usize::try_from(value)
        .ok()
        .filter(|size| *size >= min)
        .ok_or_else(|| fault!(Parameter, "a model cannot have {value} {what}"))
}

fn same_number(what: &str, stated: usize, num_trees: usize) -> Result<()> {
    if stated == num_trees {
        return Ok(());
    }
    Err(fault!(Length, "model has {num_trees} trees, but says {stated} {what}"))
}
