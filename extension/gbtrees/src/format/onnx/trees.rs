//! Builds one tree for any operator: splits by mode, and leaves by the outputs that they add to.
//!
//! If all leaves add to one output, the tree has that output; otherwise leaves are vectors, padded with
//! zeros. Splits test columns, which `splits` resolves to features.

use std::ops::Range;
use std::rc::Rc;

use crate::ensemble::{Comparison, MissingRule, Node, SplitCondition, Tree, TreeOutput, node_of};
use crate::format::onnx::columns::ColumnTable;
use crate::format::sniff::shown;
use crate::{Error, ErrorKind, Limits, Result};

/// A split's mode, or the mark of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    Equal,
    NotEqual,
    Member,
    Leaf,
}

/// A tree, and the columns that its splits test.
pub(super) struct Grown {
    pub parts: Tree,
    /// The sets of [`SplitCondition::InSet`]: ascending numbers that a split compares with.
    pub members: Vec<Vec<f64>>,
    pub table: Rc<ColumnTable>,
}

impl Mode {
    pub(super) fn of_name(name: &str) -> Result<Mode> {
        match name {
            "BRANCH_LEQ" => Ok(Mode::LessOrEqual),
            "BRANCH_LT" => Ok(Mode::Less),
            "BRANCH_GTE" => Ok(Mode::GreaterOrEqual),
            "BRANCH_GT" => Ok(Mode::Greater),
            "BRANCH_EQ" => Ok(Mode::Equal),
            "BRANCH_NEQ" => Ok(Mode::NotEqual),
            "LEAF" => Ok(Mode::Leaf),
            name => Err(fault!(Parameter, "\"{}\" is no mode of a node", shown(name))),
        }
    }

    /// Returns a split's mode by its number in `TreeEnsemble`.
    pub(super) fn of_number(number: f64) -> Result<Mode> {
        const MODES: [Mode; 7] = [
            Mode::LessOrEqual,
            Mode::Less,
            Mode::GreaterOrEqual,
            Mode::Greater,
            Mode::Equal,
            Mode::NotEqual,
            Mode::Member,
        ];
        let found = MODES.iter().zip(0..).find(|(_, index)| f64::from(*index) == number);
        let message = format!("{number} is no mode of a node");
        found.map(|(mode, _)| *mode).ok_or(Error::new(ErrorKind::Parameter, message))
    }
}

/// A split with ONNX's true and false branches.
pub(super) struct OnnxSplit<'m> {
    pub mode: Mode,
    pub feature: i64,
    pub threshold: f64,
    /// Set for [`Mode::Member`].
    pub members: &'m [f64],
    /// Whether missing values take the true branch.
    pub missing_is_true: bool,
    pub holds: u32,
    pub fails: u32,
}

impl OnnxSplit<'_> {
    /// Builds the node; tests for equality append their numbers to `members`.
    pub(super) fn node(&self, members: &mut Vec<Vec<f64>>) -> Result<Node> {
        let feature = u32::try_from(self.feature)
            .map_err(|_| fault!(FeatureRange, "a split tests no feature"))?;
        // `x > t` is the negation of `x <= t` for all numbers.
        let (comparison, swapped) = match self.mode {
            Mode::LessOrEqual => (Comparison::LessOrEqual, false),
            Mode::Less => (Comparison::Less, false),
            Mode::GreaterOrEqual => (Comparison::Less, true),
            Mode::Greater => (Comparison::LessOrEqual, true),
            Mode::Equal => return Ok(self.asks(feature, vec![self.threshold], members)),
            // NaN is unequal to every number, so it takes the true branch.
            Mode::NotEqual => {
                let (holds, fails) = (self.fails, self.holds);
                let equal = OnnxSplit { holds, fails, missing_is_true: false, ..*self };
                return Ok(equal.asks(feature, vec![self.threshold], members));
            }
            Mode::Member => return Ok(self.asks(feature, self.members.to_vec(), members)),
            Mode::Leaf => return Ok(LEAF),
        };
        let (left, right) =
            if swapped { (self.fails, self.holds) } else { (self.holds, self.fails) };
        let (threshold, missing) = (self.threshold, MissingRule::Nan);
        let condition = SplitCondition::Compare { comparison, threshold, missing };
        Ok(node_of_split(feature, condition, self.missing_is_true != swapped, [left, right]))
    }

    /// Builds a node that sends the given numbers left.
    fn asks(&self, feature: u32, mut numbers: Vec<f64>, members: &mut Vec<Vec<f64>>) -> Node {
        // Adding zero turns -0.0 into 0.0; NaN equals nothing.
        numbers.iter_mut().for_each(|number| *number += 0.0);
        numbers.retain(|number| !number.is_nan());
        numbers.sort_unstable_by(f64::total_cmp);
        numbers.dedup();
        let set = members.len() as u32;
        members.push(numbers);
        let condition = SplitCondition::InSet { set, members_left: true };
        node_of_split(feature, condition, self.missing_is_true, [self.holds, self.fails])
    }
}

/// Builds a split; files have neither gains nor covers.
pub(super) fn node_of_split(
    feature: u32,
    condition: SplitCondition,
    default_left: bool,
    [left, right]: [u32; 2],
) -> Node {
    let (gain, cover) = (0.0, 0.0);
    Node::Split(crate::ensemble::Split {
        feature,
        condition,
        default_left,
        left,
        right,
        gain,
        cover,
    })
}

/// Returns a node's split if it tests membership of a set.
fn membership(node: Option<&Node>) -> Option<&crate::ensemble::Split> {
    let split = node?.split()?;
    matches!(split.condition, SplitCondition::InSet { .. }).then_some(split)
}

/// Merges chains of splits that test one number after another with the same target, as onnxmltools
/// writes sets. No other splits may share a target.
pub(super) fn join_chains(nodes: &mut [Node], members: &mut [Vec<f64>]) {
    let next = |nodes: &[Node], id: usize| {
        let split = membership(nodes.get(id))?;
        let after = split.right as usize;
        let next = membership(nodes.get(after))?;
        ((next.feature, next.left) == (split.feature, split.left) && after != id).then_some(after)
    };
    // Chains are walked from their first splits.
    let mut within = vec![false; nodes.len()];
    for id in 0..nodes.len() {
        if let Some(within) = next(nodes, id).and_then(|after| within.get_mut(after)) {
            *within = true;
        }
    }
    for id in (0..within.len()).filter(|id| within.get(*id) == Some(&false)) {
        let mut numbers = Vec::new();
        while let Some(after) = next(nodes, id) {
            let gone = nodes.get_mut(after).map(|node| std::mem::replace(node, Node::Deleted));
            let Some(Node::Split(gone)) = gone else { break };
            let SplitCondition::InSet { set, .. } = gone.condition else { break };
            numbers.extend(members.get_mut(set as usize).map(std::mem::take).unwrap_or_default());
            if let Some(Node::Split(split)) = nodes.get_mut(id) {
                split.default_left |= gone.default_left;
                split.right = gone.right;
            }
        }
        if let (false, Some(Node::Split(split))) = (numbers.is_empty(), nodes.get(id))
            && let SplitCondition::InSet { set, .. } = split.condition
            && let Some(own) = members.get_mut(set as usize)
        {
            own.append(&mut numbers);
            own.sort_unstable_by(f64::total_cmp);
            own.dedup();
        }
    }
}

/// A leaf without its value yet.
pub(super) const LEAF: Node = Node::Leaf { value: 0.0, cover: 0.0 };

/// A leaf's contribution to an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    /// Position of the leaf among the tree's nodes.
    pub leaf: u32,
    pub output: u32,
    pub value: f64,
}

/// Builds a tree from nodes and weights, whose outputs are all below `scored.len()`. Marks in `scored`
/// the outputs with a weight in every leaf.
pub(super) fn tree(
    mut nodes: Vec<Node>,
    weights: &[Weight],
    scored: &mut [bool],
    limits: &Limits,
) -> Result<Tree> {
    let outputs = scored.len();
    let leaves = nodes.iter().filter(|node| matches!(node, Node::Leaf { .. })).count();
    let first = weights.first().map_or(0, |weight| weight.output);
    let one = weights.iter().all(|weight| weight.output == first);
    let width = if one { 1 } else { outputs };
    let size = leaves.saturating_mul(width);
    crate::ensemble::check_limit(size, limits.nodes, "values in its leaves")?;
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
    Ok(Tree { leaf_vectors, ..Tree::unchecked(nodes, output) })
}
