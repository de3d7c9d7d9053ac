//! Symmetric trees: one predicate per level, so that a tile needs no more than these.

use super::MAX_LEVELS;
use super::fill::Filled;
use super::predicates::{Predicate, Sets, predicate_of};
use crate::forest::canonical::{Forest, Tree};
use crate::forest::order::children;

/// Whether all trees are symmetric, and not only because they are too small to be anything else.
pub(super) fn all_are(
    forest: &Forest<'_>,
    sets: &Sets<'_>,
    check_interrupts: &mut dyn FnMut(),
) -> bool {
    let trees = forest.trees();
    trees.iter().any(|tree| tree.depth() > 1)
        && trees.iter().all(|tree| {
            check_interrupts();
            is_symmetric(tree, sets)
        })
}

/// Whether a tree has all leaves at its last level, and one predicate per other level.
fn is_symmetric(tree: &Tree<'_>, sets: &Sets<'_>) -> bool {
    if tree.depth() > MAX_LEVELS {
        return false;
    }
    let mut level = vec![0u32];
    for _ in 0..tree.depth() {
        let mut predicates = level.iter().map(|id| predicate_of(tree, *id, sets));
        let first = predicates.next().flatten();
        if first.is_none() || predicates.any(|predicate| predicate != first) {
            return false;
        }
        level = below(tree, &level);
    }
    true
}

/// The nodes below those of a level, from left to right.
fn below(tree: &Tree<'_>, level: &[u32]) -> Vec<u32> {
    let children = level.iter().filter_map(|id| children(tree, *id));
    children.flat_map(|[right, left]| [left, right]).collect()
}

/// The predicates of the levels of a symmetric tree.
pub(super) fn predicates<'a>(
    tree: &'a Tree<'_>,
    sets: &'a Sets<'_>,
) -> impl Iterator<Item = Predicate> + 'a {
    let left = |id: &u32| children(tree, *id).map(|[_, left]| left);
    std::iter::successors(Some(0), left).map_while(|id| predicate_of(tree, id, sets))
}

/// Fills a tile of so many levels, at least the tree's, and a number of `nodes` that has room for them.
/// `index_of` returns the index of a predicate.
pub(super) fn fill(
    tree: &Tree<'_>,
    levels: u32,
    nodes: usize,
    sets: &Sets<'_>,
    index_of: impl Fn(Predicate) -> u16,
) -> Filled {
    let mut tile = Filled { nodes: vec![0; nodes], ends: Vec::new() };
    for (node, predicate) in tile.nodes.iter_mut().zip(predicates(tree, sets)) {
        *node = index_of(predicate);
    }
    let mut leaves = vec![0u32];
    for _ in 0..tree.depth() {
        leaves = below(tree, &leaves);
    }
    // Levels that the tree does not have are the last, whatever they ask.
    let same = 1usize << levels.saturating_sub(tree.depth());
    tile.ends.extend(leaves.into_iter().flat_map(|leaf| std::iter::repeat_n(leaf, same)));
    tile
}
