//! The gradient booster, and the boosters that are known and not scored.
//!
//! DART multiplies every tree by a weight and has been written in three layouts: a booster of its
//! own name around a gbtree up to 3.2, weights beside the model in 3.3, weights inside the model
//! since 3.4 (src/gbm/gbtree.cc and src/gbm/gbtree_model.cc, `SaveModel`). The last two call
//! themselves gbtree, so weights are read wherever they stand, and are 1 where there are none.

use super::nodes::{self, RawTree};
use super::{categories, parameters, required, shown, tree};
use crate::format::reader::{Reader, array, object};
use crate::format::sniff::unsupported;
use crate::model::{Categories, in_tree};
use crate::{Error, ErrorKind, Limits, Result};

pub(super) struct Booster {
    pub num_trees: i64,
    pub num_parallel_tree: i64,
    pub trees: Vec<RawTree>,
    pub tree_info: Vec<i64>,
    pub iteration_indptr: Option<Vec<i64>>,
    pub weights: Option<Vec<f32>>,
    pub categories: Vec<Option<Categories>>,
}

pub(super) fn read<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Booster> {
    let (mut name, mut model, mut nested, mut weights) = (None, None, None, None);
    object(reader, |reader, key| {
        match key {
            "name" => name = Some(reader.string()?),
            "model" => model = Some(Model::read(reader, limits)?),
            "gbtree" => nested = Some(read_nested(reader, limits)?),
            "weight_drop" => weights = Some(read_weights(reader, limits)?),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    match required(name, "name")?.as_ref() {
        "gbtree" | "dart" => {
            let mut booster = required(nested.or(model), "model")?.finish()?;
            booster.weights = weights.or(booster.weights);
            Ok(booster)
        }
        "gblinear" => Err(unsupported(
            "booster \"gblinear\"",
            "A linear model is a sum of products: write it as one in SQL.",
        )),
        other => Err(Error::new(
            ErrorKind::Unsupported,
            format!("booster \"{}\" is not supported", shown(other)),
        )),
    }
}

/// The booster inside that of DART, of which the model is all that counts.
fn read_nested<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Model> {
    let mut model = None;
    object(reader, |reader, key| {
        match key {
            "model" => model = Some(Model::read(reader, limits)?),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    required(model, "model")
}

fn read_weights<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Vec<f32>> {
    array(reader, limits.trees, "weights of trees", |reader| reader.float())
}

/// The model of a booster, with all that another booster than gbtree does not have optional.
#[derive(Default)]
struct Model {
    sizes: Option<(Option<i64>, i64)>,
    trees: Option<Vec<RawTree>>,
    tree_info: Option<Vec<i64>>,
    iteration_indptr: Option<Vec<i64>>,
    weights: Option<Vec<f32>>,
    categories: Vec<Option<Categories>>,
}

impl Model {
    fn read<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Model> {
        let mut model = Model::default();
        object(reader, |reader, key| {
            match key {
                "gbtree_model_param" => model.sizes = Some(read_sizes(reader)?),
                "trees" => model.trees = Some(read_trees(reader, limits)?),
                "tree_info" => {
                    let info = array(reader, limits.trees, "trees", |reader| reader.integer())?;
                    model.tree_info = Some(info);
                }
                "iteration_indptr" => {
                    let max = limits.trees.saturating_add(1);
                    let starts = array(reader, max, "rounds", |reader| reader.integer())?;
                    model.iteration_indptr = Some(starts);
                }
                "weight_drop" => model.weights = Some(read_weights(reader, limits)?),
                "cats" => model.categories = categories::read(reader, limits)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(model)
    }

    fn finish(self) -> Result<Booster> {
        let (num_trees, num_parallel_tree) = required(self.sizes, "gbtree_model_param")?;
        Ok(Booster {
            num_trees: required(num_trees, "num_trees")?,
            num_parallel_tree,
            trees: required(self.trees, "trees")?,
            tree_info: required(self.tree_info, "tree_info")?,
            iteration_indptr: self.iteration_indptr,
            weights: self.weights,
            categories: self.categories,
        })
    }
}

/// The number of trees, and that of the trees that one round grows for one output.
fn read_sizes<'a, R: Reader<'a>>(reader: &mut R) -> Result<(Option<i64>, i64)> {
    let mut num_trees = None;
    // Releases before 1.4 may grow several and do not say how many.
    let mut num_parallel_tree = 1;
    object(reader, |reader, key| {
        match key {
            "num_trees" => num_trees = Some(parameters::integer(reader, key)?),
            "num_parallel_tree" => num_parallel_tree = parameters::integer(reader, key)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok((num_trees, num_parallel_tree))
}

fn read_trees<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Vec<RawTree>> {
    let mut index = 0;
    let mut left = tree::Allowance::new(limits);
    array(reader, limits.trees, "trees", |reader| {
        let arrays = tree::read(reader, &left)?;
        let tree = nodes::build(&arrays, index, &mut left);
        let tree = tree.map_err(|error| in_tree(error, index))?;
        index += 1;
        Ok(tree)
    })
}
