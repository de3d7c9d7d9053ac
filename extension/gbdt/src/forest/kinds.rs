//! Which nodes a tree takes.
//!
//! Trees with categorical splits have wide nodes, and so have the trees of a short run beside such
//! trees: a walk takes [`LANES`] successive trees of a kind, and lanes without a tree cost as much
//! as others. Other trees have compact nodes where those can hold their links and slots.

use super::canonical::{Forest, Node, Tree};
use super::records::{GroupKind, LANES};
use super::trees::Compiled;
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

/// The kind of a tree of numerical splits alone.
pub(super) fn numerical_kind(nodes: &[Compiled], check_interrupts: &mut dyn FnMut()) -> GroupKind {
    let fits = |number: u32| u16::try_from(number).is_ok();
    let compact = nodes.chunks(NODES_PER_CHECK).all(|part| {
        check_interrupts();
        part.iter().all(|Compiled { node, .. }| fits(node.slot) && fits(node.right_offset))
    });
    if compact { GroupKind::Compact } else { GroupKind::Wide }
}
