//! The tail of an isolation forest, as skl2onnx writes it: of the mean depth of a row over all trees a
//! score, that score less the forest's offset, and below 0 the class -1, else 1.

use super::ensemble::Ensemble;
use super::meaning::{Meaning, Stage};
use super::proto::{Node, Tensor, element};
use crate::model::{ClassBy, Precision, Task, Transform};

/// Of [`Stage::Decision`], above which the class is 1: any number of f32 that is not below 0.
const NOT_BELOW_ZERO: f64 = -1e-46;

/// What a node makes of the scores of a plain ensemble; nothing if it is no part of such a tail.
pub(super) fn tail<'a>(
    node: &Node<'a>,
    target: Option<i64>,
    inputs: &[Meaning<'a>],
    ensemble: &mut Ensemble,
) -> Option<Meaning<'a>> {
    use Meaning::{Classes, Constant, Scores, Tail};
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
            plain.then_some(Tail(Stage::Opposite))?
        }
        ("Pow", [Constant(two), Tail(Stage::Opposite)]) if is(two, float, 2.0) => {
            Tail(Stage::Power)
        }
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
