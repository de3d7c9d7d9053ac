//! Fills the tile of a tree: node by node, or level by level for a symmetric tree.

use crate::Cancel;
use crate::compiled::tiles::{MAX_LEVELS, node_index, tile_leaves, tile_nodes};
use crate::lower::canonical::{Forest, LoweredTree};
use crate::lower::order::children;
use crate::lower::tiles::conditions::{Condition, Sets, condition_of};
use crate::memory::{collect, extend, filled};
use crate::{Result, verified};

/// A filled tile.
pub(crate) struct Filled {
    /// Condition index of each node.
    pub(crate) nodes: Vec<u16>,
    /// Node id at the end of each path: a leaf, or any node in a deeper tree.
    pub(crate) ends: Vec<u32>,
}

/// Fills a tile; `index_of` returns the index of a condition.
pub(crate) fn fill(
    tree: &LoweredTree<'_>,
    levels: u32,
    sets: &Sets<'_>,
    mut index_of: impl FnMut(Condition) -> u16,
) -> Result<Filled> {
    let (nodes, ends) = (filled(tile_nodes(levels), 0)?, filled(1 << levels, 0)?);
    let mut tile = Filled { nodes, ends };
    let mut open = vec![(0u32, 0u32, 0usize)];
    while let Some((id, level, path)) = open.pop() {
        let condition = if level < levels { condition_of(tree, id, sets) } else { None };
        let (Some(condition), Some([right, left])) = (condition, children(tree, id)) else {
            // All further paths end here.
            let below = levels - level;
            tile.ends[path << below..(path + 1) << below].fill(id);
            continue;
        };
        tile.nodes[node_index(levels, level, path)] = index_of(condition);
        open.push((left, level + 1, 2 * path));
        open.push((right, level + 1, 2 * path + 1));
    }
    Ok(tile)
}

/// Returns the leaves of a tile that holds its whole tree.
pub(crate) fn leaves(tree: &LoweredTree<'_>, levels: u32, tile: &Filled) -> Result<Vec<f64>> {
    leaf_values(tree, tile.ends.iter().copied(), tile_leaves(levels))
}

/// Returns the values of leaves by id, padded with zeros.
pub(crate) fn leaf_values(
    tree: &LoweredTree<'_>,
    ids: impl Iterator<Item = u32>,
    length: usize,
) -> Result<Vec<f64>> {
    let mut leaves = filled(length, 0.0)?;
    for (leaf, id) in leaves.iter_mut().zip(ids) {
        let value = tree.leaf_value(id);
        *leaf = verified::known(value, "a tile that holds its tree ends at leaves")?;
    }
    Ok(leaves)
}

/// Returns whether all trees are symmetric, and not just too small to be otherwise.
pub(crate) fn all_symmetric(
    forest: &Forest<'_>,
    sets: &Sets<'_>,
    cancel: Cancel<'_>,
) -> Result<bool> {
    let trees = forest.trees();
    if !trees.iter().any(|tree| tree.depth() > 1) {
        return Ok(false);
    }
    for tree in trees {
        cancel.check()?;
        if !is_symmetric(tree, sets)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether all leaves are at the last level, and each other level has one condition.
fn is_symmetric(tree: &LoweredTree<'_>, sets: &Sets<'_>) -> Result<bool> {
    if tree.depth() > MAX_LEVELS {
        return Ok(false);
    }
    let mut level = vec![0u32];
    for _ in 0..tree.depth() {
        let mut conditions = level.iter().map(|id| condition_of(tree, *id, sets));
        let first = conditions.next().flatten();
        if first.is_none() || conditions.any(|condition| condition != first) {
            return Ok(false);
        }
        level = below(tree, &level)?;
    }
    Ok(true)
}

/// Returns the children of a level's nodes, from left to right.
fn below(tree: &LoweredTree<'_>, level: &[u32]) -> Result<Vec<u32>> {
    let children = level.iter().filter_map(|id| children(tree, *id));
    collect(children.flat_map(|[right, left]| [left, right]))
}

/// Returns the conditions of a symmetric tree's levels.
pub(crate) fn symmetric_conditions<'a>(
    tree: &'a LoweredTree<'_>,
    sets: &'a Sets<'_>,
) -> impl Iterator<Item = Condition> + 'a {
    let left = |id: &u32| children(tree, *id).map(|[_, left]| left);
    std::iter::successors(Some(0), left).map_while(|id| condition_of(tree, id, sets))
}

/// Fills a tile of `levels` levels, at least the tree's, with room for `nodes` nodes. `index_of`
/// returns the index of a condition.
pub(crate) fn fill_symmetric(
    tree: &LoweredTree<'_>,
    levels: u32,
    nodes: usize,
    sets: &Sets<'_>,
    index_of: impl Fn(Condition) -> u16,
) -> Result<Filled> {
    let mut tile = Filled { nodes: filled(nodes, 0)?, ends: Vec::new() };
    for (node, condition) in tile.nodes.iter_mut().zip(symmetric_conditions(tree, sets)) {
        *node = index_of(condition);
    }
    let mut leaves = vec![0u32];
    for _ in 0..tree.depth() {
        leaves = below(tree, &leaves)?;
    }
    // Levels beyond the tree's come last, and may test anything.
    let same = 1usize << levels.saturating_sub(tree.depth());
    extend(&mut tile.ends, leaves.into_iter().flat_map(|leaf| std::iter::repeat_n(leaf, same)))?;
    Ok(tile)
}
