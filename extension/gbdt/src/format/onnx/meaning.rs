//! What a value of the graph is, as far as it has been read.
//!
//! The graph's nodes are followed from its inputs to its outputs, and each value gets one of these meanings.
//! Who gives a meaning and who reads it are different files; this one knows none of them.

use std::rc::Rc;

use super::columns::Table;
use super::proto::Tensor;

/// What a value of the graph is.
#[derive(Clone)]
pub(super) enum Meaning<'a> {
    /// Columns, as far as the trees.
    Columns(Rc<Table>),
    Constant(Rc<Tensor<'a>>),
    /// A number per leaf of one of many trees.
    Leaves(Leaves),
    /// What the ensemble and later nodes give: numbers, or those by class names.
    Scores,
    /// What comes of the scores of an isolation forest.
    Tail(Stage),
    /// Classes of rows, as names once they are named.
    Classes,
}

/// One number for each leaf of a tree, in the order of its nodes.
#[derive(Clone, Debug)]
pub(super) struct Leaves {
    /// The index of the tree among those of which this is known.
    pub tree: usize,
    /// FLOAT, INT64 or BOOL; whole numbers are as they are in f32.
    pub element: i64,
    pub values: Rc<Vec<f32>>,
}

/// How far the tail has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The depth, with the other sign.
    Opposite,
    /// 2 to that power.
    Power,
    /// scikit-learn's `score_samples`.
    Score,
    /// Its `decision_function`.
    Decision,
    /// Whether that is below 0; as a number; times -2.
    Outlier,
    OutlierNumber,
    MinusTwo,
}
