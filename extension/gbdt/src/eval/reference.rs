//! The oracle: walks the checked model node by node, as the file has it.
//!
//! Nothing here is fast. It follows XGBoost's rules as they are written down, one after another, and
//! every other way of evaluation must give the same bits.

use super::goes_right;
use crate::model::{Model, Node, Tree};

/// The margins of a row, one an output. NaN means that a feature is missing, as does its absence.
pub fn margins(model: &Model, features: &[f32], out: &mut [f32]) {
    for (margin, base) in out.iter_mut().zip(model.base_margin()) {
        *margin = *base;
    }
    for (tree, output) in model.trees().iter().zip(model.tree_outputs()) {
        let (_, value) = leaf(tree, features);
        if let Some(margin) = out.get_mut(*output as usize) {
            *margin += value;
        }
    }
}

/// For each tree the id of the leaf that a row falls into.
pub fn leaves(model: &Model, features: &[f32], out: &mut [u32]) {
    for (id, tree) in out.iter_mut().zip(model.trees()) {
        *id = leaf(tree, features).0;
    }
}

/// Id and value of the leaf that a row falls into.
fn leaf(tree: &Tree, features: &[f32]) -> (u32, f32) {
    let value = |feature: u32| features.get(feature as usize).copied().unwrap_or(f32::NAN);
    let mut id = 0;
    loop {
        let (goes_left, left, right) = match tree.nodes().get(id as usize) {
            Some(Node::Leaf { value, .. }) => return (id, *value),
            Some(Node::Numerical { feature, threshold, default_left, left, right, .. }) => {
                let value = value(*feature);
                let goes_left = if value.is_nan() { *default_left } else { value < *threshold };
                (goes_left, *left, *right)
            }
            Some(Node::Categorical { feature, set, default_left, left, right, .. }) => {
                let value = value(*feature);
                let words =
                    tree.category_sets().get(*set as usize).map_or(&[][..], |set| set.words());
                let goes_left =
                    if value.is_nan() { *default_left } else { !goes_right(words, value) };
                (goes_left, *left, *right)
            }
            // A checked model's links lead to nodes in use.
            Some(Node::Deleted) | None => return (id, f32::NAN),
        };
        id = if goes_left { left } else { right };
    }
}
