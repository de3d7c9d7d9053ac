//! Fills the tile of one tree.

use super::predicates::{Predicate, Sets, predicate_of};
use super::{node_index, tile_leaves, tile_nodes};
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

/// The leaves of a tile that holds all of its tree.
pub(super) fn leaves(tree: &Tree<'_>, levels: u32, tile: &Filled) -> Result<Vec<f64>> {
    leaf_values(tree, tile.ends.iter().copied(), tile_leaves(levels))
}

/// The values of leaves by their ids, and zeros up to a length.
pub(super) fn leaf_values(
    tree: &Tree<'_>,
    ids: impl Iterator<Item = u32>,
    length: usize,
) -> Result<Vec<f64>> {
    let mut leaves = vec![0.0; length];
    for (leaf, id) in leaves.iter_mut().zip(ids) {
        let value = match tree.nodes()[id as usize] {
            Node::Leaf { value, .. } => Some(value),
            _ => None,
        };
        *leaf = verified::known(value, "a tile that holds its tree ends at leaves")?;
    }
    Ok(leaves)
}
