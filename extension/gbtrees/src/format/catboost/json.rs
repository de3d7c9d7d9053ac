//! CatBoost's JSON (`ConvertModelToJson` in catboost/libs/model/json_model_helpers.cpp).
//!
//! A symmetric tree is a list of splits and a list of leaves; other trees are objects nested as deep as
//! the tree. The latter's leaves are numbered from the left, as CatBoost does on reading; their
//! original numbers are not stored. Empty lists may be null.

use crate::ensemble::in_tree;
use crate::format::catboost::ctr::RawCtrs;
use crate::format::catboost::features::{
    Column, Features, FloatFeature, NanTreatment, OneHot, Unscored,
};
use crate::format::catboost::info::Info;
use crate::format::catboost::json_ctr::{self, hash};
use crate::format::catboost::splits::RawSplit;
use crate::format::catboost::tree::{Child, RawTree, Shape};
use crate::format::catboost::{File, KNOWN_RELEASE};
use crate::format::reader::{Reader, ValueKind, array, double, list, object, required};
use crate::format::sniff::{shown, unsupported};
use crate::memory::owned;
use crate::{Error, ErrorKind, Limits, Place, Result};

pub(in crate::format) fn read<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<File> {
    let mut info = None;
    let mut features = None;
    let mut ctrs = RawCtrs::default();
    let mut symmetric = None;
    let mut other = None;
    let mut scale_and_bias = None;
    let mut left = limits.nodes;
    object(reader, |reader, key| {
        match key {
            "model_info" => info = Some(Info::read(reader, limits)?),
            "features_info" => {
                features = Some(read_features(reader, &mut ctrs, limits)?);
            }
            "ctr_data" => ctrs.tables = json_ctr::read_tables(reader, limits)?,
            "oblivious_trees" => {
                symmetric = Some(trees(reader, limits, &mut left, read_symmetric)?)
            }
            "trees" => other = Some(trees(reader, limits, &mut left, read_other)?),
            "scale_and_bias" => scale_and_bias = Some(read_scale_and_bias(reader, limits)?),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    reader.finish()?;
    let features = required(features, "features_info")?;
    features.check_scored()?;
    let trees = match (symmetric, other) {
        (Some(_), Some(_)) => {
            bail!(Parameter, "model has both \"oblivious_trees\" and \"trees\"");
        }
        (symmetric, other) => required(symmetric.or(other), "oblivious_trees")?,
    };
    let info = required(info, "model_info")?;
    if !ctrs.ctrs.is_empty() {
        info.ctr_targets.iter().try_for_each(|targets| json_ctr::check_targets(targets))?;
        json_ctr::check_one_target(&ctrs.ctrs, info.objective.as_deref())?;
    }
    // Absent before release 0.22.
    let (scale, bias) = scale_and_bias.unwrap_or((1.0, Vec::new()));
    Ok(File { info, features, ctrs, trees, scale, bias })
}

fn read_features<'a, R: Reader<'a>>(
    reader: &mut R,
    ctrs: &mut RawCtrs,
    limits: &Limits,
) -> Result<Features> {
    let mut features = Features::default();
    let max = limits.features;
    object(reader, |reader, key| {
        match key {
            "float_features" => {
                features.floats = list(reader, max, "features", |reader| {
                    let (column, float, _) = read_feature(reader, limits)?;
                    Ok(FloatFeature { column, ..float })
                })?
            }
            "categorical_features" => {
                let all = list(reader, max, "features", |reader| read_feature(reader, limits))?;
                for (column, _, values) in all {
                    let index = column.index;
                    features.categorical.push(column);
                    features.one_hots.extend(values.map(|values| OneHot { index, values }));
                }
            }
            "ctrs" => ctrs.ctrs = json_ctr::read_ctrs(reader, limits)?,
            "text_features" => {
                let all = list(reader, max, "features", |reader| read_feature(reader, limits))?;
                features.unscored.extend(all.into_iter().map(|all| Unscored::Text(all.0)));
            }
            "embedding_features" => {
                let all = list(reader, max, "features", |reader| read_feature(reader, limits))?;
                features.unscored.extend(all.into_iter().map(|all| Unscored::Embedding(all.0)));
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(features)
}

/// Reads a feature of any kind, with numeric features' borders and categorical ones' one-hot values.
fn read_feature<'a, R: Reader<'a>>(
    reader: &mut R,
    limits: &Limits,
) -> Result<(Column, FloatFeature, Option<Vec<i32>>)> {
    let mut column = Column { index: -1, flat_index: -1, name: String::new() };
    let mut float = FloatFeature::default();
    let mut values = None;
    let max = limits.nodes;
    object(reader, |reader, key| {
        match key {
            "feature_index" => column.index = reader.integer()?,
            "flat_feature_index" => column.flat_index = reader.integer()?,
            // Releases before 1.0 omit a missing name; later ones write an empty identifier.
            "feature_name" | "feature_id" => {
                let name = reader.string()?;
                if !name.is_empty() {
                    column.name = name.into_owned();
                }
            }
            "borders" => float.borders = list(reader, max, "borders", |reader| reader.float())?,
            "has_nans" => float.has_nans = reader.boolean()?,
            "nan_value_treatment" => float.nan_treatment = nan_treatment(reader)?,
            "values" => values = Some(list(reader, max, "categories", hash)?),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok((column, float, values))
}

fn nan_treatment<'a, R: Reader<'a>>(reader: &mut R) -> Result<NanTreatment> {
    match reader.string()?.as_ref() {
        "AsIs" => Ok(NanTreatment::Nan),
        "AsFalse" => Ok(NanTreatment::Below),
        "AsTrue" => Ok(NanTreatment::Above),
        _ => {
            Err(reader
                .error(ErrorKind::Parameter, "a feature has an unknown \"nan_value_treatment\""))
        }
    }
}

/// Reads `[scale, bias]`, or since 0.25 `[scale, [bias, ...]]`.
fn read_scale_and_bias<'a, R: Reader<'a>>(
    reader: &mut R,
    limits: &Limits,
) -> Result<(f64, Vec<f64>)> {
    let mut scale = None;
    let mut bias = Vec::new();
    let parts = array(reader, 2, "parts of \"scale_and_bias\"", |reader| {
        if scale.is_none() {
            scale = Some(double(reader)?);
        } else if reader.kind()? == ValueKind::Number {
            bias.push(double(reader)?);
        } else {
            bias = list(reader, limits.outputs, "biases", double)?;
        }
        Ok(())
    })?;
    match (scale, parts.len()) {
        (Some(scale), 2) => Ok((scale, bias)),
        _ => Err(reader.error(ErrorKind::Length, "\"scale_and_bias\" does not have two parts")),
    }
}

/// Reads trees and deducts their leaf values from `left`.
fn trees<'a, R: Reader<'a>>(
    reader: &mut R,
    limits: &Limits,
    left: &mut usize,
    read: impl Fn(&mut R, &mut usize) -> Result<RawTree>,
) -> Result<Vec<RawTree>> {
    let mut index = 0;
    list(reader, limits.trees, "trees", |reader| {
        let tree = read(reader, left).map_err(|error| match error.place() {
            Place::Model => in_tree(error, index),
            _ => error,
        })?;
        index += 1;
        Ok(tree)
    })
}

fn read_symmetric<'a, R: Reader<'a>>(reader: &mut R, left: &mut usize) -> Result<RawTree> {
    let mut splits = Vec::new();
    let (mut leaves, mut weights) = (None, Vec::new());
    let max = *left;
    object(reader, |reader, key| {
        match key {
            "splits" => splits = list(reader, max, "splits", read_split)?,
            "leaf_values" => leaves = Some(list(reader, max, "leaves", double)?),
            "leaf_weights" => weights = list(reader, max, "leaves", double)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    let leaves = required(leaves, "leaf_values")?;
    *left -= leaves.len();
    Ok(RawTree { splits, shape: Shape::Symmetric, leaves, weights })
}

fn read_split<'a, R: Reader<'a>>(reader: &mut R) -> Result<RawSplit> {
    let mut kind = None;
    let (mut float, mut categorical, mut bin) = (None, None, None);
    let (mut border, mut value) = (None, None);
    object(reader, |reader, key| {
        match key {
            "split_type" => kind = Some(owned(reader.string()?)?),
            "float_feature_index" => float = Some(reader.integer()?),
            "cat_feature_index" => categorical = Some(reader.integer()?),
            "split_index" => bin = Some(reader.integer()?),
            "border" => border = Some(reader.float()?),
            "value" => value = Some(hash(reader)?),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    match required(kind, "split_type")?.as_str() {
        "FloatFeature" => Ok(RawSplit::Border {
            index: required(float, "float_feature_index")?,
            border: required(border, "border")?,
            bin,
        }),
        "OneHotFeature" => Ok(RawSplit::Category {
            index: required(categorical, "cat_feature_index")?,
            value: required(value, "value")?,
            bin,
        }),
        "OnlineCtr" => Ok(RawSplit::Statistic {
            border: required(border, "border")?,
            bin: required(bin, "split_index")?,
        }),
        // The unsupported feature itself is reported from the list of features.
        "EstimatedFeature" => Ok(RawSplit::Unscored),
        other => Err(unsupported(&format!("a split of type \"{}\"", shown(other)), KNOWN_RELEASE)),
    }
}

/// A node of an asymmetric tree.
struct JsonNode {
    split: Option<RawSplit>,
    below: [Option<Box<JsonNode>>; 2],
    values: Option<Vec<f64>>,
    weight: f64,
}

fn read_other<'a, R: Reader<'a>>(reader: &mut R, left: &mut usize) -> Result<RawTree> {
    let root = read_node(reader, left)?;
    let mut tree = RawTree {
        splits: Vec::new(),
        shape: Shape::Symmetric,
        leaves: Vec::new(),
        weights: Vec::new(),
    };
    let mut children = Vec::new();
    flatten(root, &mut tree, &mut children)?;
    tree.shape = Shape::Any(children);
    Ok(tree)
}

/// Reads a subtree; the reader bounds its depth.
fn read_node<'a, R: Reader<'a>>(reader: &mut R, left: &mut usize) -> Result<JsonNode> {
    let mut node = JsonNode { split: None, below: [None, None], values: None, weight: 0.0 };
    object(reader, |reader, key| {
        match key {
            "split" => node.split = Some(read_split(reader)?),
            "left" => node.below[0] = Some(Box::new(read_node(reader, left)?)),
            "right" => node.below[1] = Some(Box::new(read_node(reader, left)?)),
            "value" => {
                let values = if reader.kind()? == ValueKind::Array {
                    array(reader, *left, "leaves", double)?
                } else {
                    vec![double(reader)?]
                };
                *left = left.saturating_sub(values.len());
                node.values = Some(values);
            }
            "weight" => node.weight = double(reader)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(node)
}

/// Appends a subtree and returns the reference to its root.
fn flatten(node: JsonNode, tree: &mut RawTree, children: &mut Vec<[Child; 2]>) -> Result<Child> {
    let fault = |message| Err(Error::new(ErrorKind::TreeShape, message));
    match (node.split, node.below, node.values) {
        (Some(split), [Some(left), Some(right)], None) => {
            let index = children.len();
            tree.splits.push(split);
            children.push([Child::Leaf(0); 2]);
            let below = [flatten(*left, tree, children)?, flatten(*right, tree, children)?];
            if let Some(both) = children.get_mut(index) {
                *both = below;
            }
            Ok(Child::Split(index as u32))
        }
        (None, [None, None], Some(values)) => {
            let index = tree.weights.len();
            let first = tree.leaves.len().checked_div(index);
            if values.is_empty() || first.is_some_and(|length| length != values.len()) {
                return fault("the leaves of a tree differ in length");
            }
            tree.leaves.extend(values);
            tree.weights.push(node.weight);
            Ok(Child::Leaf(index as u32))
        }
        _ => fault("a node is neither a split with two sides nor a leaf"),
    }
}
