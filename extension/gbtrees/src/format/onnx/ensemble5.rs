//! `TreeEnsemble` of ai.onnx.ml 5: separate lists of splits and leaves.
//!
//! `tree_roots` has the first split of each tree; a tree of one leaf is a split with both branches to
//! it. Nodes have no numbers, so they are numbered from the root, parents first.

use std::ops::Range;
use std::rc::Rc;

use crate::ensemble::{Node, Precision, Task, Transform, check_limit, in_tree};
use crate::format::onnx::columns::ColumnTable;
use crate::format::onnx::ensemble::{RawEnsemble, averages, objective};
use crate::format::onnx::proto::{Attributes, element};
use crate::format::onnx::trees::{Grown, LEAF, Mode, OnnxSplit, Weight, tree};
use crate::format::sniff::unsupported;
use crate::memory::{extend, filled, push, try_collect};
use crate::{Error, ErrorKind, Result};

const POST_TRANSFORMS: [&str; 5] = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"];
const AGGREGATES: [&str; 4] = ["AVERAGE", "SUM", "MIN", "MAX"];

pub(super) fn read(
    attributes: &mut Attributes<'_, '_, '_, '_>,
    table: &Rc<ColumnTable>,
) -> Result<RawEnsemble> {
    let precision = table.precision();
    let name = attributes.node.operator;
    let outputs = usize::try_from(attributes.integer("n_targets")?.unwrap_or(0))
        .ok()
        .filter(|outputs| *outputs > 0)
        .ok_or_else(|| attributes.error(ErrorKind::Parameter, "\"n_targets\" is not above 0"))?;
    check_limit(outputs, attributes.limits.outputs, "outputs")?;
    let mut named = |attribute: &str, names: &[&'static str], default: i64| {
        let number = attributes.integer(attribute)?.unwrap_or(default);
        usize::try_from(number).ok().and_then(|index| names.get(index).copied()).ok_or_else(|| {
            let message = format!("\"{attribute}\" has an unknown value");
            attributes.error(ErrorKind::Parameter, message)
        })
    };
    let post = named("post_transform", &POST_TRANSFORMS, 0)?;
    let averages = averages(named("aggregate_function", &AGGREGATES, 1)?)?;
    // The standard numbers SOFTMAX 1 and LOGISTIC 2, ONNX Runtime 1.31 the other way round.
    if post != "NONE" {
        let what = format!("post_transform {post} of a TreeEnsemble");
        return Err(unsupported(&what, "Supported is NONE.").at(attributes.node.place.place()));
    }
    let lists = Lists::read(attributes, precision, outputs)?;
    let mut scored = vec![false; outputs];
    let mut reached = filled(lists.modes.len(), false)?;
    let mut trees = Vec::new();
    for root in &lists.roots {
        let index = trees.len();
        check_limit(index + 1, attributes.limits.trees, "trees")?;
        let mut members = Vec::new();
        let made = lists
            .tree(*root, &mut reached, &mut members)
            .and_then(|(nodes, weights)| tree(nodes, &weights, &mut scored, attributes.limits));
        let parts = made.map_err(|error| in_tree(error, index))?;
        trees.push(Grown { parts, members, table: Rc::clone(table) });
        attributes.checks.check()?;
    }
    let divisor = if averages { trees.len().max(1) as f64 } else { 1.0 };
    let objective = objective(name, Transform::Identity, Task::Regression);
    Ok(RawEnsemble {
        objective,
        trees,
        outputs,
        base: Vec::new(),
        divisor,
        labels: Vec::new(),
        precision,
    })
}

const MEMBERS: &str = "Write it as a chain of BRANCH_EQ, each of which leads on where it fails.";

struct Lists {
    roots: Vec<i64>,
    features: Vec<i64>,
    modes: Vec<Mode>,
    thresholds: Vec<f64>,
    /// The range of each split's numbers in `member_values`.
    members: Vec<Range<usize>>,
    member_values: Vec<f64>,
    missing: Vec<i64>,
    /// Targets of the true and false branches, and whether they are leaves.
    ways: [(Vec<i64>, Vec<i64>); 2],
    targets: Vec<i64>,
    weights: Vec<f64>,
    outputs: usize,
}

impl Lists {
    fn read(
        attributes: &mut Attributes<'_, '_, '_, '_>,
        precision: Precision,
        outputs: usize,
    ) -> Result<Lists> {
        let own = match precision {
            Precision::Single => element::FLOAT,
            Precision::Double => element::DOUBLE,
        };
        let roots = attributes.integers("tree_roots")?;
        let features = attributes.integers("nodes_featureids")?;
        let count = features.len();
        let modes = attributes.tensor("nodes_modes", &[element::UINT8])?;
        let modes = try_collect(modes.into_iter().map(Mode::of_number))?;
        let thresholds = attributes.tensor("nodes_splits", &[own])?;
        let mut missing = attributes.integers("nodes_missing_value_tracks_true")?;
        if missing.is_empty() {
            missing.resize(count, 0);
        }
        let holds =
            (attributes.integers("nodes_truenodeids")?, attributes.integers("nodes_trueleafs")?);
        let fails =
            (attributes.integers("nodes_falsenodeids")?, attributes.integers("nodes_falseleafs")?);
        attributes.check_length("nodes_modes", &modes, count)?;
        attributes.check_length("nodes_splits", &thresholds, count)?;
        for (name, list) in [
            ("nodes_missing_value_tracks_true", &missing),
            ("nodes_truenodeids", &holds.0),
            ("nodes_trueleafs", &holds.1),
            ("nodes_falsenodeids", &fails.0),
            ("nodes_falseleafs", &fails.1),
        ] {
            attributes.check_length(name, list, count)?;
        }
        let targets = attributes.integers("leaf_targetids")?;
        let weights = attributes.tensor("leaf_weights", &[own])?;
        attributes.check_length("leaf_weights", &weights, targets.len())?;
        let ways = [holds, fails];
        let member_values = attributes.tensor("membership_values", &[own])?;
        let members = members(&modes, &member_values)
            .map_err(|error| error.at(attributes.node.place.place()))?;
        Ok(Lists {
            roots,
            features,
            modes,
            thresholds,
            members,
            member_values,
            missing,
            ways,
            targets,
            weights,
            outputs,
        })
    }

    /// Builds the tree from a split. `reached` marks splits of this and earlier trees, so the walk ends
    /// and no split has two parents.
    fn tree(
        &self,
        root: i64,
        reached: &mut [bool],
        members: &mut Vec<Vec<f64>>,
    ) -> Result<(Vec<Node>, Vec<Weight>)> {
        let (mut nodes, mut weights) = (vec![LEAF], Vec::new());
        let mut ahead = vec![(root, 0u32)];
        while let Some((split, place)) = ahead.pop() {
            let index = usize::try_from(split).unwrap_or(usize::MAX);
            match reached.get_mut(index) {
                Some(reached @ false) => *reached = true,
                Some(_) => return shape("more than one split or root leads to a split"),
                None => return shape("a split or root leads to no split"),
            }
            let first = nodes.len() as u32;
            extend(&mut nodes, [LEAF, LEAF])?;
            if let Some(node) = nodes.get_mut(place as usize) {
                *node = self.split(index, first, members)?;
            }
            // Reversed, so that the branch with the lower numbers is popped first.
            for (way, child) in self.ways.iter().zip([first, first + 1]).rev() {
                match (way.0.get(index), way.1.get(index)) {
                    (Some(&to), Some(0)) => ahead.push((to, child)),
                    (Some(&to), Some(_)) => push(&mut weights, self.weight(to, child)?)?,
                    _ => return shape("a split is incomplete"),
                }
            }
        }
        Ok((nodes, weights))
    }

    fn split(&self, index: usize, first: u32, numbers: &mut Vec<Vec<f64>>) -> Result<Node> {
        let (Some(&mode), Some(&feature), Some(&threshold), Some(&missing), Some(members)) = (
            self.modes.get(index),
            self.features.get(index),
            self.thresholds.get(index),
            self.missing.get(index),
            self.members.get(index),
        ) else {
            bail!(Length, "a split is incomplete");
        };
        let members = self.member_values.get(members.clone()).unwrap_or_default();
        let (missing_is_true, holds, fails) = (missing != 0, first, first + 1);
        OnnxSplit { mode, feature, threshold, members, missing_is_true, holds, fails }.node(numbers)
    }

    fn weight(&self, index: i64, leaf: u32) -> Result<Weight> {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let (Some(&target), Some(&value)) = (self.targets.get(index), self.weights.get(index))
        else {
            return shape("a split leads to no leaf");
        };
        match u32::try_from(target) {
            Ok(output) if (output as usize) < self.outputs => Ok(Weight { leaf, output, value }),
            _ => {
                let message =
                    format!("a leaf adds to output {target} of a model of {}", self.outputs);
                Err(Error::new(ErrorKind::OutputRange, message))
            }
        }
    }
}

/// Returns the range of each BRANCH_MEMBER's numbers; a NaN ends one.
fn members(modes: &[Mode], member_values: &[f64]) -> Result<Vec<Range<usize>>> {
    let mut lists = member_values.split(|number| number.is_nan());
    let (mut ranges, mut start) = (Vec::new(), 0);
    ranges.try_reserve_exact(modes.len())?;
    for mode in modes {
        if *mode != Mode::Member {
            ranges.push(0..0);
            continue;
        }
        let count = lists.next().map_or(0, <[f64]>::len);
        if count == 0 {
            bail!(Length, "\"membership_values\" has no numbers for a split");
        }
        let numbers = member_values.get(start..start + count).unwrap_or_default();
        // ONNX Runtime 1.31.1 handles other sets differently, and takes one of several for another.
        if count > 30 || !numbers.iter().all(|number| (0.0..=30.0).contains(number)) {
            let what = "a BRANCH_MEMBER of more than 30 numbers, or of others than 0 to 30";
            return Err(unsupported(what, MEMBERS));
        }
        ranges.push(start..start + count);
        start += count + 1;
    }
    Ok(ranges)
}

fn shape<T>(message: &str) -> Result<T> {
    Err(Error::new(ErrorKind::TreeShape, message))
}
