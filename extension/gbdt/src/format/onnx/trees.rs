//! One tree of an ensemble, whichever operator it comes from: splits by their modes, and leaves by the
//! outputs that they add to.
//!
//! A tree whose leaves all add to one output is that output's; another one has vectors in its leaves,
//! with zeros for what a leaf does not name.

use std::ops::Range;

use crate::format::sniff::{shown, unsupported};
use crate::model::{Comparison, MissingRule, Node, TreeOutput, TreeParts, node_of};
use crate::{Error, ErrorKind, Limits, Result};

/// A split's mode, or that a node is a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    Leaf,
}

const EQUAL: &str =
    "Only splits by order are scored: BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT.";

impl Mode {
    pub fn of_name(name: &str) -> Result<Mode> {
        match name {
            "BRANCH_LEQ" => Ok(Mode::LessOrEqual),
            "BRANCH_LT" => Ok(Mode::Less),
            "BRANCH_GTE" => Ok(Mode::GreaterOrEqual),
            "BRANCH_GT" => Ok(Mode::Greater),
            "LEAF" => Ok(Mode::Leaf),
            "BRANCH_EQ" | "BRANCH_NEQ" | "BRANCH_MEMBER" => {
                Err(unsupported(&format!("a split of mode {name}"), EQUAL))
            }
            name => {
                let message = format!("\"{}\" is no mode of a node", shown(name));
                Err(Error::new(ErrorKind::Parameter, message))
            }
        }
    }

    /// The mode of a split by its number in `TreeEnsemble`.
    pub fn of_number(number: f64) -> Result<Mode> {
        const NAMES: [&str; 7] = [
            "BRANCH_LEQ",
            "BRANCH_LT",
            "BRANCH_GTE",
            "BRANCH_GT",
            "BRANCH_EQ",
            "BRANCH_NEQ",
            "BRANCH_MEMBER",
        ];
        let index = NAMES.iter().zip(0..).find(|(_, index)| f64::from(*index) == number);
        Mode::of_name(index.map_or("of this number", |(name, _)| name))
    }
}

/// A split, in the words of ONNX: where the comparison holds, and where not.
pub(super) struct Split {
    pub mode: Mode,
    pub feature: i64,
    pub threshold: f64,
    /// Whether a missing value goes where the comparison holds.
    pub missing_is_true: bool,
    pub holds: u32,
    pub fails: u32,
}

impl Split {
    pub fn node(&self) -> Result<Node> {
        let feature = u32::try_from(self.feature)
            .map_err(|_| Error::new(ErrorKind::FeatureRange, "a split tests no feature"))?;
        // `x > t` is where `x <= t` fails, for every number.
        let (comparison, swapped) = match self.mode {
            Mode::LessOrEqual => (Comparison::LessOrEqual, false),
            Mode::Less => (Comparison::Less, false),
            Mode::GreaterOrEqual => (Comparison::Less, true),
            Mode::Greater => (Comparison::LessOrEqual, true),
            Mode::Leaf => return Ok(LEAF),
        };
        let (left, right) =
            if swapped { (self.fails, self.holds) } else { (self.holds, self.fails) };
        Ok(Node::Numerical {
            feature,
            comparison,
            threshold: self.threshold,
            missing: MissingRule::Nan,
            default_left: self.missing_is_true != swapped,
            left,
            right,
            gain: 0.0,
            cover: 0.0,
        })
    }
}

/// A leaf, before it has its value.
pub(super) const LEAF: Node = Node::Leaf { value: 0.0, cover: 0.0 };

/// What a leaf adds to an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    /// The leaf's place among the tree's nodes.
    pub leaf: u32,
    pub output: u32,
    pub value: f64,
}

/// Makes a tree of its nodes and weights, of which every output is below `scored.len()`. Marks in
/// `scored` the outputs that every leaf of this tree adds to.
pub(super) fn tree(
    mut nodes: Vec<Node>,
    weights: &[Weight],
    scored: &mut [bool],
    limits: &Limits,
) -> Result<TreeParts> {
    let outputs = scored.len();
    let leaves = nodes.iter().filter(|node| matches!(node, Node::Leaf { .. })).count();
    let first = weights.first().map_or(0, |weight| weight.output);
    let one = weights.iter().all(|weight| weight.output == first);
    let width = if one { 1 } else { outputs };
    let size = leaves.saturating_mul(width);
    crate::model::check_limit(size, limits.nodes, "values in its leaves")?;
    let mut values: Vec<Option<f64>> = vec![None; size];
    let mut order = vec![None; nodes.len()];
    let mut next: Range<u32> = 0..leaves as u32;
    for (node, place) in nodes.iter_mut().zip(&mut order) {
        if matches!(node, Node::Leaf { .. }) {
            *place = next.next();
            if let (false, Some(vector)) = (one, *place) {
                *node = Node::LeafVector { vector, cover: 0.0 };
            }
        }
    }
    for weight in weights {
        let place = order.get(weight.leaf as usize).copied().flatten();
        let column = if one { 0 } else { weight.output as usize };
        let value = place.and_then(|place| values.get_mut(place as usize * width + column));
        let message = match value {
            Some(value @ None) => {
                *value = Some(weight.value);
                continue;
            }
            Some(Some(_)) => "a leaf has two weights for one output",
            None => "a node with a weight is no leaf",
        };
        return Err(Error::new(ErrorKind::Parameter, message).at(node_of(weight.leaf as usize)));
    }
    for column in 0..width {
        let all = values.iter().skip(column).step_by(width).all(Option::is_some);
        let output = if one { first as usize } else { column };
        if let (true, Some(scored)) = (all, scored.get_mut(output)) {
            *scored = true;
        }
    }
    let values: Vec<f64> = values.into_iter().map(|value| value.unwrap_or(0.0)).collect();
    let (output, leaf_vectors) = if one {
        for (node, place) in nodes.iter_mut().zip(&order) {
            if let (Node::Leaf { value, .. }, Some(place)) = (node, place) {
                *value = values.get(*place as usize).copied().unwrap_or(0.0);
            }
        }
        (TreeOutput::One(first), Vec::new())
    } else {
        (TreeOutput::All, values)
    };
    Ok(TreeParts {
        nodes,
        category_sets: Vec::new(),
        leaf_vectors,
        output,
        weight: 1.0,
        first_leaf: 0,
    })
}
