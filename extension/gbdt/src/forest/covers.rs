//! Covers: how much of the training data reached each node.
//!
//! They weigh the two sides of a split in explanations, and nothing else reads them: they lie at the end
//! of an image, away from what predictions read. Files without covers have zeros in their place
//! (ONNX, the oldest of LightGBM's); an image of such a model has none.

use super::canonical::{Forest, Node};
use crate::model::NODES_PER_CHECK;

/// Whether a number can be a cover: a sum of hessians, of rows or of weights.
pub(super) fn is_cover(cover: f32) -> bool {
    cover.is_finite() && cover >= 0.0
}

/// Whether all nodes have covers. Zeros alone are none, unless there is no split that they would weigh.
pub(super) fn has_covers(forest: &Forest<'_>, check_interrupts: &mut dyn FnMut()) -> bool {
    let (mut has_splits, mut has_weight) = (false, false);
    for tree in forest.trees() {
        for nodes in tree.nodes().chunks(NODES_PER_CHECK) {
            check_interrupts();
            for node in nodes {
                let cover = match *node {
                    Node::Numerical { cover, .. } | Node::Categorical { cover, .. } => {
                        has_splits = true;
                        has_weight |= cover > 0.0;
                        cover
                    }
                    Node::Leaf { cover, .. } => cover,
                    Node::Deleted => 0.0,
                };
                if !is_cover(cover) {
                    return false;
                }
            }
        }
    }
    has_weight || !has_splits
}
