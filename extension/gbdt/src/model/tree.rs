//! One tree of a checked model.
//!
//! Node ids are the file's, because `pred_leaf` reports them; ids that a pruned tree no longer uses
//! stay in place as [`Node::Deleted`] and are never reached. Node 0 is the root. Every other node in
//! use is the child of exactly one node, so a walk from the root ends after at most `depth` splits.

/// A set of category codes, as bits: code `c` is bit `c % 32` of word `c / 32`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CategorySet {
    pub(crate) words: Vec<u32>,
}

impl CategorySet {
    /// Whether the code is in the set; codes beyond the last word are not.
    pub fn contains(&self, code: u32) -> bool {
        self.words.get((code / 32) as usize).is_some_and(|word| word >> (code % 32) & 1 == 1)
    }

    /// The words, the lowest codes first.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

/// A node. Children and features are in range; thresholds are not NaN, leaves are finite.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Adds `value` to the margin. `cover` is the sum of hessians that reached it in training.
    Leaf {
        /// What the tree gives.
        value: f32,
        /// Sum of hessians.
        cover: f32,
    },
    /// Goes left if the feature is below the threshold, to the default child if it is missing.
    Numerical {
        /// Index of the feature.
        feature: u32,
        /// Compared as f32: left if and only if `value < threshold`.
        threshold: f32,
        /// Where a missing value goes.
        default_left: bool,
        /// Id of the left child.
        left: u32,
        /// Id of the right child.
        right: u32,
        /// The split's loss change.
        gain: f32,
        /// Sum of hessians.
        cover: f32,
    },
    /// Goes right if the code is in the set, to the default child if it is missing, else left.
    Categorical {
        /// Index of the feature.
        feature: u32,
        /// Index into the tree's category sets.
        set: u32,
        /// Where a missing value goes.
        default_left: bool,
        /// Id of the left child.
        left: u32,
        /// Id of the right child.
        right: u32,
        /// The split's loss change.
        gain: f32,
        /// Sum of hessians.
        cover: f32,
    },
    /// An id that pruning freed.
    Deleted,
}

/// A tree: nodes by id, and the sets that its categorical splits use.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) category_sets: Vec<CategorySet>,
    pub(crate) depth: u32,
}

impl Tree {
    /// The nodes; the index is the id.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The sets that `Node::Categorical` refers to.
    pub fn category_sets(&self) -> &[CategorySet] {
        &self.category_sets
    }

    /// Number of splits on the longest way from the root to a leaf; 0 for a lone leaf.
    pub fn depth(&self) -> u32 {
        self.depth
    }
}
