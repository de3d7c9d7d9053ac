//! Shares: which part of a split's training rows went left.
//!
//! They come from the covers of the model's file, and weigh the two sides of a split in explanations.
//! Nothing else reads them: they lie at the end of an image, away from what predictions read. Files
//! without covers have zeros in their place (ONNX, the oldest of LightGBM's); an image of such a model has
//! no shares.

use super::canonical::{Forest, Node, Tree};
use crate::model::NODES_PER_CHECK;

/// Whether a number can be a cover: a sum of hessians, of rows or of weights.
fn is_cover(cover: f32) -> bool {
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

/// The share of a split's rows that went to a child.
///
/// XGBoost 3.4.1 takes a half where the parent has no cover, and never less than 1e-12
/// (src/predictor/interpretability/shap.cc): no share is 0, and no weight is lost.
pub(crate) fn share(child: f32, parent: f32) -> f64 {
    if parent <= 0.0 { 0.5 } else { (f64::from(child) / f64::from(parent)).max(1e-12) }
}

/// The share of the left child of a split with these children. The two shares add up to 1, whatever the
/// file says.
pub(super) fn left_share(tree: &Tree<'_>, parent: f32, children: [u32; 2]) -> f64 {
    let [left, right] = children.map(|child| {
        let cover = match tree.nodes().get(child as usize) {
            Some(
                Node::Leaf { cover, .. }
                | Node::Numerical { cover, .. }
                | Node::Categorical { cover, .. },
            ) => *cover,
            Some(Node::Deleted) | None => 0.0,
        };
        share(cover, parent)
    });
    left / (left + right)
}
