//! The gradient booster, and the boosters that are known and not scored.
//!
//! DART multiplies every tree by a weight and has been written in three layouts: a booster of its
//! own name around a gbtree up to 3.2, weights beside the model in 3.3, weights inside the model
//! since 3.4. The last two call themselves gbtree, so the weights are what is looked for.

use super::{categories, parameters, required, shown, tree};
use crate::format::document::{Document, array, object};
use crate::format::recognise::unsupported;
use crate::model::{Categories, RawTree};
use crate::{Error, ErrorKind, Limits, Result};

/// What a gbtree booster holds.
#[derive(Default)]
pub(super) struct Booster {
    pub num_trees: i64,
    pub num_parallel_tree: i64,
    pub trees: Vec<RawTree>,
    pub tree_info: Vec<i64>,
    pub iteration_indptr: Option<Vec<i64>>,
    pub categories: Vec<Option<Categories>>,
}

pub(super) fn read<'a, D: Document<'a>>(document: &mut D, limits: &Limits) -> Result<Booster> {
    let mut name = None;
    let mut model = None;
    let mut weighted = false;
    object(document, |document, key| {
        match key {
            "name" => name = Some(document.text()?),
            "model" => model = Some(Model::read(document, limits)?),
            "weight_drop" => {
                weighted = true;
                document.skip()?;
            }
            _ => document.skip()?,
        }
        Ok(())
    })?;
    let name = required(name, "name")?;
    let weighted = weighted || model.as_ref().is_some_and(|model| model.weighted);
    match name.as_ref() {
        "gbtree" if !weighted => required(model, "model")?.finish(),
        "gbtree" | "dart" => Err(dart()),
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

fn dart() -> Error {
    unsupported("booster \"dart\"", "Train the model with booster \"gbtree\".")
}

/// The model of a booster, with all that another booster than gbtree does not have optional.
#[derive(Default)]
struct Model {
    sizes: Option<(Option<i64>, i64)>,
    trees: Option<Vec<RawTree>>,
    tree_info: Option<Vec<i64>>,
    iteration_indptr: Option<Vec<i64>>,
    categories: Vec<Option<Categories>>,
    weighted: bool,
}

impl Model {
    fn read<'a, D: Document<'a>>(document: &mut D, limits: &Limits) -> Result<Model> {
        let mut model = Model::default();
        object(document, |document, key| {
            match key {
                "gbtree_model_param" => model.sizes = Some(read_sizes(document)?),
                "trees" => model.trees = Some(read_trees(document, limits)?),
                "tree_info" => {
                    let info =
                        array(document, limits.trees, "trees", |document| document.integer())?;
                    model.tree_info = Some(info);
                }
                "iteration_indptr" => {
                    let most = limits.trees.saturating_add(1);
                    let starts = array(document, most, "rounds", |document| document.integer())?;
                    model.iteration_indptr = Some(starts);
                }
                "cats" => model.categories = categories::read(document, limits)?,
                "weight_drop" => {
                    model.weighted = true;
                    document.skip()?;
                }
                _ => document.skip()?,
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
            categories: self.categories,
        })
    }
}

/// The number of trees, and that of the trees that one round grows for one output.
fn read_sizes<'a, D: Document<'a>>(document: &mut D) -> Result<(Option<i64>, i64)> {
    let mut num_trees = None;
    // Releases before 1.4 grow as many and do not say how many.
    let mut num_parallel_tree = 1;
    object(document, |document, key| {
        match key {
            "num_trees" => num_trees = Some(parameters::integer(document, key)?),
            "num_parallel_tree" => num_parallel_tree = parameters::integer(document, key)?,
            _ => document.skip()?,
        }
        Ok(())
    })?;
    Ok((num_trees, num_parallel_tree))
}

fn read_trees<'a, D: Document<'a>>(document: &mut D, limits: &Limits) -> Result<Vec<RawTree>> {
    let mut index = 0;
    let mut nodes_left = limits.nodes;
    array(document, limits.trees, "trees", |document| {
        let tree = tree::read(document, index, nodes_left, limits)?;
        index += 1;
        nodes_left = nodes_left.saturating_sub(tree.left_children.len());
        Ok(tree)
    })
}
