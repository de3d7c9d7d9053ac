//! Fills the tile of one tree.

use super::predicates::{Predicate, Sets, predicate_of};
use super::{TILE_LEVELS, node_index, tile_leaves, tile_nodes};
use crate::forest::canonical::{Node, Tree};
use crate::forest::order::children;
use crate::{Result, verified};

/// What is written of a tree into a tile of a given number of levels.
pub(super) struct Filled {
    /// The index of each node's predicate.
    pub(super) nodes: Vec<u16>,
    /// The id of the node at the end of each path: a leaf, or in a deeper tree any.
    pub(super) ends: Vec<u32>,
}

/// Fills a tile of a tree; `index_of` returns the index of a predicate.
pub(super) fn fill(
    tree: &Tree<'_>,
    levels: u32,
    sets: &Sets<'_>,
    mut index_of: impl FnMut(Predicate) -> u16,
) -> Filled {
    let mut tile = Filled { nodes: vec![0; tile_nodes(levels)], ends: vec![0; 1 << levels] };
    let mut open = vec![(0u32, 0u32, 0usize)];
    while let Some((id, level, path)) = open.pop() {
        let predicate = if level < levels { predicate_of(tree, id, sets) } else { None };
        let (Some(predicate), Some([right, left])) = (predicate, children(tree, id)) else {
            // All paths from here on end here.
            let below = levels - level;
            tile.ends[path << below..(path + 1) << below].fill(id);
            continue;
        };
        tile.nodes[node_index(levels, level, path)] = index_of(predicate);
        open.push((left, level + 1, 2 * path));
        open.push((right, level + 1, 2 * path + 1));
    }
    tile
}

impl Filled {
    /// Of a symmetric tree the predicate of each level, and any for those that it does not have.
    pub(super) fn levels(&self, levels: u32) -> impl Iterator<Item = u16> {
        (0..TILE_LEVELS).map(move |level| {
            if level < levels { self.nodes[node_index(levels, level, 0)] } else { 0 }
        })
    }
}

/// Whether a tree fits a tile, has all leaves at its last level, and one predicate per other level.
pub(super) fn is_symmetric(tree: &Tree<'_>, sets: &Sets<'_>) -> bool {
    if tree.depth() > TILE_LEVELS {
        return false;
    }
    let mut level = vec![0u32];
    for _ in 0..tree.depth() {
        let mut predicates = level.iter().map(|id| predicate_of(tree, *id, sets));
        let first = predicates.next().flatten();
        if first.is_none() || predicates.any(|predicate| predicate != first) {
            return false;
        }
        level = level.iter().filter_map(|id| children(tree, *id)).flatten().collect();
    }
    true
}

/// The leaves of a tile that holds all of its tree.
pub(super) fn leaves(tree: &Tree<'_>, levels: u32, tile: &Filled) -> Result<Vec<f64>> {
    let mut leaves = vec![0.0; tile_leaves(levels)];
    for (leaf, id) in leaves.iter_mut().zip(&tile.ends) {
        let value = match tree.nodes()[*id as usize] {
            Node::Leaf { value, .. } => Some(value),
            _ => None,
        };
        *leaf = verified::known(value, "a tile that holds its tree ends at leaves")?;
    }
    Ok(leaves)
}

pub(super) fn levels(tree: &Tree<'_>) -> u32 {
    tree.depth().min(TILE_LEVELS)
}
