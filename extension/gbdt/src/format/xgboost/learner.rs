//! The learner: objective, base score, features, and the booster with its trees.

use std::borrow::Cow;

use super::parameters;
use super::{booster, required, shown};
use crate::format::document::{Document, array, object};
use crate::format::recognise::unsupported;
use crate::model::{FeatureType, Format, Objective, RawModel, Transform};
use crate::{ErrorKind, Limits, Result};

/// Sizes and the base score.
struct Parameters {
    base_score: Vec<f32>,
    num_class: i64,
    num_target: i64,
    num_feature: i64,
}

pub(super) fn read<'a, D: Document<'a>>(
    document: &mut D,
    format: Format,
    limits: &Limits,
) -> Result<RawModel> {
    let mut attributes = Vec::new();
    let mut feature_names = Vec::new();
    let mut feature_types = Vec::new();
    let mut parameters = None;
    let mut objective = None;
    let mut booster = None;
    object(document, |document, key| {
        match key {
            "attributes" => attributes = read_attributes(document)?,
            "feature_names" => {
                feature_names = array(document, limits.features, "feature names", |document| {
                    document.text().map(Cow::into_owned)
                })?;
            }
            "feature_types" => {
                feature_types = array(document, limits.features, "feature types", feature_type)?;
            }
            "learner_model_param" => parameters = Some(read_parameters(document, limits)?),
            "objective" => objective = Some(read_objective(document, limits)?),
            "gradient_booster" => booster = Some(booster::read(document, limits)?),
            _ => document.skip()?,
        }
        Ok(())
    })?;
    let parameters = required(parameters, "learner_model_param")?;
    let booster = required(booster, "gradient_booster")?;
    Ok(RawModel {
        format,
        version: [0; 3],
        objective: required(objective, "objective")?,
        base_score: parameters.base_score,
        num_class: parameters.num_class,
        num_target: parameters.num_target,
        num_feature: parameters.num_feature,
        num_trees: booster.num_trees,
        num_parallel_tree: booster.num_parallel_tree,
        trees: booster.trees,
        tree_info: booster.tree_info,
        iteration_indptr: booster.iteration_indptr,
        feature_names,
        feature_types,
        categories: booster.categories,
        attributes,
    })
}

fn read_attributes<'a, D: Document<'a>>(document: &mut D) -> Result<Vec<(String, String)>> {
    let mut attributes = Vec::new();
    object(document, |document, key| {
        attributes.push((key.to_owned(), document.text()?.into_owned()));
        Ok(())
    })?;
    Ok(attributes)
}

fn feature_type<'a, D: Document<'a>>(document: &mut D) -> Result<FeatureType> {
    match document.text()?.as_ref() {
        "c" => Ok(FeatureType::Categorical),
        "float" | "int" | "i" | "q" => Ok(FeatureType::Numerical),
        _ => Err(document.error(ErrorKind::Parameter, "a feature has an unknown type")),
    }
}

fn read_parameters<'a, D: Document<'a>>(document: &mut D, limits: &Limits) -> Result<Parameters> {
    let mut base_score = None;
    let mut num_class = None;
    let mut num_target = None;
    let mut num_feature = None;
    object(document, |document, key| {
        match key {
            "base_score" => {
                base_score = Some(parameters::floats(document, key, limits.outputs)?);
            }
            "num_class" => num_class = Some(parameters::integer(document, key)?),
            "num_target" => num_target = Some(parameters::integer(document, key)?),
            "num_feature" => num_feature = Some(parameters::integer(document, key)?),
            _ => document.skip()?,
        }
        Ok(())
    })?;
    Ok(Parameters {
        base_score: required(base_score, "base_score")?,
        num_class: required(num_class, "num_class")?,
        // Releases before 1.6 know one target only and do not say so.
        num_target: num_target.unwrap_or(1),
        num_feature: required(num_feature, "num_feature")?,
    })
}

fn read_objective<'a, D: Document<'a>>(document: &mut D, limits: &Limits) -> Result<Objective> {
    let mut name = None;
    let mut quantiles = Vec::new();
    object(document, |document, key| {
        match key {
            "name" => name = Some(document.text()?),
            "quantile_loss_param" => quantiles = read_quantiles(document, limits)?,
            _ => document.skip()?,
        }
        Ok(())
    })?;
    let name = required(name, "name")?;
    let mut objective = Objective::named(&name).ok_or_else(|| {
        unsupported(
            &format!("objective \"{}\"", shown(&name)),
            "A model with a custom objective can be scored after its objective is set to one of \
             XGBoost's own.",
        )
    })?;
    // XGBoost 3.4 and later sort the quantiles of a row, and accept a model only if its quantiles
    // are listed in ascending order. A file that lists them otherwise is older; the releases that
    // read it do not sort, and sorted values would stand at the wrong quantiles.
    if objective.transform == Transform::Ascending && !quantiles.is_sorted() {
        objective.transform = Transform::Identity;
    }
    Ok(objective)
}

fn read_quantiles<'a, D: Document<'a>>(document: &mut D, limits: &Limits) -> Result<Vec<f32>> {
    let mut quantiles = Vec::new();
    object(document, |document, key| {
        match key {
            "quantile_alpha" => quantiles = parameters::floats(document, key, limits.outputs)?,
            _ => document.skip()?,
        }
        Ok(())
    })?;
    Ok(quantiles)
}
