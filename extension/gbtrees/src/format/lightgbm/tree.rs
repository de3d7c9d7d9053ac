//! One tree: arrays per split, arrays per leaf, and category sets.
//!
//! A negative child is the leaf `!child`. Splits keep their numbers and leaves follow them, so leaf `i`
//! of `n` is node `n - 1 + i`, and `first_leaf` lets `predict_leaf` report LightGBM's `pred_leaf`. A
//! tree of one leaf may omit the splits' arrays (`Tree::Tree` in src/io/tree.cpp). Leaf values and
//! linear models already include the learning rate.

use crate::ensemble::{
    Categories, CategorySet, Comparison, LinearLeaf, MissingRule, Node, Split, SplitCondition,
    Tree, TreeOutput, check_limit, in_tree, node_of,
};
use crate::format::lightgbm::lines::Block;
use crate::format::reader::CancelChecks;
use crate::memory::{filled, with_capacity};
use crate::{ErrorKind, Result};

/// LightGBM's `kZeroThreshold` (include/LightGBM/meta.h), an f32 held as f64.
const ZERO: f64 = 1e-35_f32 as f64;

/// The bits of a decision type.
const CATEGORICAL: i8 = 1;
const DEFAULT_LEFT: i8 = 2;

/// Reads the tree at `index` and deducts its nodes from `nodes_left`.
pub(super) fn read(
    block: &Block<'_>,
    index: usize,
    output: u32,
    nodes_left: &mut usize,
    checks: &mut CancelChecks<'_>,
) -> Result<Tree> {
    let field = block.required("num_leaves")?;
    let leaves = usize::try_from(field.number::<i32>()?)
        .ok()
        .filter(|leaves| *leaves > 0)
        .ok_or_else(|| field.error(ErrorKind::Parameter, "is not above 0"))?;
    let splits = leaves - 1;
    check_limit(leaves + splits, *nodes_left, "nodes more")
        .map_err(|error| error.at(field.place()))?;
    *nodes_left -= leaves + splits;
    let values = block.required("leaf_value")?.numbers::<f64>(leaves, checks)?;
    let covers = optional::<i32>(block, "leaf_count", leaves, checks)?;
    let category_sets = read_sets(block, checks)?;
    let linear_leaves = read_linear_leaves(block, leaves, checks)?;
    let mut nodes = with_capacity(leaves + splits)?;
    if splits > 0 {
        let arrays = Splits::read(block, splits, checks)?;
        for split in 0..splits {
            let node = arrays.node(split, leaves, category_sets.len());
            nodes.push(node.map_err(|error| in_tree(error.at(node_of(split)), index))?);
            checks.count()?;
        }
    }
    let leaf = |(value, cover)| Node::Leaf { value, cover: cover as f32 };
    nodes.extend(values.into_iter().zip(covers).map(leaf));
    let first_leaf = splits as u32;
    let parts = Tree::unchecked(nodes, TreeOutput::One(output));
    Ok(Tree { category_sets, linear_leaves, first_leaf, ..parts })
}

/// Reads an array that old releases omit, or leave empty in a tree of one leaf; the default is zeros.
fn optional<T: std::str::FromStr + Clone + Default>(
    block: &Block<'_>,
    key: &str,
    count: usize,
    checks: &mut CancelChecks<'_>,
) -> Result<Vec<T>> {
    match block.get(key) {
        Some(field) if !field.value.is_empty() => field.numbers(count, checks),
        _ => filled(count, T::default()),
    }
}

/// Reads one linear model per leaf; empty for an ordinary tree.
fn read_linear_leaves(
    block: &Block<'_>,
    leaves: usize,
    checks: &mut CancelChecks<'_>,
) -> Result<Vec<LinearLeaf>> {
    let is_linear = block.get("is_linear").map(|field| field.number::<i32>()).transpose()?;
    if is_linear.is_none_or(|number| number == 0) {
        return Ok(Vec::new());
    }
    let constants = block.required("leaf_const")?.numbers::<f64>(leaves, checks)?;
    let counts = block.required("num_features")?.numbers::<u32>(leaves, checks)?;
    let total = counts.iter().fold(0usize, |sum, count| sum.saturating_add(*count as usize));
    let features = block.required("leaf_features")?.numbers::<u32>(total, checks)?;
    let coefficients = block.required("leaf_coeff")?.numbers::<f64>(total, checks)?;
    let mut terms = features.into_iter().zip(coefficients);
    let leaf = |(constant, count): (f64, u32)| LinearLeaf {
        constant,
        terms: terms.by_ref().take(count as usize).collect(),
    };
    Ok(constants.into_iter().zip(counts).map(leaf).collect())
}

struct Splits {
    features: Vec<i32>,
    thresholds: Vec<f64>,
    decisions: Vec<i8>,
    left: Vec<i32>,
    right: Vec<i32>,
    gains: Vec<f32>,
    covers: Vec<i32>,
}

impl Splits {
    fn read(block: &Block<'_>, count: usize, checks: &mut CancelChecks<'_>) -> Result<Splits> {
        Ok(Splits {
            features: block.required("split_feature")?.numbers(count, checks)?,
            thresholds: block.required("threshold")?.numbers(count, checks)?,
            decisions: block.required("decision_type")?.numbers(count, checks)?,
            left: block.required("left_child")?.numbers(count, checks)?,
            right: block.required("right_child")?.numbers(count, checks)?,
            gains: optional(block, "split_gain", count, checks)?,
            covers: optional(block, "internal_count", count, checks)?,
        })
    }

    /// Builds the node of a split. The caller has checked that every array has one value per split.
    fn node(&self, split: usize, leaves: usize, sets: usize) -> Result<Node> {
        let (
            Some(&feature),
            Some(&threshold),
            Some(&decision),
            Some(&left),
            Some(&right),
            Some(&gain),
            Some(&cover),
        ) = (
            self.features.get(split),
            self.thresholds.get(split),
            self.decisions.get(split),
            self.left.get(split),
            self.right.get(split),
            self.gains.get(split),
            self.covers.get(split),
        )
        else {
            bail!(Length, "a split is incomplete");
        };
        let (left, right) = (child(left, leaves)?, child(right, leaves)?);
        let feature = u32::try_from(feature)
            .map_err(|_| fault!(FeatureRange, "a split tests a feature below 0"))?;
        let cover = cover as f32;
        if decision & CATEGORICAL != 0 {
            // Categorical splits send missing values right, whatever the decision type says.
            let set = set_index(threshold, sets)?;
            let condition = SplitCondition::InSet { set, members_left: true };
            let default_left = false;
            let split = Split { feature, condition, default_left, left, right, gain, cover };
            return Ok(Node::Split(split));
        }
        let missing = match decision >> 2 {
            0 => MissingRule::None,
            1 => MissingRule::Zero,
            2 => MissingRule::Nan,
            _ => {
                bail!(Parameter, "a split has an unknown type of missing values");
            }
        };
        let (comparison, threshold) = (Comparison::LessOrEqual, around_zero(threshold));
        let condition = SplitCondition::Compare { comparison, threshold, missing };
        let default_left = decision & DEFAULT_LEFT != 0;
        Ok(Node::Split(Split { feature, condition, default_left, left, right, gain, cover }))
    }
}

/// Converts a child's number into a node id.
fn child(number: i32, leaves: usize) -> Result<u32> {
    let splits = leaves - 1;
    let (index, node, count) = match usize::try_from(number) {
        Ok(split) => (split, split, splits),
        Err(_) => (!number as usize, splits.saturating_add(!number as usize), leaves),
    };
    if index >= count {
        bail!(TreeShape, "a split of a tree of {leaves} leaves has child {number}");
    }
    Ok(node as u32)
}

/// Returns the threshold that decides every value as LightGBM does with this one. LightGBM takes values
/// from -[`ZERO`] to [`ZERO`] as 0 before any split (`RowPairFunctionFromDenseRows` in src/c_api.cpp
/// leaves them out of the row).
fn around_zero(threshold: f64) -> f64 {
    if (0.0..ZERO).contains(&threshold) {
        ZERO
    } else if (-ZERO..0.0).contains(&threshold) {
        (-ZERO).next_down()
    } else {
        threshold
    }
}

const BITS: usize = u32::BITS as usize;

fn read_sets(block: &Block<'_>, checks: &mut CancelChecks<'_>) -> Result<Vec<CategorySet>> {
    let field = block.required("num_cat")?;
    let count = usize::try_from(field.number::<i32>()?)
        .map_err(|_| field.error(ErrorKind::Parameter, "is negative"))?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let bounds = block.required("cat_boundaries")?;
    let starts = bounds.numbers::<i32>(count + 1, checks)?;
    let unordered = || bounds.error(ErrorKind::CategoryRange, "does not ascend from 0");
    let total = starts.last().and_then(|end| usize::try_from(*end).ok()).ok_or_else(unordered)?;
    if starts.first() != Some(&0) || !starts.is_sorted() {
        return Err(unordered());
    }
    let words = block.required("cat_threshold")?;
    let all = words.numbers::<u32>(total, checks)?;
    let ends = starts.iter().skip(1);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| {
            let set = all.get(*start as usize..*end as usize).unwrap_or_default();
            if set.len() > Categories::MAX_CODES / BITS {
                return Err(
                    words.error(ErrorKind::CategoryRange, "has a category that is too large")
                );
            }
            Ok(CategorySet { words: set.to_vec() })
        })
        .collect()
}

/// Converts a split's threshold into the index of its category set.
fn set_index(threshold: f64, count: usize) -> Result<u32> {
    let whole = threshold as u32;
    if f64::from(whole) != threshold || whole as usize >= count {
        bail!(CategoryRange, "a categorical split has no categories");
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_near_zero_go_where_zero_goes() {
        let near = [0.0, -0.0, 1e-40, -1e-40, 5e-324, -5e-324, ZERO, -ZERO];
        let beyond = [ZERO.next_up(), (-ZERO).next_down(), 1.0, -1.0, f64::INFINITY];
        for threshold in near.into_iter().chain(beyond) {
            for value in near.into_iter().chain(beyond) {
                let read = if value.abs() <= ZERO { 0.0 } else { value };
                let expected = read <= threshold;
                assert_eq!(value <= around_zero(threshold), expected, "{value:e} <= {threshold:e}");
            }
        }
    }
}
