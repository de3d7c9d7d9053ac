//! The oracle: walks the checked model node by node, as the file has it.
//!
//! Nothing here is fast. It follows the rules of the model as they are written down, one after
//! another, and every other way of evaluation must have the same bits. The sum starts at the base
//! margin and takes the trees in file order, each leaf times the tree's weight, all in f32
//! (XGBoost: `PredValueByOneTree` and its callers in src/predictor/cpu_predictor.cc).

use super::is_in_set;
use crate::model::{Model, Node, Tree, TreeOutput};

/// The margins of a row; `out.len() == model.num_outputs()`. Absent features are NaN.
pub fn margins(model: &Model, features: &[f32], out: &mut [f32]) {
    for (margin, base) in out.iter_mut().zip(model.base_margin()) {
        *margin = *base;
    }
    for tree in model.trees() {
        let id = leaf(model, tree, features);
        let values = match (tree.nodes().get(id as usize), tree.output()) {
            (Some(Node::Leaf { value, .. }), TreeOutput::One(output)) => {
                if let Some(margin) = out.get_mut(output as usize) {
                    *margin += value * tree.weight();
                }
                continue;
            }
            (Some(Node::LeafVector { vector, .. }), TreeOutput::All) => {
                tree.leaf_vectors().chunks(model.num_outputs()).nth(*vector as usize)
            }
            // A checked model's walk ends in a leaf that fits the tree.
            _ => None,
        };
        for (margin, value) in out.iter_mut().zip(values.unwrap_or_default()) {
            *margin += value * tree.weight();
        }
    }
}

/// For each tree the id of the leaf that a row falls into; `out.len() == model.trees().len()`.
pub fn leaves(model: &Model, features: &[f32], out: &mut [u32]) {
    for (id, tree) in out.iter_mut().zip(model.trees()) {
        *id = leaf(model, tree, features);
    }
}

fn leaf(model: &Model, tree: &Tree, features: &[f32]) -> u32 {
    let value = |feature: u32| {
        let rule = model.missing_rules().get(feature as usize).copied().unwrap_or_default();
        rule.present(features.get(feature as usize).copied().unwrap_or(f32::NAN))
    };
    let mut id = 0;
    while let Some(node) = tree.nodes().get(id as usize) {
        let (goes_left, [left, right]) = match *node {
            Node::Numerical {
                feature, comparison, threshold, default_left, left, right, ..
            } => {
                let goes = |value| comparison.holds(value, threshold);
                (value(feature).map_or(default_left, goes), [left, right])
            }
            Node::Categorical { feature, set, members_left, default_left, left, right, .. } => {
                let words =
                    tree.category_sets().get(set as usize).map_or(&[][..], |set| set.words());
                let goes = |value| is_in_set(words, value) == members_left;
                (value(feature).map_or(default_left, goes), [left, right])
            }
            Node::Leaf { .. } | Node::LeafVector { .. } | Node::Deleted => break,
        };
        id = if goes_left { left } else { right };
    }
    id
}
