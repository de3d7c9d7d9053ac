//! One tree: arrays with an entry a node, and the category sets of its categorical splits.

use super::{parameters, required};
use crate::format::document::{Document, Kind, array, object};
use crate::format::recognise::unsupported;
use crate::model::RawTree;
use crate::{Error, ErrorKind, Limits, Place, Result};

/// The arrays as they are found; which of them must be there is decided at the end.
#[derive(Default)]
struct Parts {
    parameters: Option<Parameters>,
    id: Option<i64>,
    left_children: Option<Vec<i32>>,
    right_children: Option<Vec<i32>>,
    parents: Option<Vec<i32>>,
    split_indices: Option<Vec<i32>>,
    split_conditions: Option<Vec<f32>>,
    default_left: Option<Vec<bool>>,
    loss_changes: Option<Vec<f32>>,
    sum_hessian: Option<Vec<f32>>,
    split_type: Option<Vec<bool>>,
    categories: Vec<i32>,
    categories_nodes: Vec<i32>,
    categories_segments: Vec<i64>,
    categories_sizes: Vec<i64>,
}

/// The tree's own sizes.
#[derive(Default)]
struct Parameters {
    num_nodes: Option<i64>,
    num_deleted: Option<i64>,
    size_leaf_vector: i64,
}

/// Reads the tree at `index` of the model, which may have `nodes_left` nodes.
pub(super) fn read<'a, D: Document<'a>>(
    document: &mut D,
    index: usize,
    nodes_left: usize,
    limits: &Limits,
) -> Result<RawTree> {
    let mut parts = Parts::default();
    object(document, |document, key| parts.read(document, key, nodes_left, limits))?;
    parts.finish(index).map_err(|error| match error.place() {
        Place::Model => error.at(Place::Tree(index)),
        _ => error,
    })
}

impl Parts {
    fn read<'a, D: Document<'a>>(
        &mut self,
        document: &mut D,
        key: &str,
        most: usize,
        limits: &Limits,
    ) -> Result<()> {
        match key {
            "tree_param" => self.parameters = Some(read_parameters(document)?),
            "id" => self.id = Some(document.integer()?),
            "left_children" => self.left_children = Some(indices(document, most)?),
            "right_children" => self.right_children = Some(indices(document, most)?),
            "parents" => self.parents = Some(indices(document, most)?),
            "split_indices" => self.split_indices = Some(indices(document, most)?),
            "split_conditions" => self.split_conditions = Some(floats(document, most)?),
            "loss_changes" => self.loss_changes = Some(floats(document, most)?),
            "sum_hessian" => self.sum_hessian = Some(floats(document, most)?),
            "default_left" => self.default_left = Some(array(document, most, "nodes", switch)?),
            "split_type" => self.split_type = Some(array(document, most, "nodes", switch)?),
            "categories" => self.categories = indices(document, limits.bytes)?,
            "categories_nodes" => self.categories_nodes = indices(document, most)?,
            "categories_segments" => self.categories_segments = integers(document, most)?,
            "categories_sizes" => self.categories_sizes = integers(document, most)?,
            _ => document.skip()?,
        }
        Ok(())
    }

    fn finish(self, index: usize) -> Result<RawTree> {
        let parameters = required(self.parameters, "tree_param")?;
        // A scalar leaf is a vector of size 0 up to 1.7 and of size 1 since 2.0.
        if parameters.size_leaf_vector > 1 {
            return Err(unsupported(
                "a tree with vectors in its leaves",
                "Train the model with multi_strategy \"one_output_per_tree\".",
            ));
        }
        if self.id.is_some_and(|id| usize::try_from(id) != Ok(index)) {
            return Err(Error::new(ErrorKind::Parameter, "a tree's id is not its position"));
        }
        Ok(RawTree {
            num_nodes: required(parameters.num_nodes, "num_nodes")?,
            num_deleted: parameters.num_deleted,
            left_children: required(self.left_children, "left_children")?,
            right_children: required(self.right_children, "right_children")?,
            parents: self.parents,
            split_indices: required(self.split_indices, "split_indices")?,
            split_conditions: required(self.split_conditions, "split_conditions")?,
            default_left: required(self.default_left, "default_left")?,
            loss_changes: required(self.loss_changes, "loss_changes")?,
            sum_hessian: required(self.sum_hessian, "sum_hessian")?,
            split_type: self.split_type,
            categories: self.categories,
            categories_nodes: self.categories_nodes,
            categories_segments: self.categories_segments,
            categories_sizes: self.categories_sizes,
        })
    }
}

fn read_parameters<'a, D: Document<'a>>(document: &mut D) -> Result<Parameters> {
    let mut parameters = Parameters::default();
    object(document, |document, key| {
        match key {
            "num_nodes" => parameters.num_nodes = Some(parameters::integer(document, key)?),
            "num_deleted" => parameters.num_deleted = Some(parameters::integer(document, key)?),
            "size_leaf_vector" => {
                parameters.size_leaf_vector = parameters::integer(document, key)?;
            }
            _ => document.skip()?,
        }
        Ok(())
    })?;
    Ok(parameters)
}

fn indices<'a, D: Document<'a>>(document: &mut D, most: usize) -> Result<Vec<i32>> {
    array(document, most, "nodes", |document| {
        let index = document.integer()?;
        i32::try_from(index)
            .map_err(|_| document.error(ErrorKind::Number, "an index is too large for i32"))
    })
}

fn integers<'a, D: Document<'a>>(document: &mut D, most: usize) -> Result<Vec<i64>> {
    array(document, most, "categories", |document| document.integer())
}

fn floats<'a, D: Document<'a>>(document: &mut D, most: usize) -> Result<Vec<f32>> {
    array(document, most, "nodes", |document| document.float())
}

/// A boolean, as releases up to 1.5 write it, or 0 or 1.
fn switch<'a, D: Document<'a>>(document: &mut D) -> Result<bool> {
    if document.kind()? == Kind::Flag {
        return document.flag();
    }
    match document.integer()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(document.error(ErrorKind::WrongType, "found a number where 0 or 1 belongs")),
    }
}
