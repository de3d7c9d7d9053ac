//! The learner: objective, base score, features, and the booster with its trees.

use std::borrow::Cow;

use crate::ensemble::{FeatureType, Objective, Transform};
use crate::format::reader::{Reader, array, object, required};
use crate::format::sniff::unsupported;
use crate::format::xgboost::booster::Booster;
use crate::format::xgboost::objective::Link;
use crate::format::xgboost::parameters;
use crate::format::xgboost::{booster, objective, shown};
use crate::memory::owned;
use crate::{ErrorKind, Limits, Result};

/// The file except for its version: typed, but otherwise unchecked.
pub(super) struct Learner {
    pub objective: Objective,
    pub link: Link,
    pub parameters: Parameters,
    pub feature_names: Vec<String>,
    pub feature_types: Vec<FeatureType>,
    pub attributes: Vec<(String, String)>,
    pub booster: Booster,
}

pub(super) struct Parameters {
    /// One value, or one per output.
    pub base_score: Vec<f32>,
    pub num_class: i64,
    pub num_target: i64,
    pub num_feature: i64,
}

pub(super) fn read<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Learner> {
    let mut attributes = Vec::new();
    let mut feature_names = Vec::new();
    let mut feature_types = Vec::new();
    let mut parameters = None;
    let mut objective = None;
    let mut booster = None;
    object(reader, |reader, key| {
        match key {
            "attributes" => attributes = read_attributes(reader)?,
            "feature_names" => {
                feature_names = array(reader, limits.features, "feature names", |reader| {
                    reader.string().map(Cow::into_owned)
                })?;
            }
            "feature_types" => {
                feature_types = array(reader, limits.features, "feature types", feature_type)?;
            }
            "learner_model_param" => parameters = Some(read_parameters(reader, limits)?),
            "objective" => objective = Some(read_objective(reader, limits)?),
            "gradient_booster" => booster = Some(booster::read(reader, limits)?),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    let parameters = required(parameters, "learner_model_param")?;
    let booster = required(booster, "gradient_booster")?;
    let (objective, link) = required(objective, "objective")?;
    Ok(Learner { objective, link, parameters, feature_names, feature_types, attributes, booster })
}

fn read_attributes<'a, R: Reader<'a>>(reader: &mut R) -> Result<Vec<(String, String)>> {
    let mut attributes = Vec::new();
    object(reader, |reader, key| {
        attributes.push((key.to_owned(), owned(reader.string()?)?));
        Ok(())
    })?;
    Ok(attributes)
}

fn feature_type<'a, R: Reader<'a>>(reader: &mut R) -> Result<FeatureType> {
    match reader.string()?.as_ref() {
        "c" => Ok(FeatureType::Categorical),
        "float" | "int" | "i" | "q" => Ok(FeatureType::Numerical),
        _ => Err(reader.error(ErrorKind::Parameter, "a feature has an unknown type")),
    }
}

fn read_parameters<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Parameters> {
    let mut base_score = None;
    let mut num_class = None;
    let mut num_target = None;
    let mut num_feature = None;
    object(reader, |reader, key| {
        match key {
            "base_score" => {
                base_score = Some(parameters::floats(reader, key, limits.outputs)?);
            }
            "num_class" => num_class = Some(parameters::integer(reader, key)?),
            "num_target" => num_target = Some(parameters::integer(reader, key)?),
            "num_feature" => num_feature = Some(parameters::integer(reader, key)?),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(Parameters {
        base_score: required(base_score, "base_score")?,
        num_class: required(num_class, "num_class")?,
        // Releases before 1.6 support a single target and omit this.
        num_target: num_target.unwrap_or(1),
        num_feature: required(num_feature, "num_feature")?,
    })
}

fn read_objective<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<(Objective, Link)> {
    let mut name = None;
    let mut quantiles = Vec::new();
    object(reader, |reader, key| {
        match key {
            "name" => name = Some(reader.string()?),
            "quantile_loss_param" => quantiles = read_quantiles(reader, limits)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    objective_named(&required(name, "name")?, &quantiles)
}

/// Returns the objective of a name, and its link.
pub(super) fn objective_named(name: &str, quantiles: &[f32]) -> Result<(Objective, Link)> {
    let (mut objective, link) = objective::named(name).ok_or_else(|| {
        unsupported(
            &format!("objective \"{}\"", shown(name)),
            "A model with a custom objective can be scored after its objective is set to one of \
             XGBoost's own.",
        )
    })?;
    // XGBoost 3.4 and later sort the quantiles of a row, and require ascending quantiles in the model.
    // A file that lists them otherwise is from an older release, which does not sort; sorted values
    // would belong to the wrong quantiles.
    if objective.transform == Transform::Ascending && !quantiles.is_sorted() {
        objective.transform = Transform::Identity;
    }
    Ok((objective, link))
}

fn read_quantiles<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Vec<f32>> {
    let mut quantiles = Vec::new();
    object(reader, |reader, key| {
        match key {
            "quantile_alpha" => quantiles = parameters::floats(reader, key, limits.outputs)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(quantiles)
}
