//! One tree: arrays with an entry per node, and the category sets of its categorical splits.

use crate::format::reader::{Reader, array, object, switch};
use crate::format::xgboost::parameters;
use crate::{ErrorKind, Limits, Result};

/// Limits of the trees not yet read.
pub(super) struct Allowance {
    pub nodes: usize,
    pub set_words: usize,
    codes: usize,
    outputs: usize,
}

impl Allowance {
    pub(super) fn new(limits: &Limits) -> Self {
        Allowance {
            nodes: limits.nodes,
            set_words: limits.set_words(),
            codes: limits.bytes,
            outputs: limits.outputs,
        }
    }
}

/// Properties of nodes that the checked model does not have, for the file that is written of it.
#[derive(Default)]
pub(super) struct Statistics {
    pub base_weights: Vec<f32>,
    pub gains: Vec<f32>,
}

/// A tree's arrays as found; `tree_nodes` checks presence and lengths.
#[derive(Default)]
pub(super) struct Arrays {
    pub parameters: Option<Parameters>,
    pub id: Option<i64>,
    pub left_children: Option<Vec<i32>>,
    pub right_children: Option<Vec<i32>>,
    pub parents: Option<Vec<i32>>,
    pub split_indices: Option<Vec<i32>>,
    /// Thresholds of splits and values of leaves.
    pub split_conditions: Option<Vec<f32>>,
    /// Concatenated leaf vectors, since 3.2.
    pub leaf_weights: Option<Vec<f32>>,
    pub default_left: Option<Vec<bool>>,
    pub loss_changes: Option<Vec<f32>>,
    pub sum_hessian: Option<Vec<f32>>,
    /// The weight of each node, or one for each output of a leaf vector; no prediction needs them.
    pub base_weights: Vec<f32>,
    /// Whether a split is categorical; absent in files of releases that have none.
    pub split_type: Option<Vec<bool>>,
    /// Concatenated codes of all category sets.
    pub categories: Vec<i32>,
    /// The categorical nodes, in ascending order.
    pub categories_nodes: Vec<i32>,
    /// Start of each categorical node's codes.
    pub categories_segments: Vec<i64>,
    /// Number of each categorical node's codes.
    pub categories_sizes: Vec<i64>,
}

#[derive(Default)]
pub(super) struct Parameters {
    pub num_nodes: Option<i64>,
    /// Absent in the first releases.
    pub num_deleted: Option<i64>,
    pub size_leaf_vector: i64,
}

pub(super) fn read<'a, R: Reader<'a>>(reader: &mut R, left: &Allowance) -> Result<Arrays> {
    let mut arrays = Arrays::default();
    object(reader, |reader, key| arrays.read(reader, key, left))?;
    Ok(arrays)
}

impl Arrays {
    pub(super) fn into_statistics(self) -> Statistics {
        let gains = self.loss_changes.unwrap_or_default();
        Statistics { base_weights: self.base_weights, gains }
    }

    fn read<'a, R: Reader<'a>>(
        &mut self,
        reader: &mut R,
        key: &str,
        left: &Allowance,
    ) -> Result<()> {
        let max = left.nodes;
        match key {
            "tree_param" => self.parameters = Some(read_parameters(reader)?),
            "id" => self.id = Some(reader.integer()?),
            "left_children" => self.left_children = Some(indices(reader, max)?),
            "right_children" => self.right_children = Some(indices(reader, max)?),
            "parents" => self.parents = Some(indices(reader, max)?),
            "split_indices" => self.split_indices = Some(indices(reader, max)?),
            "split_conditions" => self.split_conditions = Some(floats(reader, max)?),
            "leaf_weights" => self.leaf_weights = Some(floats(reader, max)?),
            "loss_changes" => self.loss_changes = Some(floats(reader, max)?),
            "sum_hessian" => self.sum_hessian = Some(floats(reader, max)?),
            "base_weights" => {
                let most = max.saturating_mul(left.outputs);
                self.base_weights = array(reader, most, "weights of nodes", R::float)?;
            }
            "default_left" => self.default_left = Some(array(reader, max, "nodes", switch)?),
            "split_type" => self.split_type = Some(array(reader, max, "nodes", switch)?),
            "categories" => self.categories = indices(reader, left.codes)?,
            "categories_nodes" => self.categories_nodes = indices(reader, max)?,
            "categories_segments" => self.categories_segments = integers(reader, max)?,
            "categories_sizes" => self.categories_sizes = integers(reader, max)?,
            _ => reader.skip()?,
        }
        Ok(())
    }
}

fn read_parameters<'a, R: Reader<'a>>(reader: &mut R) -> Result<Parameters> {
    let mut parameters = Parameters::default();
    object(reader, |reader, key| {
        match key {
            "num_nodes" => parameters.num_nodes = Some(parameters::integer(reader, key)?),
            "num_deleted" => parameters.num_deleted = Some(parameters::integer(reader, key)?),
            "size_leaf_vector" => parameters.size_leaf_vector = parameters::integer(reader, key)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    Ok(parameters)
}

fn indices<'a, R: Reader<'a>>(reader: &mut R, max: usize) -> Result<Vec<i32>> {
    array(reader, max, "nodes", |reader| {
        let index = reader.integer()?;
        i32::try_from(index)
            .map_err(|_| reader.error(ErrorKind::Number, "an index is too large for i32"))
    })
}

fn integers<'a, R: Reader<'a>>(reader: &mut R, max: usize) -> Result<Vec<i64>> {
    array(reader, max, "categories", R::integer)
}

fn floats<'a, R: Reader<'a>>(reader: &mut R, max: usize) -> Result<Vec<f32>> {
    array(reader, max, "nodes", R::float)
}
