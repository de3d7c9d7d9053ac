//! From a tree as the file has it to nodes.
//!
//! A symmetric tree of depth `d` tests one split per level, and split `i` gives bit `i` of the leaf's
//! index. Its nodes are laid out level by level with the split of the highest bit at the root, so
//! that the leaves come last, in the order of their indices. In other trees the splits come first and
//! the leaves after them, in the order of CatBoost's indices too.

use crate::ensemble::{Node, TreeOutput, TreeParts};
use crate::format::catboost::splits::{Dictionaries, RawSplit, Split};
use crate::format::reader::CancelChecks;
use crate::memory::{filled, with_capacity};
use crate::{Error, ErrorKind, Result};

pub(super) struct RawTree {
    pub(super) splits: Vec<RawSplit>,
    pub(super) shape: Shape,
    /// The values of one leaf after another.
    pub(super) leaves: Vec<f64>,
    /// Nothing, or the weight of each leaf's rows in training.
    pub(super) weights: Vec<f64>,
}

pub(super) enum Shape {
    /// One split per level.
    Symmetric,
    /// The two sides of each split; splits come before those below them.
    Any(Vec<[Child; 2]>),
}

/// What is below a split: another one, or a leaf, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    Split(u32),
    Leaf(u32),
}

/// The deepest symmetric tree whose leaves can be counted; the model's limit is far below.
const MAX_SYMMETRIC_DEPTH: usize = 30;

impl RawTree {
    /// Number of values per leaf, if that comes out even.
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

/// A split of a tree: what it tests, and the ids of the nodes on its two sides.
struct Inner {
    split: usize,
    below: [u32; 2],
}

impl RawTree {
    /// The splits in the order of their ids; leaf `i` has the `i`-th id after them.
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

    /// The nodes of a tree with `dimensions` values per leaf, of which [`RawTree::dimensions`] made
    /// sure. `splits` are what its splits test; the sets of categories are taken off `words_left`.
    pub(super) fn parts(
        self,
        splits: &[Split],
        dictionaries: &Dictionaries,
        dimensions: usize,
        words_left: &mut usize,
        checks: &mut CancelChecks<'_>,
    ) -> Result<TreeParts> {
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
                return Err(Error::new(ErrorKind::Length, "a tree has too few splits"));
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
        let parts = TreeParts::of(nodes, output);
        Ok(TreeParts { category_sets, leaf_vectors, first_leaf, ..parts })
    }

    /// The weight of the rows that reached each node: that of the leaves below it.
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
