//! Builds the nodes of a tree.
//!
//! A symmetric tree of depth `d` has one split per level; split `i` gives bit `i` of the leaf's index.
//! Nodes are laid out level by level with the highest bit at the root, so that leaves come last, in
//! index order. In other trees splits also come first, then leaves in the order of CatBoost's indices.

use crate::Result;
use crate::ensemble::{Node, Tree, TreeOutput};
use crate::format::catboost::splits::{BinSplit, Dictionaries, RawSplit};
use crate::format::reader::CancelChecks;
use crate::memory::{filled, with_capacity};

pub(super) struct RawTree {
    pub(super) splits: Vec<RawSplit>,
    pub(super) shape: Shape,
    /// Concatenated values of the leaves.
    pub(super) leaves: Vec<f64>,
    /// The training weight of each leaf, or empty.
    pub(super) weights: Vec<f64>,
}

pub(super) enum Shape {
    /// One split per level.
    Symmetric,
    /// The two children of each split; parents come first.
    Any(Vec<[Child; 2]>),
}

/// A split's child: another split or a leaf, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    Split(u32),
    Leaf(u32),
}

/// Depth to which a symmetric tree's leaves can be counted; the model's limit is far below.
const MAX_SYMMETRIC_DEPTH: usize = 30;

impl RawTree {
    /// Returns the number of values per leaf, if they divide evenly.
    pub(super) fn dimensions(&self) -> Option<usize> {
        let leaves = match &self.shape {
            Shape::Symmetric if self.splits.len() > MAX_SYMMETRIC_DEPTH => return None,
            Shape::Symmetric => 1 << self.splits.len(),
            Shape::Any(children) => {
                let leaves = children.iter().flatten().filter_map(|child| match child {
                    Child::Leaf(leaf) => Some(*leaf as usize + 1),
                    Child::Split(_) => None,
                });
                leaves.max().unwrap_or(1)
            }
        };
        let even = self.leaves.len().is_multiple_of(leaves) && !self.leaves.is_empty();
        even.then_some(self.leaves.len() / leaves)
    }
}

/// A split and the node ids of its two children.
struct Inner {
    split: usize,
    below: [u32; 2],
}

impl RawTree {
    /// Returns the splits in order of their ids; leaf `i` has the `i`-th id after them.
    fn inner_nodes(&self, checks: &mut CancelChecks<'_>) -> Result<Vec<Inner>> {
        let mut inner = Vec::new();
        match &self.shape {
            Shape::Symmetric => {
                let depth = self.splits.len();
                inner.try_reserve_exact((1 << depth) - 1)?;
                for level in 0..depth {
                    for id in (1u32 << level) - 1..(2 << level) - 1 {
                        checks.count()?;
                        let below = [2 * id + 1, 2 * id + 2];
                        inner.push(Inner { split: depth - 1 - level, below });
                    }
                }
            }
            Shape::Any(children) => {
                let leaf = children.len() as u32;
                let id_of = |child| match child {
                    Child::Split(split) => split,
                    Child::Leaf(index) => leaf.saturating_add(index),
                };
                inner.try_reserve_exact(children.len())?;
                let all = children.iter().enumerate();
                inner.extend(all.map(|(split, both)| {
                    checks.note();
                    Inner { split, below: both.map(id_of) }
                }));
            }
        }
        Ok(inner)
    }

    /// Builds a tree with `dimensions` values per leaf, as [`RawTree::dimensions`] returned. `splits`
    /// are its tests; category sets are deducted from `words_left`.
    pub(super) fn parts(
        self,
        splits: &[BinSplit],
        dictionaries: &Dictionaries,
        dimensions: usize,
        words_left: &mut usize,
        checks: &mut CancelChecks<'_>,
    ) -> Result<Tree> {
        let inner = self.inner_nodes(checks)?;
        let first_leaf = inner.len();
        let leaves = self.leaves.len() / dimensions;
        let covers = self.covers(&inner, leaves, checks)?;
        let mut category_sets = Vec::new();
        let mut sets = with_capacity(splits.len())?;
        for split in splits {
            checks.count()?;
            sets.push(dictionaries.set_of(split, &mut category_sets, words_left)?);
        }
        let mut nodes = with_capacity(first_leaf + leaves)?;
        for (node, cover) in inner.iter().zip(&covers) {
            checks.count()?;
            let (Some(split), Some(set)) = (splits.get(node.split), sets.get(node.split)) else {
                bail!(Length, "a tree has too few splits");
            };
            nodes.push(split.node(*set, node.below, *cover as f32));
        }
        let mut reached = filled(leaves, first_leaf == 0)?;
        for id in inner.iter().flat_map(|node| node.below) {
            checks.count()?;
            let leaf = (id as usize).checked_sub(first_leaf);
            if let Some(reached) = leaf.and_then(|leaf| reached.get_mut(leaf)) {
                *reached = true;
            }
        }
        let covers = covers.iter().skip(first_leaf);
        for (index, (reached, cover)) in reached.into_iter().zip(covers).enumerate() {
            checks.count()?;
            let cover = *cover as f32;
            nodes.push(match self.leaves.get(index) {
                // CatBoost keeps leaves that nothing leads to.
                _ if !reached => Node::Deleted,
                Some(value) if dimensions == 1 => Node::Leaf { value: *value, cover },
                _ => Node::LeafVector { vector: index as u32, cover },
            });
        }
        let one = dimensions == 1;
        let output = if one { TreeOutput::One(0) } else { TreeOutput::All };
        let leaf_vectors = if one { Vec::new() } else { self.leaves };
        let first_leaf = first_leaf as u32;
        let parts = Tree::unchecked(nodes, output);
        Ok(Tree { category_sets, leaf_vectors, first_leaf, ..parts })
    }

    /// Returns the weight of the rows that reached each node: the sum of the leaves below it.
    fn covers(
        &self,
        inner: &[Inner],
        leaves: usize,
        checks: &mut CancelChecks<'_>,
    ) -> Result<Vec<f64>> {
        let mut covers = filled(inner.len() + leaves, 0.0)?;
        let own = covers.iter_mut().skip(inner.len()).zip(&self.weights);
        own.for_each(|(cover, weight)| *cover = *weight);
        for (id, node) in inner.iter().enumerate().rev() {
            checks.note();
            let below = node.below.iter().filter_map(|id| covers.get(*id as usize));
            let sum = below.sum();
            if let Some(cover) = covers.get_mut(id) {
                *cover = sum;
            }
        }
        Ok(covers)
    }
}
