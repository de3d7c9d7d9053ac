//! A tree of the checked model.
//!
//! Node ids are the file's, since `predict_leaf` reports them; ids freed by pruning remain as
//! [`Node::Deleted`] and are unreachable. Node 0 is the root, and every other used node is the child of
//! exactly one node, so a walk ends after at most `depth` splits. Splits are as the library defines
//! them: `lower` converts them into the single form of the kernels, `eval::reference` follows them
//! directly.

use std::ops::Range;

use crate::ensemble::LinearLeaf;
use crate::ensemble::categories::CategorySet;

/// The comparison of a numerical split, in f64; the row goes left if it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `value < threshold`: XGBoost.
    Less,
    /// `value <= threshold`: LightGBM, scikit-learn, ONNX's BRANCH_LEQ.
    LessOrEqual,
}

impl Comparison {
    /// Compares two numbers other than NaN; true is left.
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Comparison::Less => value < threshold,
            Comparison::LessOrEqual => value <= threshold,
        }
    }
}

/// The values that a split takes as missing; these go to the default child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingRule {
    /// NaN: XGBoost, and LightGBM's `missing_type` NaN.
    #[default]
    Nan,
    /// NaN and values at most [`MissingRule::ZERO`] from 0: LightGBM's `missing_type` Zero.
    Zero,
    /// None; NaN counts as 0: LightGBM's `missing_type` None.
    None,
}

impl MissingRule {
    /// LightGBM's `kZeroThreshold` (include/LightGBM/meta.h).
    pub const ZERO: f32 = 1e-35;

    /// Returns the value that splits compare, or `None` if it is missing.
    pub fn present(self, value: f64) -> Option<f64> {
        match self {
            MissingRule::Nan => (!value.is_nan()).then_some(value),
            MissingRule::Zero => (value.abs() > f64::from(Self::ZERO)).then_some(value),
            MissingRule::None => Some(if value.is_nan() { 0.0 } else { value }),
        }
    }
}

/// A node. Children, features, sets and leaf vectors are in range, thresholds not NaN, leaves finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// Adds a value, times the tree's weight, or the output of [`Tree::linear_leaf`], to the tree's
    /// output.
    Leaf {
        /// The addend; an f32 value if the model sums in f32.
        value: f64,
        /// Sum of hessians or rows of the training data that reached the leaf.
        cover: f32,
    },
    /// Adds a value to every output.
    LeafVector {
        /// Index into the tree's leaf vectors.
        vector: u32,
        /// As in [`Node::Leaf`].
        cover: f32,
    },
    /// A split.
    Split(Split),
    /// An id freed by pruning.
    Deleted,
}

/// A split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Index of the feature.
    pub feature: u32,
    /// The test.
    pub condition: SplitCondition,
    /// Whether missing values go left.
    pub default_left: bool,
    /// Id of the left child.
    pub left: u32,
    /// Id of the right child.
    pub right: u32,
    /// Loss change.
    pub gain: f32,
    /// As in [`Node::Leaf`].
    pub cover: f32,
}

/// The condition of a split, for values that are not missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SplitCondition {
    /// Goes left if the comparison holds.
    Compare {
        /// The comparison.
        comparison: Comparison,
        /// The threshold.
        threshold: f64,
        /// Missing values.
        missing: MissingRule,
    },
    /// Tests whether the category code is in a set; only NaN is missing.
    InSet {
        /// Index into the tree's category sets.
        set: u32,
        /// Whether members go left; in XGBoost they go right.
        members_left: bool,
    },
}

impl Node {
    /// Returns the split, if the node is one.
    pub fn split(&self) -> Option<&Split> {
        match self {
            Node::Split(split) => Some(split),
            Node::Leaf { .. } | Node::LeafVector { .. } | Node::Deleted => None,
        }
    }

    /// Returns the sum of hessians or rows of the training data that reached the node; 0 for an unused id.
    pub(crate) fn cover(&self) -> f32 {
        match *self {
            Node::Leaf { cover, .. }
            | Node::LeafVector { cover, .. }
            | Node::Split(Split { cover, .. }) => cover,
            Node::Deleted => 0.0,
        }
    }

    /// Returns the left and right child of a split.
    pub fn children(&self) -> Option<[u32; 2]> {
        self.split().map(|split| [split.left, split.right])
    }
}

/// The outputs that a tree adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeOutput {
    /// A single one: leaves are [`Node::Leaf`].
    One(u32),
    /// All: leaves are [`Node::LeafVector`].
    All,
}

impl TreeOutput {
    /// Returns the indices of the outputs in a model with `num_outputs`.
    pub(crate) fn range(self, num_outputs: usize) -> Range<usize> {
        match self {
            TreeOutput::One(output) => output as usize..output as usize + 1,
            TreeOutput::All => 0..num_outputs,
        }
    }
}

/// A tree: nodes by id, and the data that they refer to.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) category_sets: Vec<CategorySet>,
    /// Concatenated vectors; empty if leaves are scalar.
    pub(crate) leaf_vectors: Vec<f64>,
    /// Empty, or one per leaf, whose ids run from `first_leaf` on; then the tree adds to one output with weight 1.
    pub(crate) linear_leaves: Vec<LinearLeaf>,
    pub(crate) output: TreeOutput,
    /// 1 in libraries without weights. Averaging divides the sum instead ([`crate::ensemble::Scaling::divisor`]).
    pub(crate) weight: f32,
    /// The node id of leaf 0 where the library numbers leaves separately, otherwise 0.
    pub(crate) first_leaf: u32,
    /// 0 until the builder has checked the links.
    pub(crate) depth: u32,
}

impl Tree {
    /// Creates a tree for the builder, without sets, vectors, linear models and weights, with leaves numbered like
    /// nodes.
    pub(crate) fn unchecked(nodes: Vec<Node>, output: TreeOutput) -> Tree {
        Tree {
            nodes,
            category_sets: Vec::new(),
            leaf_vectors: Vec::new(),
            linear_leaves: Vec::new(),
            output,
            weight: 1.0,
            first_leaf: 0,
            depth: 0,
        }
    }

    /// Returns the nodes by id.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the sets of [`SplitCondition::InSet`].
    pub fn category_sets(&self) -> &[CategorySet] {
        &self.category_sets
    }

    /// Returns the concatenated leaf vectors of `num_outputs` values.
    pub fn leaf_vectors(&self) -> &[f64] {
        &self.leaf_vectors
    }

    /// Returns the linear model of the leaf `id`, if it has one.
    pub fn linear_leaf(&self, id: u32) -> Option<&LinearLeaf> {
        self.linear_leaves.get(id.checked_sub(self.first_leaf)? as usize)
    }

    /// Returns the outputs that the tree adds to.
    pub fn output(&self) -> TreeOutput {
        self.output
    }

    /// Returns the factor of leaves; products are rounded to the precision of sums before addition.
    pub fn weight(&self) -> f32 {
        self.weight
    }

    /// Returns the difference between a leaf's node id and its number in the library.
    pub fn first_leaf(&self) -> u32 {
        self.first_leaf
    }

    /// Returns a leaf's values by output times the tree's weight, not yet rounded to f32; empty for
    /// other nodes.
    pub(crate) fn leaf_values(&self, id: u32, num_outputs: usize) -> impl Iterator<Item = f64> {
        let (scalar, vector) = match self.nodes.get(id as usize) {
            Some(Node::Leaf { value, .. }) => (Some(*value), None),
            Some(Node::LeafVector { vector, .. }) => {
                (None, self.leaf_vectors.chunks(num_outputs).nth(*vector as usize))
            }
            _ => (None, None),
        };
        let values = scalar.into_iter().chain(vector.unwrap_or_default().iter().copied());
        values.map(|value| value * f64::from(self.weight))
    }

    /// Returns the number of splits on the longest path; 0 for a single leaf.
    pub fn depth(&self) -> u32 {
        self.depth
    }
}

/// Returns the share of a split's rows that went to a child.
///
/// As in XGBoost 3.4.1 (src/predictor/interpretability/shap.cc), it is a half if the parent has no
/// cover, and at least 1e-12: no share is 0, and no weight is lost.
pub(crate) fn cover_share(child: f32, parent: f32) -> f64 {
    if parent <= 0.0 { 0.5 } else { (f64::from(child) / f64::from(parent)).max(1e-12) }
}
