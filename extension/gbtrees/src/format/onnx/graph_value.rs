//! What the values of the graph are, and what becomes of the scores of an isolation forest as skl2onnx writes
//! it: of the mean depth of a row over all trees a score, that score less the forest's offset, and below 0
//! the class -1, else 1.

use std::rc::Rc;

use crate::ensemble::{ClassBy, Precision, Task, Transform};
use crate::format::onnx::columns::Table;
use crate::format::onnx::ensemble::RawEnsemble;
use crate::format::onnx::proto::{Node, Tensor, element};

/// What a value of the graph is.
#[derive(Clone)]
pub(super) enum GraphValue<'a> {
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
    Negated,
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

/// Of [`Stage::Decision`], above which the class is 1: any number of f32 that is not below 0.
const NOT_BELOW_ZERO: f64 = -1e-46;

/// What a node makes of the scores of a plain ensemble; nothing if it is no part of such a tail.
pub(super) fn isolation_tail<'a>(
    node: &Node<'a>,
    target: Option<i64>,
    inputs: &[GraphValue<'a>],
    ensemble: &mut RawEnsemble,
) -> Option<GraphValue<'a>> {
    use GraphValue::{Classes, Constant, Scores, Tail};
    let is = |constant: &Tensor<'_>, element: i64, number: f64| {
        constant.row(element).is_some_and(|numbers| numbers == [number])
    };
    let float = element::FLOAT;
    Some(match (node.operator, inputs) {
        ("Neg", [Scores]) => {
            let plain = ensemble.objective.transform == Transform::Identity
                && ensemble.objective.task == Task::Regression
                && ensemble.precision == Precision::Single
                && ensemble.outputs == 1;
            plain.then_some(Tail(Stage::Negated))?
        }
        ("Pow", [Constant(two), Tail(Stage::Negated)]) if is(two, float, 2.0) => Tail(Stage::Power),
        ("Neg", [Tail(Stage::Power)]) => Tail(Stage::Score),
        ("Add", [Tail(Stage::Score), Constant(offset)]) => {
            let [offset] = offset.row(float)? else { return None };
            // The tail occurs once.
            if ensemble.objective.transform == Transform::Isolation {
                return None;
            }
            ensemble.objective.transform = Transform::Isolation;
            ensemble.objective.slope = *offset;
            Tail(Stage::Decision)
        }
        ("Less", [Tail(Stage::Decision), Constant(zero)]) if is(zero, float, 0.0) => {
            Tail(Stage::Outlier)
        }
        ("Cast", [Tail(Stage::Outlier)]) if target == Some(element::INT64) => {
            Tail(Stage::OutlierNumber)
        }
        ("Mul", [Tail(Stage::OutlierNumber), Constant(factor)])
            if is(factor, element::INT64, -2.0) =>
        {
            Tail(Stage::MinusTwo)
        }
        ("Add", [Tail(Stage::MinusTwo), Constant(one)]) if is(one, element::INT64, 1.0) => {
            ensemble.objective.task = Task::Binary;
            ensemble.objective.class_by = ClassBy::Value;
            ensemble.objective.class_threshold = NOT_BELOW_ZERO;
            ensemble.labels = vec!["-1".to_owned(), "1".to_owned()];
            Classes
        }
        _ => return None,
    })
}
