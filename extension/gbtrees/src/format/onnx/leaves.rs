//! Numbers that depend only on the leaf that a row reaches in a tree.
//!
//! skl2onnx writes an isolation forest as a graph: each tree yields a leaf's index, tables give the
//! depth and training rows of the leaf, and about thirty arithmetic nodes compute a path length. All of
//! it is evaluated per leaf on reading, in f32 as in ONNX Runtime; the sum over the trees is then that
//! of an ensemble.

use std::rc::Rc;

use crate::ensemble::{Node, Precision, Task, Transform};
use crate::format::onnx::ensemble::RawEnsemble;
use crate::format::onnx::graph_value::{GraphValue, Leaves};
use crate::format::onnx::proto::{Attributes, NodeProto, element};
use crate::{ErrorKind, Result};

impl Leaves {
    /// Returns the leaves of a one-tree ensemble with a single f32 sum; `None` for others.
    pub(super) fn of(tree: usize, ensemble: &RawEnsemble) -> Option<Leaves> {
        let plain = ensemble.precision == Precision::Single
            && ensemble.objective.transform == Transform::Identity
            && ensemble.objective.task == Task::Regression
            && (ensemble.outputs, ensemble.divisor, ensemble.base.len()) == (1, 1.0, 0);
        let [grown] = ensemble.trees.as_slice() else { return None };
        let values = grown.parts.nodes.iter().filter_map(|node| match node {
            Node::Leaf { value, .. } => Some(*value as f32),
            _ => None,
        });
        let values = Rc::new(values.collect());
        plain.then_some(Leaves { tree, element: element::FLOAT, values })
    }

    fn with(&self, element: i64, value: impl Fn(f32) -> f32) -> Leaves {
        let values = Rc::new(self.values.iter().map(|old| value(*old)).collect());
        Leaves { tree: self.tree, element, values }
    }

    /// Applies a node; `None` if it is unsupported.
    pub(super) fn computed(
        attributes: &mut Attributes<'_, '_, '_, '_>,
        inputs: &[GraphValue<'_>],
    ) -> Result<Option<Leaves>> {
        let node = attributes.node;
        if node.domain == "ai.onnx.ml" {
            return match (node.operator, inputs) {
                ("LabelEncoder", [GraphValue::Leaves(leaves)]) => leaves.looked_up(attributes),
                _ => Ok(None),
            };
        }
        Ok(match (node.operator, inputs) {
            ("Cast", [GraphValue::Leaves(leaves)]) => {
                let whole = leaves.values.iter().all(|value| value.abs() < 16_777_216.0);
                match attributes.integer("to")? {
                    Some(element::FLOAT) => Some(leaves.with(element::FLOAT, |value| value)),
                    Some(element::INT64) if whole => Some(leaves.with(element::INT64, f32::trunc)),
                    _ => None,
                }
            }
            // Keeps one number per row.
            ("Reshape", [GraphValue::Leaves(leaves), GraphValue::Constant(shape)])
                if [&[-1.0, 1.0][..], &[-1.0]].contains(&shape.numbers.as_slice()) =>
            {
                Some(leaves.clone())
            }
            ("Log", [GraphValue::Leaves(leaves)]) if leaves.element == element::FLOAT => {
                Some(leaves.with(element::FLOAT, f32::ln))
            }
            (_, [a, b]) => of_two(node, a, b),
            _ => None,
        })
    }

    /// LabelEncoder: maps each number to its value.
    fn looked_up(&self, attributes: &mut Attributes<'_, '_, '_, '_>) -> Result<Option<Leaves>> {
        let keys: Vec<f32> = match self.element {
            element::INT64 => {
                attributes.integers("keys_int64s")?.iter().map(|key| *key as f32).collect()
            }
            element::FLOAT => single(attributes.floats("keys_floats")?),
            _ => return Ok(None),
        };
        let values = single(attributes.floats("values_floats")?);
        attributes.check_length("values_floats", &values, keys.len())?;
        let default = attributes.float("default_float")?.unwrap_or(-0.0) as f32;
        // Adding zero turns -0.0 into 0.0.
        let keys = keys.into_iter().map(|key| key + 0.0);
        let mut pairs: Vec<(f32, f32)> = keys.zip(values).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        if pairs.is_empty() || pairs.windows(2).any(|two| matches!(two, [a, b] if a.0 == b.0)) {
            let message = "a LabelEncoder has no keys, or one of them twice";
            return Err(attributes.error(ErrorKind::Parameter, message));
        }
        let value = |key: f32| {
            let found = pairs.binary_search_by(|pair| pair.0.total_cmp(&(key + 0.0)));
            found.ok().and_then(|at| pairs.get(at)).map_or(default, |pair| pair.1)
        };
        Ok(Some(self.with(element::FLOAT, value)))
    }
}

fn single(numbers: Vec<f64>) -> Vec<f32> {
    numbers.into_iter().map(|number| number as f32).collect()
}

/// Applies a node to two numbers per row, one of which may be constant.
fn of_two(node: &NodeProto<'_>, a: &GraphValue<'_>, b: &GraphValue<'_>) -> Option<Leaves> {
    let tree = match (a, b) {
        (GraphValue::Leaves(a), GraphValue::Leaves(b)) if a.tree == b.tree => a,
        (GraphValue::Leaves(leaves), GraphValue::Constant(_))
        | (GraphValue::Constant(_), GraphValue::Leaves(leaves)) => leaves,
        _ => return None,
    };
    let count = tree.values.len();
    let floats = |meaning: &GraphValue<'_>| match meaning {
        GraphValue::Leaves(leaves) if leaves.element == element::FLOAT => {
            Some(leaves.values.as_ref().clone())
        }
        GraphValue::Constant(constant) => match constant.row(element::FLOAT)? {
            [number] => Some(vec![*number as f32; count]),
            _ => None,
        },
        _ => None,
    };
    let (element, operation): (i64, fn(f32, f32) -> f32) = match node.operator {
        "Add" => (element::FLOAT, |a, b| a + b),
        "Sub" => (element::FLOAT, |a, b| a - b),
        "Mul" => (element::FLOAT, |a, b| a * b),
        "Div" => (element::FLOAT, |a, b| a / b),
        "Max" => (element::FLOAT, f32::max),
        "Equal" => (element::BOOL, |a, b| f32::from(u8::from(a == b))),
        "Greater" => (element::BOOL, |a, b| f32::from(u8::from(a > b))),
        _ => return None,
    };
    let (a, b) = (floats(a)?, floats(b)?);
    let values = a.into_iter().zip(b).map(|(a, b)| operation(a, b)).collect();
    Some(Leaves { tree: tree.tree, element, values: Rc::new(values) })
}

/// Builds the ensemble whose sum is that of the trees' numbers; `None` unless every tree occurs once.
pub(super) fn summed(
    ensembles: &mut Vec<RawEnsemble>,
    inputs: &[GraphValue<'_>],
) -> Option<RawEnsemble> {
    let mut taken = vec![false; ensembles.len()];
    let mut leaves = Vec::with_capacity(inputs.len());
    for input in inputs {
        let GraphValue::Leaves(one) = input else { return None };
        if one.element != element::FLOAT || std::mem::replace(taken.get_mut(one.tree)?, true) {
            return None;
        }
        leaves.push(one);
    }
    if leaves.len() != ensembles.len() {
        return None;
    }
    let mut trees = Vec::with_capacity(leaves.len());
    let mut summed: Option<RawEnsemble> = None;
    let mut given: Vec<Option<RawEnsemble>> =
        std::mem::take(ensembles).into_iter().map(Some).collect();
    for one in leaves {
        let mut ensemble = given.get_mut(one.tree)?.take()?;
        let mut grown = ensemble.trees.pop()?;
        let mut values = one.values.iter();
        for node in &mut grown.parts.nodes {
            if let Node::Leaf { value, .. } = node {
                *value = f64::from(*values.next()?);
            }
        }
        trees.push(grown);
        summed = Some(ensemble);
    }
    let mut summed = summed?;
    summed.trees = trees;
    Some(summed)
}
