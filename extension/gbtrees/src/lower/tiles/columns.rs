//! The columns that evaluate a forest's conditions.

use crate::compiled::records::number_of_key;
use crate::compiled::tiles::{
    ColumnKind, ConditionColumn, MAX_COLUMNS, MAX_RANKS, MAX_TREE, MIN_SEARCH_LEVELS, MIN_SHARING,
    TILE_LEVELS,
};
use crate::limits::to_u32;
use crate::lower::canonical::{Forest, LoweredTree};
use crate::lower::tiles::codes::Boundaries;
use crate::lower::tiles::conditions::{Condition, Sets, condition_of};
use crate::lower::tiles::fill::symmetric_conditions;
use crate::lower::tiles::forms::Form;
use crate::memory::{collect, extend, filled};
use crate::verified::{known, sure};
use crate::{Cancel, Result};

/// Appends the conditions of a tree's tile, unordered and with repetitions.
pub(crate) fn conditions_of(
    tree: &LoweredTree<'_>,
    form: &Form,
    sets: &Sets<'_>,
    into: &mut Vec<Condition>,
) -> Result<()> {
    into.try_reserve(tree.nodes().len().min(1 << TILE_LEVELS))?;
    match form {
        Form::Plain => {}
        Form::Symmetric => {
            into.extend(symmetric_conditions(tree, sets));
            return Ok(());
        }
        Form::Coded(code) => {
            into.try_reserve(tree.nodes().len() + code.ops as usize)?;
            let boundaries = known(Boundaries::of(tree), "a recoded tree has boundaries")?;
            code.nodes(tree, sets, &boundaries, |node| into.extend(node.chain.conditions()));
            return Ok(());
        }
    }
    let mut open = vec![(0u32, 0u32)];
    while let Some((id, level)) = open.pop() {
        let Some(condition) = condition_of(tree, id, sets) else { continue };
        into.push(condition);
        if level + 1 < TILE_LEVELS {
            let children = crate::lower::order::children(tree, id).into_iter().flatten();
            open.extend(children.map(|child| (child, level + 1)));
        }
    }
    Ok(())
}

#[derive(Default)]
pub(crate) struct ConditionColumns {
    pub(crate) records: Vec<ConditionColumn>,
    pub(crate) search_trees: Vec<f32>,
    /// All conditions in order.
    conditions: Vec<Condition>,
    /// Index of each column's first condition.
    starts: Vec<usize>,
    /// Each condition's rank from which on values go right; arbitrary for codes.
    ranks: Vec<u8>,
}

impl ConditionColumns {
    /// Returns the columns of all conditions of a forest; `None` if they exceed [`MAX_COLUMNS`].
    pub(crate) fn of(
        forest: &Forest<'_>,
        forms: &[Form],
        sets: &Sets<'_>,
        cancel: Cancel<'_>,
    ) -> Result<Option<Self>> {
        let mut conditions = Vec::new();
        // Duplicates are removed whenever they may be half of the list.
        let mut dense = 1 << 16;
        for (tree, form) in forest.trees().iter().zip(forms) {
            match form {
                // Chunks compare at all nodes, some of which chains may omit.
                Form::Coded(_) => {
                    let ids = 0..tree.nodes().len() as u32;
                    conditions.try_reserve(ids.len())?;
                    conditions.extend(ids.filter_map(|id| condition_of(tree, id, sets)));
                }
                _ => conditions_of(tree, form, sets, &mut conditions)?,
            }
            cancel.check()?;
            if conditions.len() > 2 * dense {
                sort_dedup(&mut conditions);
                dense = dense.max(conditions.len());
            }
        }
        sort_dedup(&mut conditions);
        let mut columns = ConditionColumns::default();
        let same = |a: &Condition, b: &Condition| a.may_share_column(*b);
        let mut start = 0;
        let mut runs = conditions.chunk_by(same).peekable();
        while let Some(run) = runs.next() {
            if let Some(other) = runs.next_if(|other| has_both_directions(run, other)) {
                columns.add_both(run, other, start)?;
                start += run.len() + other.len();
                continue;
            }
            let codes = run.first().is_some_and(|first| first.tests_codes());
            let max = if codes { run.len() } else { MAX_RANKS };
            let min_levels = if run.len() > (MIN_SHARING - 1) * MAX_RANKS {
                MAX_TREE.ilog2()
            } else {
                MIN_SEARCH_LEVELS
            };
            for part in run.chunks(max) {
                columns.add(part, start, sets, min_levels)?;
                start += part.len();
            }
            if columns.records.len() > MAX_COLUMNS {
                return Ok(None);
            }
        }
        columns.conditions = conditions;
        Ok(Some(columns))
    }

    fn add(
        &mut self,
        conditions: &[Condition],
        start: usize,
        sets: &Sets<'_>,
        min_levels: u32,
    ) -> Result<()> {
        let Some(first) = conditions.first() else { return Ok(()) };
        let kind = match (first.tests_codes(), first.missing_right()) {
            (true, _) if conditions.iter().all(|condition| sets.fits_table(*condition)) => {
                ColumnKind::Codes
            }
            (true, _) => ColumnKind::LargeCodes,
            (false, true) => ColumnKind::RankedMissingRight,
            (false, false) => ColumnKind::RankedMissingLeft,
        };
        let ranked = kind.is_ranked();
        let tree = if ranked { to_u32(self.search_trees.len())? } else { 0 };
        let levels = if ranked { search_levels(conditions.len()).max(min_levels) } else { 0 };
        if ranked {
            let thresholds = conditions.iter().map(|condition| condition.threshold());
            extend(&mut self.search_trees, search_tree(&collect(thresholds)?, levels)?)?;
        }
        self.records.push(ConditionColumn { feature: first.feature, kind, tree, levels });
        self.starts.push(start);
        // More than 255 are conditions on codes, which have no ranks.
        let ranks = (1..=conditions.len()).map(|rank| u8::try_from(rank).unwrap_or(u8::MAX));
        extend(&mut self.ranks, ranks)?;
        Ok(())
    }

    /// Adds the two columns of a feature's thresholds that send missing values left and right, with one
    /// search tree for all.
    fn add_both(&mut self, left: &[Condition], right: &[Condition], start: usize) -> Result<()> {
        let (feature, thresholds) = (left[0].feature, thresholds_of(left, right));
        let tree = to_u32(self.search_trees.len())?;
        let levels = search_levels(thresholds.len()).max(MIN_SEARCH_LEVELS);
        let numbers = collect(thresholds.iter().map(|key| number_of_key(*key)))?;
        extend(&mut self.search_trees, search_tree(&numbers, levels)?)?;
        let kinds = [ColumnKind::RankedMissingLeft, ColumnKind::RankedMissingRight];
        for ((conditions, kind), start) in
            [left, right].into_iter().zip(kinds).zip([start, start + left.len()])
        {
            self.records.push(ConditionColumn { feature, kind, tree, levels });
            self.starts.push(start);
            let rank = |condition: &Condition| {
                thresholds.partition_point(|key| *key <= condition.threshold_key_or_set) as u8
            };
            extend(&mut self.ranks, conditions.iter().map(rank))?;
        }
        Ok(())
    }

    /// Returns the column of a condition, and the rank from which on values go right.
    pub(crate) fn find(&self, condition: Condition) -> (usize, u8) {
        let index = self.conditions.binary_search(&condition).ok();
        let index = sure(index, "a forest's columns have its conditions");
        let column = self.starts.partition_point(|start| *start <= index) - 1;
        (column, self.ranks[index])
    }
}

/// Returns whether these are a feature's thresholds for both directions of missing values, few enough
/// for one search tree.
fn has_both_directions(left: &[Condition], right: &[Condition]) -> bool {
    let ranked = !left[0].tests_codes() && !right[0].tests_codes();
    ranked && left[0].feature == right[0].feature && thresholds_of(left, right).len() <= MAX_RANKS
}

/// Returns the keys of thresholds, in order.
fn thresholds_of(left: &[Condition], right: &[Condition]) -> Vec<u32> {
    let both = left.iter().chain(right).map(|condition| condition.threshold_key_or_set);
    let mut thresholds: Vec<u32> = both.collect();
    thresholds.sort_unstable();
    thresholds.dedup();
    thresholds
}

fn sort_dedup(conditions: &mut Vec<Condition>) {
    conditions.sort_unstable();
    conditions.dedup();
}

/// Returns the levels of the search tree of `thresholds` thresholds.
fn search_levels(thresholds: usize) -> u32 {
    usize::BITS - thresholds.leading_zeros()
}

/// Returns the thresholds as a perfect search tree in Eytzinger layout (level by level, root at 1),
/// padded with infinity.
pub(crate) fn search_tree(thresholds: &[f32], levels: u32) -> Result<Vec<f32>> {
    let mut tree = filled(1 << levels, f32::INFINITY)?;
    for level in 0..levels {
        let step = 1usize << (levels - level);
        for path in 0..1usize << level {
            if let Some(threshold) = thresholds.get(path * step + step / 2 - 1) {
                tree[(1 << level) + path] = *threshold;
            }
        }
    }
    Ok(tree)
}
