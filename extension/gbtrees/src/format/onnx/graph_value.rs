//! Values of the graph, and the last nodes of skl2onnx's isolation forests: from the mean depth of a
//! row a score, that score minus the forest's offset, and class -1 if this is below 0, else 1.

use std::rc::Rc;

use crate::ensemble::{ClassBy, Precision, Task, Transform};
use crate::format::onnx::columns::ColumnTable;
use crate::format::onnx::ensemble::RawEnsemble;
use crate::format::onnx::proto::{NodeProto, Tensor, element};

/// A value of the graph.
#[derive(Clone)]
pub(super) enum GraphValue<'a> {
    /// Columns before the trees.
    Columns(Rc<ColumnTable>),
    Constant(Rc<Tensor<'a>>),
    /// A number per leaf of one of many trees.
    Leaves(Leaves),
    /// Output of the ensemble or later nodes, with or without class names.
    Scores,
    /// A stage of an isolation forest's result.
    Tail(Stage),
    /// Predicted classes, by name if names are known.
    Classes,
}

/// A number for each leaf of a tree, in node order.
#[derive(Clone, Debug)]
pub(super) struct Leaves {
    /// Index of the tree among the single trees.
    pub tree: usize,
    /// FLOAT, INT64 or BOOL; integers are exact in f32.
    pub element: i64,
    pub values: Rc<Vec<f32>>,
}

/// The progress through an isolation forest's last nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The negated depth.
    Negated,
    /// 2 to the power of that.
    Power,
    /// scikit-learn's `score_samples`.
    Score,
    /// Its `decision_function`.
    Decision,
    /// Whether that is below 0, then as an integer, then times -2.
    Outlier,
    OutlierNumber,
    MinusTwo,
}

/// The threshold of class 1 for [`Stage::Decision`]: below any f32 that is not negative.
const NOT_BELOW_ZERO: f64 = -1e-46;

/// Applies a node to the scores of a plain ensemble; `None` if it does not fit the pattern.
pub(super) fn isolation_tail<'a>(
    node: &NodeProto<'a>,
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
            // The pattern may occur once.
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
