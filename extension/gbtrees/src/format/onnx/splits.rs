//! Rewrites splits of columns as splits of the model's features.
//!
//! A split of an ONNX file tests a column, which is a feature after some steps, by comparison or
//! equality. It becomes a split of the feature itself: a comparison with the number at which the
//! outcome changes, or, if it changes more than once, a set of ranks of the feature's values
//! ([`Ensemble::ranks_of`](crate::ensemble::Ensemble::ranks_of)). An encoder's keys are tried one by
//! one, and the split tests for those with another outcome than the rest; a categorical feature, by
//! their codes. Nodes keep their positions.

use std::collections::BTreeMap;

use crate::ensemble::{
    CategorySet, Comparison, MissingRule, Node, Precision, Split, SplitCondition, Tree,
    check_limit, in_tree, node_of,
};
use crate::format::onnx::cells::{Cells, Test};
use crate::format::onnx::columns::{ColumnTable, Encoder, Step, after};
use crate::format::onnx::inputs::Codes;
use crate::format::onnx::trees::{Grown, node_of_split};
use crate::format::reader::CancelChecks;
use crate::memory::{collect, push, with_capacity};
use crate::{Error, Limits, Result};

/// Trees whose splits test features.
pub(super) struct Lowered {
    pub trees: Vec<Tree>,
    pub value_precision: Precision,
    /// Empty, or one list per feature.
    pub ranks: Vec<Vec<f64>>,
}

/// A split whose outcome changes more than once.
struct Ranked {
    tree: usize,
    node: usize,
    first: bool,
    starts: Vec<f64>,
}

pub(super) fn lowered(
    grown: Vec<Grown>,
    features: usize,
    codes: &BTreeMap<usize, Codes>,
    limits: &Limits,
    checks: &mut CancelChecks<'_>,
) -> Result<Lowered> {
    let is_number = |source: usize| !codes.contains_key(&source);
    let ranked = grown
        .iter()
        .any(|tree| !tree.members.is_empty() || tree.table.steps(is_number).any(changes_often));
    let round = |steps: &[Step]| steps.first() == Some(&Step::Round);
    let single = !ranked && grown.iter().all(|tree| tree.table.steps(is_number).all(round));
    let value_precision = if single { Precision::Single } else { Precision::Double };
    let alike: &[Step] = if single { &[Step::Round] } else { &[] };
    let as_they_are = !ranked
        && codes.is_empty()
        && grown.iter().all(|tree| {
            tree.table.is_input(features) && tree.table.steps(is_number).all(|steps| steps == alike)
        });
    if as_they_are {
        let trees = collect(grown.into_iter().map(|tree| tree.parts))?;
        return Ok(Lowered { trees, value_precision, ranks: Vec::new() });
    }
    let (mut several, mut numbers, mut words_left) = (Vec::new(), 0usize, limits.set_words());
    let mut trees = with_capacity(grown.len())?;
    for (index, Grown { mut parts, members, table }) in grown.into_iter().enumerate() {
        for (id, node) in parts.nodes.iter_mut().enumerate() {
            checks.count()?;
            let at = |error: Error| in_tree(error.at(node_of(id)), index);
            let Node::Split(split) = &*node else { continue };
            let tested = Tested::of(split, &members, &table).map_err(at)?;
            if let Some(codes) = codes.get(&tested.source) {
                let set = parts.category_sets.len() as u32;
                let (split, codes) = tested.of_codes(&codes.values, set, checks);
                *node = split;
                parts.category_sets.push(CategorySet::new(&codes, &mut words_left).map_err(at)?);
                continue;
            }
            let (split, cells) = tested.of_numbers(value_precision, checks);
            *node = split;
            if let Some((first, starts)) = cells {
                numbers = numbers.saturating_add(starts.len());
                check_limit(numbers, limits.nodes, "numbers that its splits test")?;
                push(&mut several, Ranked { tree: index, node: id, first, starts })?;
            }
        }
        trees.push(parts);
    }
    let ranks = if several.is_empty() {
        Vec::new()
    } else {
        rank(&mut trees, &several, features, &mut words_left, checks)?
    };
    Ok(Lowered { trees, value_precision, ranks })
}

/// Returns whether a comparison after these steps may change more than once.
fn changes_often(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Impute { replaced, .. } => !replaced.is_nan(),
        Step::Truncate | Step::Encode(_) => true,
        Step::Round | Step::Arithmetic { .. } => false,
    })
}

/// A split's test of a source value after some steps. Rows go left where it holds.
struct Tested<'t> {
    source: usize,
    steps: &'t [Step],
    test: Test<'t>,
    left: u32,
    right: u32,
    default_left: bool,
}

impl<'t> Tested<'t> {
    fn of(split: &Split, members: &'t [Vec<f64>], table: &'t ColumnTable) -> Result<Tested<'t>> {
        let Split { feature: column, condition, default_left, left, right, .. } = *split;
        let Some((source, steps)) = table.column(column as usize) else {
            let width = table.width().unwrap_or(0);
            bail!(FeatureRange, "a split tests column {column} of {width}");
        };
        Ok(match condition {
            SplitCondition::Compare { threshold, .. } if threshold.is_nan() => {
                bail!(NotFinite, "a threshold is not a number");
            }
            SplitCondition::Compare { comparison, threshold, .. } => {
                let test = match comparison {
                    Comparison::Less => Test::Below(threshold),
                    Comparison::LessOrEqual => Test::AtMost(threshold),
                };
                Tested { source, steps, test, left, right, default_left }
            }
            SplitCondition::InSet { set, members_left } => {
                let members = members.get(set as usize).map_or(&[][..], Vec::as_slice);
                // From here on rows go left where the test holds.
                let (left, right) = if members_left { (left, right) } else { (right, left) };
                let default_left = default_left == members_left;
                Tested { source, steps, test: Test::In(members), left, right, default_left }
            }
        })
    }

    /// Returns the first encoder, and the steps before and after it.
    fn encoder(&self) -> Option<(&'t [Step], &'t Encoder, &'t [Step])> {
        let at = self.steps.iter().position(|step| matches!(step, Step::Encode(_)))?;
        match self.steps.split_at_checked(at)? {
            (before, [Step::Encode(encoder), after @ ..]) => Some((before, encoder, after)),
            _ => None,
        }
    }

    /// Returns whether a row with this value, after all steps, goes left.
    fn goes_left(&self, value: f64) -> bool {
        if value.is_nan() { self.default_left } else { self.test.holds(value) }
    }

    /// Builds the split of a categorical feature, given the values by code. Its set holds the codes
    /// that differ from NULL and unknown values.
    fn of_codes(
        &self,
        values: &[f64],
        set: u32,
        checks: &mut CancelChecks<'_>,
    ) -> (Node, Vec<i32>) {
        let goes_left = |value: f64| self.goes_left(after(self.steps, value));
        let others_left = goes_left(f64::NAN);
        let mut code = |value: f64| {
            checks.note();
            let code = values.binary_search_by(|own| own.total_cmp(&value)).ok()?;
            (goes_left(value) != others_left).then_some(code as i32)
        };
        let codes = match self.steps.first() {
            // Values outside of the encoder's keys behave like NULL.
            Some(Step::Encode(encoder)) => {
                encoder.pairs.iter().filter_map(|(key, _)| code(*key)).collect()
            }
            _ => values.iter().filter_map(|value| code(*value)).collect(),
        };
        let condition = SplitCondition::InSet { set, members_left: !others_left };
        (self.node(condition, others_left, [self.left, self.right]), codes)
    }

    /// Builds the split of a numeric feature; if its outcome changes more than once, also the outcome
    /// for the smallest number, and the changes.
    fn of_numbers(
        &self,
        width: Precision,
        checks: &mut CancelChecks<'_>,
    ) -> (Node, Option<(bool, Vec<f64>)>) {
        let ways = [self.left, self.right];
        let Some((before, encoder, steps)) = self.encoder() else {
            if let Test::In(members) = self.test {
                members.iter().for_each(|_| checks.note());
            }
            let cells = Cells::of(&self.test, self.steps, width);
            return self.of_cells(cells, self.default_left, ways);
        };
        let goes_left = |value: f64| self.goes_left(after(steps, value));
        let others_left = goes_left(encoder.others);
        let differs = |value: f64| goes_left(value) != others_left;
        let keys = encoder.pairs.iter().inspect(|_| checks.note());
        let keys = keys.filter(|(_, value)| differs(*value)).map(|(key, _)| *key);
        let keys: Vec<f64> = keys.collect();
        let cells = Cells::of(&Test::In(&keys), before, width);
        let ways = if others_left { [self.right, self.left] } else { ways };
        self.of_cells(cells, differs(encoder.missing), ways)
    }

    fn of_cells(
        &self,
        cells: Cells,
        default_left: bool,
        [left, right]: [u32; 2],
    ) -> (Node, Option<(bool, Vec<f64>)>) {
        let Cells { first, starts, missing } = cells;
        let default_left = missing.unwrap_or(default_left);
        if starts.len() > 1 {
            let condition = SplitCondition::InSet { set: 0, members_left: true };
            return (self.node(condition, default_left, [left, right]), Some((first, starts)));
        }
        let (comparison, threshold) = match starts.as_slice() {
            [start, ..] => (Comparison::Less, *start),
            [] => (Comparison::LessOrEqual, f64::INFINITY),
        };
        let (ways, default_left) =
            if first { ([left, right], default_left) } else { ([right, left], !default_left) };
        let missing = MissingRule::Nan;
        let condition = SplitCondition::Compare { comparison, threshold, missing };
        (self.node(condition, default_left, ways), None)
    }

    fn node(&self, condition: SplitCondition, default_left: bool, ways: [u32; 2]) -> Node {
        let feature = u32::try_from(self.source).unwrap_or(u32::MAX);
        node_of_split(feature, condition, default_left, ways)
    }
}

/// Returns the numbers that rank features with such splits, and sets the splits' sets of ranks.
fn rank(
    trees: &mut [Tree],
    several: &[Ranked],
    features: usize,
    words_left: &mut usize,
    checks: &mut CancelChecks<'_>,
) -> Result<Vec<Vec<f64>>> {
    let mut ranks = vec![Vec::new(); features];
    for split in several {
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
        tree.category_sets.push(CategorySet::new(&members, words_left)?);
    }
    Ok(ranks)
}

/// Returns a finite set of ranks, and whether the split holds for them or for all others.
fn members(split: &Ranked, ranks: &[f64]) -> (Vec<i32>, bool) {
    let holds_at_the_end = split.first != (split.starts.len() % 2 == 1);
    let place = |start: &f64| ranks.partition_point(|rank| rank < start) + 1;
    // Starts of cells as ranks; of an even number, the last cell is unbounded.
    let mut starts: Vec<usize> = split.starts.iter().map(place).collect();
    if split.first != holds_at_the_end {
        starts.insert(0, 0);
    }
    let members = starts.as_chunks::<2>().0.iter().flat_map(|[start, end]| *start..*end);
    let members = members.map(|rank| i32::try_from(rank).unwrap_or(i32::MAX));
    (members.collect(), !holds_at_the_end)
}
