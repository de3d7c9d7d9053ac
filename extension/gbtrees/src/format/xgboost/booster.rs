//! The gradient booster, of trees or linear.
//!
//! DART's tree weights have had three layouts (`SaveModel` in src/gbm/gbtree.cc and
//! src/gbm/gbtree_model.cc): a booster named dart around a gbtree up to 3.2, next to the model in 3.3,
//! inside the model since 3.4. The latter two are named gbtree, so weights are read wherever they
//! occur, and default to 1.

use crate::ensemble::{Categories, in_tree};
use crate::format::reader::{Reader, array, object, required};
use crate::format::xgboost::parameters;
use crate::format::xgboost::tree_nodes::RawTree;
use crate::format::xgboost::{categories, shown, tree, tree_nodes};
use crate::{Limits, Result};

#[derive(Default)]
pub(super) struct Booster {
    pub num_trees: i64,
    pub num_parallel_tree: i64,
    pub trees: Vec<RawTree>,
    pub tree_info: Vec<i64>,
    pub iteration_indptr: Option<Vec<i64>>,
    pub weights: Option<Vec<f32>>,
    pub categories: Vec<Option<Categories>>,
    /// Weights of gblinear; `None` for trees, and before the first round.
    pub coefficients: Option<Vec<f32>>,
    /// How many rounds gblinear says it had.
    pub boosted_rounds: Option<i64>,
}

impl Booster {
    pub(super) fn linear(coefficients: Vec<f32>) -> Self {
        let coefficients = Some(coefficients);
        Booster { num_parallel_tree: 1, coefficients, ..Booster::default() }
    }
}

pub(super) fn read<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Booster> {
    let (mut name, mut booster, mut weights) = (None, None, None);
    object(reader, |reader, key| {
        match key {
            "name" => name = Some(reader.string()?),
            "model" => booster = Some(read_model(reader, limits)?),
            // The booster inside that of DART, of which the model is all that counts.
            "gbtree" => booster = Some((Ok(read(reader, limits)?), Linear::default())),
            "weight_drop" => weights = Some(read_weights(reader, limits)?),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    let name = required(name, "name")?;
    check_name(&name)?;
    let (booster, Linear { coefficients, boosted_rounds }) = required(booster, "model")?;
    if name == LINEAR {
        // Any other number than 0 says that it was trained (`ModelFitted` in src/gbm/gblinear.cc).
        let boosted_rounds = boosted_rounds.map(|rounds| if rounds < 0 { 1 } else { rounds });
        let linear = required(coefficients, "weights").map(Booster::linear)?;
        return Ok(Booster { boosted_rounds, ..linear });
    }
    let booster = booster?;
    Ok(Booster { weights: weights.or(booster.weights), ..booster })
}

/// The name of the linear booster.
pub(super) const LINEAR: &str = "gblinear";

/// Refuses unsupported boosters.
pub(super) fn check_name(name: &str) -> Result<()> {
    match name {
        "gbtree" | "dart" | LINEAR => Ok(()),
        other => Err(fault!(Unsupported, "booster \"{}\" is not supported", shown(other))),
    }
}

fn read_weights<'a, R: Reader<'a>>(reader: &mut R, limits: &Limits) -> Result<Vec<f32>> {
    array(reader, limits.trees, "weights of trees", R::float)
}

/// The parts of a gblinear booster.
#[derive(Default)]
struct Linear {
    coefficients: Option<Vec<f32>>,
    boosted_rounds: Option<i64>,
}

/// Reads the model of a booster: of trees, and the weights of a linear one. What is missing of the trees is
/// the inner error, which does not count where the booster turns out to have none.
fn read_model<'a, R: Reader<'a>>(
    reader: &mut R,
    limits: &Limits,
) -> Result<(Result<Booster>, Linear)> {
    let mut linear = Linear::default();
    let (mut sizes, mut trees, mut tree_info) = (None, None, None);
    let (mut iteration_indptr, mut weights, mut categories) = (None, None, Vec::new());
    object(reader, |reader, key| {
        match key {
            "gbtree_model_param" => sizes = Some(read_sizes(reader)?),
            "trees" => trees = Some(read_trees(reader, limits)?),
            "tree_info" => {
                tree_info = Some(array(reader, limits.trees, "trees", R::integer)?);
            }
            "iteration_indptr" => {
                let max = limits.trees.saturating_add(1);
                let starts = array(reader, max, "rounds", R::integer)?;
                iteration_indptr = Some(starts);
            }
            "weight_drop" => weights = Some(read_weights(reader, limits)?),
            "weights" => {
                linear.coefficients = Some(array(reader, limits.nodes, "weights", R::float)?);
            }
            "boosted_rounds" => linear.boosted_rounds = Some(reader.integer()?),
            "cats" => categories = categories::read(reader, limits)?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    let complete = || {
        let (num_trees, num_parallel_tree) = required(sizes, "gbtree_model_param")?;
        Ok(Booster {
            num_trees: required(num_trees, "num_trees")?,
            num_parallel_tree,
            trees: required(trees, "trees")?,
            tree_info: required(tree_info, "tree_info")?,
            iteration_indptr,
            weights,
            categories,
            coefficients: None,
            boosted_rounds: None,
        })
    };
    Ok((complete(), linear))
}

/// Reads the number of trees, and of trees per round and output.
fn read_sizes<'a, R: Reader<'a>>(reader: &mut R) -> Result<(Option<i64>, i64)> {
    let mut num_trees = None;
    // Releases before 1.4 may grow several without recording how many.
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
        let tree = tree_nodes::build(&arrays, index, &mut left, reader.cancel());
        let mut tree = tree.map_err(|error| in_tree(error, index))?;
        tree.statistics = arrays.into_statistics();
        index += 1;
        Ok(tree)
    })
}

/// Derives the starts of the rounds, then the number of trees, for a file that does not list them.
///
/// Releases before 2.0 leave it to the reader: every round grows the same number of trees for each
/// output (`MakeIndptr` in src/gbm/gbtree_model.cc). As in XGBoost, a remainder is an error.
pub(super) fn derive_rounds(num_parallel_tree: i64, tree_info: &[i64]) -> Result<Vec<u32>> {
    let last = tree_info.iter().max().and_then(|last| usize::try_from(*last).ok());
    let outputs = last.map_or(1, |last| last.saturating_add(1));
    let trees = tree_info.len();
    let step = usize::try_from(num_parallel_tree)
        .ok()
        .filter(|parallel| *parallel > 0)
        .and_then(|parallel| parallel.checked_mul(outputs))
        .filter(|step| trees.is_multiple_of(*step))
        .ok_or_else(|| {
            let round = format!("{num_parallel_tree} trees for {outputs} outputs");
            fault!(Parameter, "{trees} trees do not make whole rounds of {round}")
        })?;
    Ok((0..=trees).step_by(step).map(|start| start as u32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn rounds_are_derived_from_parallel_trees_and_outputs() {
        assert_eq!(derive_rounds(1, &[0, 0, 0]).unwrap(), [0, 1, 2, 3]);
        assert_eq!(derive_rounds(2, &[0, 0, 1, 1, 0, 0, 1, 1]).unwrap(), [0, 4, 8]);
        assert_eq!(derive_rounds(3, &[]).unwrap(), [0]);
        for (parallel, outputs) in
            [(2, [0, 0, 0]), (0, [0, 0, 0]), (-1, [0, 0, 0]), (i64::MAX, [0, 0, 1])]
        {
            assert_eq!(derive_rounds(parallel, &outputs).unwrap_err().kind(), ErrorKind::Parameter);
        }
    }
}
