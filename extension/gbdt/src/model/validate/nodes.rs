//! What the nodes of a tree hold: features in range, leaves finite, thresholds that are numbers.
//!
//! A threshold may be infinite. XGBoost puts one above all values of a feature to send every value
//! left and what is missing right, and where values are as large as an f32 can be it overflows.
//! Gains and covers are taken as they are; they explain a model and do not decide a prediction.

use super::shape::NO_CHILD;
use super::{Checked, Fault, RawTree};
use crate::ErrorKind;
use crate::model::Node;

/// Builds the nodes of a tree whose shape and category sets have been checked.
pub(super) fn build(
    raw: &RawTree,
    reached: &[bool],
    sets: &[(usize, u32)],
    num_features: usize,
) -> Checked<Vec<Node>> {
    let mut nodes = Vec::new();
    nodes.try_reserve_exact(reached.len()).map_err(|_| {
        Fault::tree(ErrorKind::OutOfMemory, "out of memory while a tree was checked")
    })?;
    let mut sets = sets.iter().peekable();
    for (id, reached) in reached.iter().enumerate() {
        let set = sets.next_if(|(node, _)| *node == id).map(|(_, set)| *set);
        let node = if *reached { node(raw, id, set, num_features)? } else { Some(Node::Deleted) };
        nodes.push(node.ok_or_else(|| Fault::tree(ErrorKind::Length, "a node lacks an entry"))?);
    }
    Ok(nodes)
}

/// One node, or nothing if an array is too short for it, which `check_lengths` rules out.
fn node(raw: &RawTree, id: usize, set: Option<u32>, num_features: usize) -> Checked<Option<Node>> {
    let (
        Some(left),
        Some(right),
        Some(index),
        Some(condition),
        Some(default_left),
        Some(gain),
        Some(cover),
    ) = (
        raw.left_children.get(id).copied(),
        raw.right_children.get(id).copied(),
        raw.split_indices.get(id).copied(),
        raw.split_conditions.get(id).copied(),
        raw.default_left.get(id).copied(),
        raw.loss_changes.get(id).copied(),
        raw.sum_hessian.get(id).copied(),
    )
    else {
        return Ok(None);
    };
    if left == NO_CHILD {
        if !condition.is_finite() {
            return Err(Fault::node(ErrorKind::NotFinite, id, "a leaf is not a finite number"));
        }
        return Ok(Some(Node::Leaf { value: condition, cover }));
    }
    let feature = u32::try_from(index).ok().filter(|feature| (*feature as usize) < num_features);
    let Some(feature) = feature else {
        return Err(Fault::node(
            ErrorKind::FeatureRange,
            id,
            format!("a split tests feature {index} of a model of {num_features}"),
        ));
    };
    let (left, right) = (left.cast_unsigned(), right.cast_unsigned());
    let categorical = raw.split_type.as_ref().and_then(|types| types.get(id)) == Some(&true);
    if categorical {
        let set = set.ok_or_else(|| {
            Fault::node(ErrorKind::CategoryRange, id, "a categorical split has no categories")
        })?;
        return Ok(Some(Node::Categorical {
            feature,
            set,
            default_left,
            left,
            right,
            gain,
            cover,
        }));
    }
    if condition.is_nan() {
        return Err(Fault::node(ErrorKind::NotFinite, id, "a threshold is NaN"));
    }
    Ok(Some(Node::Numerical {
        feature,
        threshold: condition,
        default_left,
        left,
        right,
        gain,
        cover,
    }))
}
