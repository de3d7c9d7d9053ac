//! From splits of columns to splits of the model's features.
//!
//! A split of an ONNX file tests a column, whose values are those of a feature after some steps, and may
//! ask whether they are equal to a number. Here it becomes a split of the feature itself: below the number
//! at which the outcome changes, or, where it changes more than once, by the ranks of the feature's values
//! ([`RawEnsemble::ranks_of`](crate::ensemble::RawEnsemble::ranks_of)). Trees keep their nodes' places.

use crate::ensemble::{
    CategorySet, Comparison, MissingRule, Node, Precision, Split, SplitCondition, TreeParts,
    check_limit, in_tree, node_of,
};
use crate::format::onnx::cells::{Cells, Test};
use crate::format::onnx::columns::{Step, Table};
use crate::format::onnx::trees::{Grown, node_of_split};
use crate::format::reader::CancelChecks;
use crate::{Error, ErrorKind, Limits, Result};

/// Trees whose splits test features.
pub(super) struct Lowered {
    pub trees: Vec<TreeParts>,
    pub value_precision: Precision,
    /// Empty, or one list per feature.
    pub ranks: Vec<Vec<f64>>,
}

/// A split that several numbers decide.
struct Ranked {
    tree: usize,
    node: usize,
    first: bool,
    starts: Vec<f64>,
}

pub(super) fn lowered(
    grown: Vec<Grown>,
    features: usize,
    limits: &Limits,
    checks: &mut CancelChecks<'_>,
) -> Result<Lowered> {
    let ranked =
        grown.iter().any(|tree| !tree.members.is_empty() || tree.table.steps().any(imputes));
    let round = |steps: &[Step]| steps.first() == Some(&Step::Round);
    let single = !ranked && grown.iter().all(|tree| tree.table.steps().all(round));
    let value_precision = if single { Precision::Single } else { Precision::Double };
    let alike: &[Step] = if single { &[Step::Round] } else { &[] };
    let as_they_are = !ranked
        && grown.iter().all(|tree| {
            tree.table.is_input(features) && tree.table.steps().all(|steps| steps == alike)
        });
    if as_they_are {
        let trees = grown.into_iter().map(|tree| tree.parts).collect();
        return Ok(Lowered { trees, value_precision, ranks: Vec::new() });
    }
    let mut several = Vec::new();
    let mut trees = Vec::with_capacity(grown.len());
    for (index, mut tree) in grown.into_iter().enumerate() {
        for (id, node) in tree.parts.nodes.iter_mut().enumerate() {
            checks.count()?;
            let split = split(node, &tree.members, &tree.table, value_precision, checks);
            let split = split.map_err(|error| in_tree(error.at(node_of(id)), index))?;
            if let Some((first, starts)) = split {
                several.push(Ranked { tree: index, node: id, first, starts });
            }
        }
        trees.push(tree.parts);
    }
    let ranks = if several.is_empty() {
        Vec::new()
    } else {
        rank(&mut trees, &several, features, limits, checks)?
    };
    Ok(Lowered { trees, value_precision, ranks })
}

/// Whether a step tells one number from all others.
fn imputes(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Impute { replaced, .. } if !replaced.is_nan()))
}

/// Lets a split test the feature; returns where the outcome changes if it does so more than once.
fn split(
    node: &mut Node,
    members: &[Vec<f64>],
    table: &Table,
    width: Precision,
    checks: &mut CancelChecks<'_>,
) -> Result<Option<(bool, Vec<f64>)>> {
    let Node::Split(split) = &*node else { return Ok(None) };
    let Split { feature: column, condition, default_left, left, right, .. } = *split;
    let (test, (left, right), default_left) = match &condition {
        SplitCondition::Compare { comparison, threshold, .. } => {
            let test = match comparison {
                Comparison::Less => Test::Below(*threshold),
                Comparison::LessOrEqual => Test::AtMost(*threshold),
            };
            if threshold.is_nan() {
                return Err(Error::new(ErrorKind::NotFinite, "a threshold is not a number"));
            }
            (test, (left, right), default_left)
        }
        SplitCondition::InSet { set, members_left } => {
            let members = members.get(*set as usize).map_or(&[][..], Vec::as_slice);
            // From here on what goes left is where the test holds.
            let (ways, default_left) = if *members_left {
                ((left, right), default_left)
            } else {
                ((right, left), !default_left)
            };
            members.iter().for_each(|_| checks.note());
            (Test::In(members), ways, default_left)
        }
    };
    let Some((source, steps)) = table.column(column as usize) else {
        let width = table.width().unwrap_or(0);
        let message = format!("a split tests column {column} of {width}");
        return Err(Error::new(ErrorKind::FeatureRange, message));
    };
    let Cells { first, starts, missing } = Cells::of(&test, steps, width);
    let default_left = missing.unwrap_or(default_left);
    let feature = u32::try_from(source).unwrap_or(u32::MAX);
    if starts.len() > 1 {
        let condition = SplitCondition::InSet { set: 0, members_left: true };
        *node = node_of_split(feature, condition, default_left, [left, right]);
        return Ok(Some((first, starts)));
    }
    let (comparison, threshold) = match starts.as_slice() {
        [start, ..] => (Comparison::Less, *start),
        [] => (Comparison::LessOrEqual, f64::INFINITY),
    };
    let (left, right, default_left) =
        if first { (left, right, default_left) } else { (right, left, !default_left) };
    let missing = MissingRule::Nan;
    let condition = SplitCondition::Compare { comparison, threshold, missing };
    *node = node_of_split(feature, condition, default_left, [left, right]);
    Ok(None)
}

/// The numbers that rank the values of features with such splits, and the sets of ranks of these splits.
fn rank(
    trees: &mut [TreeParts],
    several: &[Ranked],
    features: usize,
    limits: &Limits,
    checks: &mut CancelChecks<'_>,
) -> Result<Vec<Vec<f64>>> {
    let mut ranks = vec![Vec::new(); features];
    let mut numbers = 0usize;
    for split in several {
        numbers = numbers.saturating_add(split.starts.len());
        check_limit(numbers, limits.nodes, "numbers that its splits test")?;
        let node = trees.get(split.tree).and_then(|tree| tree.nodes.get(split.node));
        if let Some(Node::Split(Split { feature, condition: SplitCondition::InSet { .. }, .. })) =
            node
            && let Some(ranks) = ranks.get_mut(*feature as usize)
        {
            ranks.extend_from_slice(&split.starts);
        }
    }
    for node in trees.iter().flat_map(|tree| &tree.nodes) {
        checks.count()?;
        if let Node::Split(Split { feature, condition, .. }) = node
            && let SplitCondition::Compare { comparison: Comparison::Less, threshold, .. } =
                condition
            && let Some(ranks) = ranks.get_mut(*feature as usize)
            && !ranks.is_empty()
        {
            ranks.push(*threshold);
        }
    }
    for ranks in &mut ranks {
        ranks.sort_unstable_by(f64::total_cmp);
        ranks.dedup();
        checks.check()?;
    }
    let mut words_left = limits.set_words();
    for split in several {
        checks.check()?;
        let Some(tree) = trees.get_mut(split.tree) else { continue };
        let Some(Node::Split(Split { feature, condition, .. })) = tree.nodes.get_mut(split.node)
        else {
            continue;
        };
        let SplitCondition::InSet { set, members_left } = condition else { continue };
        let ranks = ranks.get(*feature as usize).map_or(&[][..], Vec::as_slice);
        let (members, holds) = members(split, ranks);
        (*set, *members_left) = (tree.category_sets.len() as u32, holds);
        tree.category_sets.push(CategorySet::new(&members, &mut words_left)?);
    }
    Ok(ranks)
}

/// The ranks for which a split holds, or those for which it does not: the ones that do not go on without
/// end.
fn members(split: &Ranked, ranks: &[f64]) -> (Vec<i32>, bool) {
    let holds_at_the_end = split.first != (split.starts.len() % 2 == 1);
    let place = |start: &f64| ranks.partition_point(|rank| rank < start) + 1;
    // Where the cells begin, as ranks; an even number of them ends with one that goes on.
    let mut starts: Vec<usize> = split.starts.iter().map(place).collect();
    if split.first != holds_at_the_end {
        starts.insert(0, 0);
    }
    let members = starts.as_chunks::<2>().0.iter().flat_map(|[start, end]| *start..*end);
    let members = members.map(|rank| i32::try_from(rank).unwrap_or(i32::MAX));
    (members.collect(), !holds_at_the_end)
}
