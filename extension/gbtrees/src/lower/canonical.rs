//! A model's trees in the single form that kernels walk.
//!
//! In this form, a row goes left if its value as f32 is below an f32 threshold, right if its code is in
//! a set, and to the default child if it is NaN; each leaf adds one number to one output. Every rule of
//! an [`Ensemble`] is converted into that, exactly for every value that `cuts` narrows to f32:
//!
//! | rule | becomes |
//! |---|---|
//! | `x < t`, t of f64 | `x < u`, u the smallest f32 that is not below t, or a rank |
//! | `x <= t` | `x < u`, u the smallest f32 above t, or a rank |
//! | `x <= inf` | a code in the empty set, which nothing is |
//! | codes in the set go left | children swapped |
//! | nothing is missing | the default child is the one that 0 goes to |
//! | zeros are missing | the same splits: `eval` reads such zeros as NaN |
//! | a leaf vector | one tree per output, of which `source` is the tree of the model; they share nodes |
//! | a tree's weight | the product, rounded to the precision of sums, in the leaves |
//! | a linear leaf | its value, by whose key `eval` finds the linear model |

use crate::ensemble::{CategorySet, Ensemble, LinearLeaf, MissingRule, NODES_PER_CHECK, Precision};
use crate::lower::cuts::Cuts;
use crate::memory::{collect, push, with_capacity};
use crate::{Cancel, Result, ensemble};

/// The trees in order of summation.
pub(crate) struct Forest<'m> {
    num_features: usize,
    sum_precision: Precision,
    /// Per feature 1 if its zeros are missing; empty if no feature's are.
    zero_missing: Vec<u8>,
    /// The linear leaves of each tree of the model; empty if no tree has any.
    linear_leaves: Vec<&'m [LinearLeaf]>,
    trees: Vec<LoweredTree<'m>>,
}

/// A tree; its node ids are the model's.
pub(crate) struct LoweredTree<'m> {
    pub(crate) nodes: Vec<LoweredNode>,
    /// The words of each set, lowest codes first.
    pub(crate) sets: Vec<&'m [u32]>,
    pub(crate) depth: u32,
    /// The output that it adds to.
    pub(crate) output: u32,
    /// The index of the model's tree that it comes from.
    pub(crate) source: u32,
    pub(crate) first_leaf: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LoweredNode {
    Leaf { value: f64, cover: f32 },
    Split(LoweredSplit),
    Deleted,
}

/// A split for kernels; missing values are NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LoweredSplit {
    pub(crate) feature: u32,
    pub(crate) condition: LoweredCondition,
    pub(crate) default_left: bool,
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) cover: f32,
}

/// The condition of a split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LoweredCondition {
    /// Goes left below a threshold.
    Below(f32),
    /// Goes right if the code is in a set of the tree.
    InSet(u32),
}

impl LoweredNode {
    /// Returns the split, if the node is one.
    pub(crate) fn split(&self) -> Option<&LoweredSplit> {
        match self {
            LoweredNode::Split(split) => Some(split),
            LoweredNode::Leaf { .. } | LoweredNode::Deleted => None,
        }
    }

    /// Returns the sum of hessians of training rows; 0 for unused nodes.
    pub(crate) fn cover(&self) -> f32 {
        match *self {
            LoweredNode::Leaf { cover, .. } | LoweredNode::Split(LoweredSplit { cover, .. }) => {
                cover
            }
            LoweredNode::Deleted => 0.0,
        }
    }
}

impl<'m> Forest<'m> {
    pub(crate) fn of(model: &'m Ensemble, cuts: &Cuts, cancel: Cancel<'_>) -> Result<Self> {
        let (mut trees, mut zero_missing) = (Vec::new(), Vec::new());
        trees.try_reserve(model.trees().len())?;
        for (source, tree) in (0..).zip(model.trees()) {
            for output in tree.output().range(model.num_outputs()) {
                push(&mut trees, LoweredTree::of(model, cuts, tree, output, source, cancel)?)?;
                mark_zero_missing(tree, cuts, model.num_split_features(), &mut zero_missing);
                cancel.check()?;
            }
        }
        let (num_features, sum_precision) = (model.num_split_features(), model.sum_precision());
        let linear_leaves = match model.has_linear_leaves() {
            true => collect(model.trees().iter().map(|tree| tree.linear_leaves.as_slice()))?,
            false => Vec::new(),
        };
        Ok(Forest { num_features, sum_precision, zero_missing, linear_leaves, trees })
    }

    pub(crate) fn num_features(&self) -> usize {
        self.num_features
    }

    /// Returns the precision of sums; leaves have the same.
    pub(crate) fn sum_precision(&self) -> Precision {
        self.sum_precision
    }

    pub(crate) fn zero_missing(&self) -> &[u8] {
        &self.zero_missing
    }

    pub(crate) fn has_linear_leaves(&self) -> bool {
        !self.linear_leaves.is_empty()
    }

    /// Returns the linear model of a leaf by the library's number, if it has one.
    pub(crate) fn linear_leaf(
        &self,
        tree: &LoweredTree<'_>,
        number: u32,
    ) -> Option<&'m LinearLeaf> {
        self.linear_leaves.get(tree.source as usize)?.get(number as usize)
    }

    pub(crate) fn trees(&self) -> &[LoweredTree<'m>] {
        &self.trees
    }

    /// Returns the trees that come from each tree of the model, one per output.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &[LoweredTree<'m>]> {
        self.trees.chunk_by(|a, b| a.source == b.source)
    }

    /// Returns whether some tree of the model has values for several outputs.
    pub(crate) fn has_vectors(&self) -> bool {
        self.trees.last().is_some_and(|last| (last.source as usize) + 1 < self.trees.len())
    }

    /// Returns the steps of a row that walks all trees of the model.
    pub(crate) fn total_depth(&self) -> u64 {
        self.sources().map(|trees| u64::from(trees[0].depth)).sum()
    }
}

impl<'m> LoweredTree<'m> {
    fn of(
        model: &Ensemble,
        cuts: &Cuts,
        tree: &'m ensemble::Tree,
        output: usize,
        source: u32,
        cancel: Cancel<'_>,
    ) -> Result<Self> {
        let mut sets: Vec<&[u32]> = tree.category_sets().iter().map(CategorySet::words).collect();
        let mut nodes = with_capacity(tree.nodes().len())?;
        for (id, node) in tree.nodes().iter().enumerate() {
            if id.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            nodes.push(match *node {
                ensemble::Node::Deleted => LoweredNode::Deleted,
                ensemble::Node::Leaf { cover, .. } | ensemble::Node::LeafVector { cover, .. } => {
                    let value = model.leaf_value(tree, id as u32, output)?;
                    LoweredNode::Leaf { value, cover }
                }
                ensemble::Node::Split(split) => {
                    LoweredNode::Split(split_of(split, cuts, &mut sets))
                }
            });
        }
        let (depth, first_leaf) = (tree.depth(), tree.first_leaf());
        Ok(LoweredTree { nodes, sets, depth, output: output as u32, source, first_leaf })
    }

    pub(crate) fn nodes(&self) -> &[LoweredNode] {
        &self.nodes
    }

    /// Returns the value of a leaf; `None` for another node.
    pub(crate) fn leaf_value(&self, id: u32) -> Option<f64> {
        match self.nodes[id as usize] {
            LoweredNode::Leaf { value, .. } => Some(value),
            LoweredNode::Split(_) | LoweredNode::Deleted => None,
        }
    }

    /// Returns the number of splits on the longest path from the root to a leaf.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }
}

fn mark_zero_missing(
    tree: &ensemble::Tree,
    cuts: &Cuts,
    num_features: usize,
    zero_missing: &mut Vec<u8>,
) {
    for node in tree.nodes() {
        if let ensemble::Node::Split(ensemble::Split { feature, condition, .. }) = node
            && let ensemble::SplitCondition::Compare { missing: MissingRule::Zero, .. } = condition
            && !cuts.hides_zero(*feature as usize)
        {
            zero_missing.resize(num_features, 0);
            zero_missing[*feature as usize] = 1;
        }
    }
}

fn split_of(split: ensemble::Split, cuts: &Cuts, sets: &mut Vec<&[u32]>) -> LoweredSplit {
    let ensemble::Split { feature, condition, default_left, left, right, cover, .. } = split;
    match condition {
        ensemble::SplitCondition::Compare { comparison, threshold, missing } => {
            let default_left = match missing {
                MissingRule::None => comparison.holds(0.0, threshold),
                MissingRule::Nan | MissingRule::Zero => default_left,
            };
            let condition = match cuts.below(feature, comparison, threshold) {
                Some(threshold) => LoweredCondition::Below(threshold),
                None => {
                    sets.push(&[]);
                    LoweredCondition::InSet(sets.len() as u32 - 1)
                }
            };
            LoweredSplit { feature, condition, default_left, left, right, cover }
        }
        ensemble::SplitCondition::InSet { set, members_left } => {
            let (left, right, default_left) = if members_left {
                (right, left, !default_left)
            } else {
                (left, right, default_left)
            };
            let condition = LoweredCondition::InSet(set);
            LoweredSplit { feature, condition, default_left, left, right, cover }
        }
    }
}
