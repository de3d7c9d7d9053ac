//! Which trees are walked as trees with categorical splits are.
//!
//! Those that have one, and the trees of a short run beside such trees: a walk takes [`LANES`]
//! successive trees of a kind, and lanes without a tree cost as much as others.

use super::canonical::{Forest, Node, Tree};
use super::records::LANES;
use crate::model::NODES_PER_CHECK;

/// For each tree whether it is walked as trees with categorical splits are.
pub(super) fn walked_as_categorical(
    forest: &Forest<'_>,
    check_interrupts: &mut dyn FnMut(),
) -> Vec<bool> {
    let trees = forest.trees().iter();
    let mut categorical: Vec<bool> =
        trees.map(|tree| has_categorical_split(tree, check_interrupts)).collect();
    if categorical.contains(&true) {
        for run in categorical.chunk_by_mut(|a, b| a == b) {
            if run.len() < LANES {
                run.fill(true);
            }
        }
    }
    categorical
}

fn has_categorical_split(tree: &Tree<'_>, check_interrupts: &mut dyn FnMut()) -> bool {
    tree.nodes().chunks(NODES_PER_CHECK).any(|part| {
        check_interrupts();
        part.iter().any(|node| matches!(node, Node::Categorical { .. }))
    })
}
