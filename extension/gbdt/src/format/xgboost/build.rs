//! From a file that was read to a model: sizes, outputs, rounds, weights and the base score.

use super::nodes::RawTree;
use super::objective::Link;
use super::{File, base_score, categories, rounds};
use crate::model::{
    Builder, Finish, Model, Objective, Parts, Precision, Task, TreeOutput, TreeParts, check_limit,
    in_tree,
};
use crate::{Error, ErrorKind, Limits, Result};

pub(in crate::format) fn build(
    file: File,
    format: &'static str,
    limits: &Limits,
    check_interrupts: &mut dyn FnMut(),
) -> Result<Model> {
    let File { version, learner } = file;
    let (parameters, booster) = (learner.parameters, learner.booster);
    let num_features = size(parameters.num_feature, 1, "features")?;
    let classes = size(parameters.num_class, 0, "classes")?;
    let targets = size(parameters.num_target, 1, "targets")?;
    let num_outputs = num_outputs(classes, targets, &learner.objective, limits)?;
    let num_trees = booster.trees.len();
    same_number("trees", usize::try_from(booster.num_trees).unwrap_or(usize::MAX), num_trees)?;
    same_number("outputs of trees", booster.tree_info.len(), num_trees)?;
    let weights = booster.weights.unwrap_or_else(|| vec![1.0; num_trees]);
    same_number("weights of trees", weights.len(), num_trees)?;
    let rounds = match booster.iteration_indptr {
        // What is no index is not in order either.
        Some(stated) => {
            stated.iter().map(|start| u32::try_from(*start).unwrap_or(u32::MAX)).collect()
        }
        None => rounds::derive(booster.num_parallel_tree, &booster.tree_info)?,
    };
    let scores = base_score::scores(&parameters.base_score, num_outputs)?;
    // XGBoost predicts the bare base score for a model that has never been boosted.
    let link = if num_trees == 0 { Link::Identity } else { learner.link };
    let parts = Parts {
        format,
        version,
        objective: learner.objective,
        value_precision: Precision::Single,
        sum_precision: Precision::Single,
        finish: Finish::default(),
        base_margin: base_score::margins(link, &scores)?,
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
        let RawTree { parts, leaf_size } = tree;
        let output = match parts.output {
            TreeOutput::All if usize::try_from(leaf_size) != Ok(num_outputs) => {
                let message =
                    format!("leaves have {leaf_size} values in a model of {num_outputs} outputs");
                return Err(in_tree(Error::new(ErrorKind::Length, message), index));
            }
            TreeOutput::All => TreeOutput::All,
            TreeOutput::One(_) => TreeOutput::One(u32::try_from(output).unwrap_or(u32::MAX)),
        };
        builder.add_tree(TreeParts { output, weight, ..parts }, check_interrupts)?;
    }
    builder.finish(rounds)
}

/// The number of classes or of targets, whichever there are several of.
fn num_outputs(
    classes: usize,
    targets: usize,
    objective: &Objective,
    limits: &Limits,
) -> Result<usize> {
    check_limit(classes, limits.outputs, "classes")?;
    check_limit(targets, limits.outputs, "targets")?;
    if classes > 1 && targets > 1 {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("a model of {classes} classes and {targets} targets is not supported"),
        ));
    }
    if objective.task == Task::Multiclass && classes == 0 {
        let message = format!("a model with objective \"{}\" has no classes", objective.name);
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    Ok(classes.max(targets))
}

fn size(value: i64, min: usize, what: &str) -> Result<usize> {
    usize::try_from(value).ok().filter(|size| *size >= min).ok_or_else(|| {
        Error::new(ErrorKind::Parameter, format!("a model cannot have {value} {what}"))
    })
}

fn same_number(what: &str, stated: usize, num_trees: usize) -> Result<()> {
    if stated == num_trees {
        return Ok(());
    }
    let message = format!("model has {num_trees} trees, but says {stated} {what}");
    Err(Error::new(ErrorKind::Length, message))
}
