//! A batch of rows, tree by tree.
//!
//! Rows lie in blocks, whose keys are found by slot. A tree's splits are made once and stay in a cache while
//! the blocks walk it. What a tree contributes is of f32; the sums over trees are of f64.

#![allow(unsafe_code, reason = "sets the keys of rows that have all features")]

use crate::compiled::CompiledModel;
use crate::compiled::aligned::StableBytes;
use crate::compiled::records::SplitRecord;
use crate::compiled::sections::{
    GROUPS, OUTPUTS, SPLIT_FEATURES, SPLITS, Sections, TREE_SUMMARIES,
};
use crate::eval::interleaved::NodeSections;
use crate::eval::present_values;
use crate::explain::ContributionScratch;
use crate::explain::contributions::Part;
use crate::explain::row::Keys;
use crate::explain::walk::{Block, CancelChecks, MAX_POINTS, Prepared, pair};
use crate::limits::refill;
use crate::quadrature::exact_points;
use crate::{Cancel, Result, verified};

/// Fewer rows than these are explained one after another.
const FEW_ROWS: usize = 4;

impl<B: StableBytes> CompiledModel<B> {
    /// Sets the keys of a batch of rows: a block after the other, in which each slot has one key of every
    /// row.
    pub(super) fn set_keys(&self, scratch: &mut ContributionScratch, rows: &[f32]) -> Result<()> {
        let (compiled, num_features) = (self.sections(), self.num_features());
        let (block, slots) = (scratch.level.rows(), compiled.num_slots(num_features));
        let blocks = (rows.len() / num_features).div_ceil(block);
        refill(&mut scratch.keys, blocks * slots * block, 0)?;
        let features = present_values(compiled, rows, &mut scratch.present);
        let of_blocks = scratch.keys.chunks_exact_mut(slots * block);
        for (rows, keys) in features.chunks(block * num_features).zip(of_blocks) {
            for (lane, row) in rows.chunks_exact(num_features).enumerate() {
                // SAFETY: the row has as many features.
                unsafe { scratch.row_keys.set_with_outcomes(compiled, num_features, row) };
                let keys = keys.iter_mut().skip(lane).step_by(block);
                keys.zip(scratch.row_keys.as_slice()).for_each(|(key, own)| *key = *own);
            }
        }
        Ok(())
    }

    /// Sums the trees of a part for rows, to which the keys were set if they are a batch.
    pub(super) fn add_trees(
        &self,
        scratch: &mut ContributionScratch,
        part: &Part,
        rows: &[f32],
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let (compiled, num_features) = (self.sections(), self.num_features());
        let (block, count) = (scratch.level.rows(), rows.len() / num_features);
        let of_block = part.outputs.len() * part.places.len() * count.min(block);
        refill(&mut scratch.sums, count.div_ceil(block) * of_block, 0.0)?;
        let mut checks = CancelChecks { cancel, work: 0, stops: false };
        if scratch.takes_rows_alone(part.matrix.is_none(), count) {
            let mut present = std::mem::take(&mut scratch.present);
            for (lane, row) in
                present_values(compiled, rows, &mut present).chunks_exact(num_features).enumerate()
            {
                // SAFETY: the row has as many features.
                unsafe { scratch.row_keys.set_with_outcomes(compiled, num_features, row) };
                each_tree(compiled, part, |tree| {
                    scratch.add_tree_of_row(compiled, part, tree, (lane, count), &mut checks)
                })?;
            }
            scratch.present = present;
            return Ok(());
        }
        let slots = compiled.num_slots(num_features);
        each_tree(compiled, part, |tree| {
            scratch.add_tree(compiled, part, tree, (slots, count), &mut checks)
        })
    }
}

/// A tree that has splits.
#[derive(Clone, Copy)]
struct Tree<'a> {
    splits: &'a [SplitRecord],
    features: &'a [u32],
    output: usize,
    points: usize,
    depth: usize,
}

/// Calls `add` with the trees of a part, in order.
fn each_tree<'a>(
    compiled: Sections<'a>,
    part: &Part,
    mut add: impl FnMut(Tree<'a>) -> Result<()>,
) -> Result<()> {
    let (summaries, outputs) = (compiled.get(TREE_SUMMARIES), compiled.get(OUTPUTS));
    let (splits, features) = (compiled.get(SPLITS), compiled.get(SPLIT_FEATURES));
    for group in compiled.get(GROUPS) {
        for tree in group.first as usize..(group.first + group.count) as usize {
            let (summary, output) = (&summaries[tree], outputs[tree] as usize);
            if !part.outputs.contains(&output) || summary.splits == 0 {
                continue;
            }
            let splits = &splits[summary.first_split as usize..][..summary.splits as usize];
            let features = &features[summary.first_feature as usize..][..summary.features as usize];
            let depth = group.depth as usize;
            // More are no better, and a damaged compiled model may say any number.
            let exact = exact_points(depth.min(features.len()));
            let points = (summary.points as usize).min(exact.max(MAX_POINTS));
            add(Tree { splits, features, output, points, depth })?;
        }
    }
    Ok(())
}

impl ContributionScratch {
    /// Whether contributions of so many rows take less time one after another: blocks are mostly empty.
    pub(super) fn takes_rows_alone(&self, is_contributions: bool, rows: usize) -> bool {
        is_contributions && rows < FEW_ROWS
    }

    /// Adds a tree to the sums of every block.
    fn add_tree(
        &mut self,
        compiled: Sections<'_>,
        part: &Part,
        tree: Tree<'_>,
        (slots, count): (usize, usize),
        checks: &mut CancelChecks<'_>,
    ) -> Result<()> {
        let ContributionScratch { numbers, walks, rules, keys, sums, level, .. } = self;
        let (block, Tree { splits, depth, .. }) = (level.rows(), tree);
        let of_output = part.places.len() * count.min(block);
        let first = (tree.output - part.outputs.start) * of_output;
        let of_block = part.outputs.len() * of_output;
        for points in rules.of(tree.points) {
            numbers.set(splits, points, part.matrix.is_some(), checks.cancel)?;
            let features = tree.features.len();
            let prepared = Prepared { splits, features, numbers, points, depth };
            let of_blocks = sums.chunks_exact_mut(of_block);
            for (keys, sums) in keys.chunks_exact(slots * block).zip(of_blocks) {
                let rows = Block { keys, nodes: NodeSections::of(compiled) };
                let found = match part.matrix {
                    None => walks.sums::<false>(*level, prepared, &rows, checks)?,
                    Some(_) => walks.sums::<true>(*level, prepared, &rows, checks)?,
                };
                let sums = &mut sums[first..first + of_output];
                add(part, tree.features, found.chunks_exact(block), sums);
            }
        }
        Ok(())
    }

    /// Adds a tree to the sums of one of a few rows, to which the keys were set.
    fn add_tree_of_row(
        &mut self,
        compiled: Sections<'_>,
        part: &Part,
        tree: Tree<'_>,
        (lane, lanes): (usize, usize),
        checks: &mut CancelChecks<'_>,
    ) -> Result<()> {
        let ContributionScratch { rows, rules, row_keys, sums, .. } = self;
        let keys = Keys { keys: row_keys.as_slice(), nodes: NodeSections::of(compiled) };
        let first = (tree.output - part.outputs.start) * part.places.len();
        for points in rules.of(tree.points) {
            let found = rows.sums(tree.splits, tree.features.len(), points, keys)?;
            for (feature, found) in tree.features.iter().zip(found) {
                sums[(first + *feature as usize) * lanes + lane] += f64::from(*found);
            }
            checks.count(points.points.len() * tree.splits.len());
        }
        Ok(())
    }

    /// The sums of a row of so many, and of an output of the part.
    pub(super) fn sums_of(
        &self,
        part: &Part,
        count: usize,
        row: usize,
        output: usize,
    ) -> impl Iterator<Item = f64> {
        let (block, outputs) = (self.level.rows(), part.outputs.len());
        let lanes = count.min(block);
        let own = row / block * outputs + (output - part.outputs.start);
        let first = own * part.places.len() * lanes + row % block;
        self.sums[first..].iter().copied().step_by(lanes).take(part.places.len())
    }
}

/// Adds what a tree contributes to a block of rows, by its features or pairs of them, to the sums by those
/// of the model that the part has.
fn add<'a>(
    part: &Part,
    features: &[u32],
    mut found: impl Iterator<Item = &'a [f32]>,
    sums: &mut [f64],
) {
    let lanes = sums.len() / part.places.len();
    let mut add = |place: usize| {
        let found = verified::sure(found.next(), "a walk has all sums");
        if part.places.contains(&place) {
            let own = &mut sums[(place - part.places.start) * lanes..][..lanes];
            own.iter_mut().zip(found).for_each(|(sum, found)| *sum += f64::from(*found));
        }
    };
    for (index, feature) in features.iter().enumerate() {
        let feature = *feature as usize;
        match part.matrix {
            None => add(feature),
            Some(_) => {
                let others = features.iter().take(index + 1);
                others.for_each(|other| add(pair(feature, *other as usize)));
            }
        }
    }
}
