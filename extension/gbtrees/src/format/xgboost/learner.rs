//! The learner: objective, base score, features, and the booster with its trees.

use std::borrow::Cow;

use crate::ensemble::{FeatureType, Objective, Transform};
use crate::format::reader::{Reader, array, object, required};
use crate::format::sniff::unsupported;
use crate::format::xgboost::booster::Booster;
use crate::format::xgboost::objective::Link;
use crate::format::xgboost::parameters;
use crate::format::xgboost::training::Training;
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
    pub training: Training,
}

pub(super) struct Parameters {
    /// One value, or one per output.
    pub base_score: Vec<f32>,
    pub num_class: i64,
    pub num_target: i64,
    pub num_feature: i64,
    pub boost_from_average: Option<i64>,
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
    let ObjectiveFile { objective, link, mut training } = required(objective, "objective")?;
    training.boost_from_average = parameters.boost_from_average.map(|switch| switch != 0);
    training.boosted_rounds = booster.boosted_rounds;
    Ok(Learner {
        objective,
        link,
        parameters,
        feature_names,
        feature_types,
        attributes,
        booster,
        training,
    })
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
    let mut boost_from_average = None;
    object(reader, |reader, key| {
        match key {
            "base_score" => {
                base_score = Some(parameters::floats(reader, key, limits.outputs)?);
            }
            "num_class" => num_class = Some(parameters::integer(reader, key)?),
            "num_target" => num_target = Some(parameters::integer(reader, key)?),
            "num_feature" => num_feature = Some(parameters::integer(reader, key)?),
            "boost_from_average" => {
                boost_from_average = Some(parameters::integer(reader, key)?);
            }
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
        boost_from_average,
    })
}

struct ObjectiveFile {
    objective: Objective,
    link: Link,
    training: Training,
}

fn read_objective<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<ObjectiveFile> {
    let mut name = None;
    let (mut fractions, mut training) = (Vec::new(), Training::default());
    object(reader, |reader, key| {
        match key {
            "name" => name = Some(reader.string()?),
            _ if Training::has_object(key) => {
                let list = training.read_object(reader, key, limits)?;
                if !list.is_empty() {
                    fractions = list;
                }
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    let (mut objective, link) = objective_named(&required(name, "name")?, &fractions)?;
    if matches!(objective.transform, Transform::Expectile) || objective.name == QUANTILES {
        objective.levels = fractions;
    }
    Ok(ObjectiveFile { objective, link, training })
}

/// The objective whose outputs are quantiles.
const QUANTILES: &str = "reg:quantileerror";

/// The objective of this name and its link.
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
