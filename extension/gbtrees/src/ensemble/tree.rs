//! One tree of a checked model, in the words of any library.
//!
//! Node ids are the file's, because `predict_leaf` reports them; ids that a pruned tree no longer
//! uses stay in place as [`Node::Deleted`] and are never reached. Node 0 is the root. Every other
//! node in use is the child of exactly one node, so a walk from the root ends after at most `depth`
//! splits. What a split does with a row is written here as the library defines it: `lower` lowers
//! it to the one form that kernels walk, `eval::reference` follows it as it stands.

use crate::ensemble::LinearLeaf;
use crate::ensemble::categories::CategorySet;

/// How a numerical split compares, in f64; the row goes left where it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `value < threshold`: XGBoost.
    Less,
    /// `value <= threshold`: LightGBM, scikit-learn, ONNX's BRANCH_LEQ.
    LessOrEqual,
}

impl Comparison {
    /// Whether a value goes left. Neither number is NaN.
    pub fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Comparison::Less => value < threshold,
            Comparison::LessOrEqual => value <= threshold,
        }
    }
}

/// Which values are missing to a split; a missing value goes to its default child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingRule {
    /// NaN: XGBoost, and LightGBM's `missing_type` NaN.
    #[default]
    Nan,
    /// NaN and what is at most [`MissingRule::ZERO`] away from 0: LightGBM's `missing_type` Zero.
    Zero,
    /// Nothing; NaN counts as 0: LightGBM's `missing_type` None.
    None,
}

impl MissingRule {
    /// LightGBM's `kZeroThreshold` (include/LightGBM/meta.h).
    pub const ZERO: f32 = 1e-35;

    /// The value that splits see, or nothing if it is missing.
    pub fn present(self, value: f64) -> Option<f64> {
        match self {
            MissingRule::Nan => (!value.is_nan()).then_some(value),
            MissingRule::Zero => (value.abs() > f64::from(Self::ZERO)).then_some(value),
            MissingRule::None => Some(if value.is_nan() { 0.0 } else { value }),
        }
    }
}

/// A node. Children, features, sets and leaf vectors are in range; thresholds are not NaN, leaves
/// are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// Adds a value, times the tree's weight, to the tree's output; or what [`Tree::linear_leaf`] gives.
    Leaf {
        /// What is added; a number of f32 if the model sums in f32.
        value: f64,
        /// Sum of hessians, or of rows, that reached the leaf in training.
        cover: f32,
    },
    /// Adds a value to every output.
    LeafVector {
        /// Index into the tree's leaf vectors.
        vector: u32,
        /// As a leaf's.
        cover: f32,
    },
    /// A split.
    Split(Split),
    /// An id that pruning freed.
    Deleted,
}

/// A split: which child a row goes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Index of the feature.
    pub feature: u32,
    /// What decides.
    pub condition: SplitCondition,
    /// Where a missing value goes.
    pub default_left: bool,
    /// Id of the left child.
    pub left: u32,
    /// Id of the right child.
    pub right: u32,
    /// The split's loss change.
    pub gain: f32,
    /// As a leaf's.
    pub cover: f32,
}

/// The condition of a split, for values that are not missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SplitCondition {
    /// Goes left where the comparison holds.
    Compare {
        /// How the value is compared.
        comparison: Comparison,
        /// What it is compared with.
        threshold: f64,
        /// Which values are missing.
        missing: MissingRule,
    },
    /// Goes by whether the category code is in a set; NaN alone is missing.
    InSet {
        /// Index into the tree's category sets.
        set: u32,
        /// Whether codes in the set go left, and others right; XGBoost has it the other way round.
        members_left: bool,
    },
}

impl Node {
    /// The split that the node is, if it is one.
    pub fn split(&self) -> Option<&Split> {
        match self {
            Node::Split(split) => Some(split),
            Node::Leaf { .. } | Node::LeafVector { .. } | Node::Deleted => None,
        }
    }

    /// The left and the right child of a split.
    pub fn children(&self) -> Option<[u32; 2]> {
        self.split().map(|split| [split.left, split.right])
    }
}

/// Which outputs a tree adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeOutput {
    /// This one: its leaves are [`Node::Leaf`].
    One(u32),
    /// Every one: its leaves are [`Node::LeafVector`].
    All,
}

/// A tree: nodes by id, and what they refer to.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) category_sets: Vec<CategorySet>,
    pub(crate) leaf_vectors: Vec<f64>,
    /// Empty, or one per leaf, of a tree that adds to one output with the weight 1.
    pub(crate) linear_leaves: Vec<LinearLeaf>,
    pub(crate) output: TreeOutput,
    pub(crate) weight: f32,
    pub(crate) first_leaf: u32,
    pub(crate) depth: u32,
}

impl Tree {
    /// The nodes; the index is the id.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The sets that [`SplitCondition::InSet`] refers to.
    pub fn category_sets(&self) -> &[CategorySet] {
        &self.category_sets
    }

    /// Leaf vectors one after another, `num_outputs` values each.
    pub fn leaf_vectors(&self) -> &[f64] {
        &self.leaf_vectors
    }

    /// The linear model of a leaf with this id, if it has one.
    pub fn linear_leaf(&self, id: u32) -> Option<&LinearLeaf> {
        self.linear_leaves.get(id.checked_sub(self.first_leaf)? as usize)
    }

    /// Which outputs the tree adds to.
    pub fn output(&self) -> TreeOutput {
        self.output
    }

    /// The factor of every leaf; the product is rounded to the precision of sums before it is added.
    pub fn weight(&self) -> f32 {
        self.weight
    }

    /// What is taken off a leaf's node id to get the number by which its library calls it.
    pub fn first_leaf(&self) -> u32 {
        self.first_leaf
    }

    /// The values of a leaf, times the tree's weight, in the order of `num_outputs` outputs; none if
    /// the node is no leaf. The products are not rounded to f32 yet.
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

    /// Number of splits on the longest path from the root to a leaf; 0 for a lone leaf.
    pub fn depth(&self) -> u32 {
        self.depth
    }
}
