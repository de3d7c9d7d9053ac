//! A batch of rows, tree by tree.
//!
//! Rows lie in blocks, whose keys are found by slot. A tree's splits are made once and stay in a cache while
//! the blocks walk it. What a tree contributes is of f32; the sums over trees are of f64.

#![allow(unsafe_code, reason = "sets the keys of rows that have all features")]

use super::contributions::Part;
use super::scratch::ContributionScratch;
use super::splits::{Nodes, Splits, TreeOf, refill};
use super::walk::{Block, Interrupts, MAX_POINTS, Prepared, pair};
use crate::eval::interleaved::NodeSections;
use crate::eval::present_values;
use crate::forest::sections::{GROUPS, OUTPUTS, ROOTS, TREE_SUMMARIES};
use crate::forest::{Image, StableBytes};
use crate::quadrature::exact_points;
use crate::{Result, verified};

impl<B: StableBytes> Image<B> {
    /// Sets the keys of a batch of rows: a block after the other, in which each slot has one key of every
    /// row.
    pub(super) fn set_keys(&self, scratch: &mut ContributionScratch, rows: &[f32]) -> Result<()> {
        let (image, num_features) = (self.sections(), self.num_features());
        let (block, slots) = (scratch.level.rows(), image.num_slots(num_features));
        let blocks = (rows.len() / num_features).div_ceil(block);
        refill(&mut scratch.keys, blocks * slots * block, 0)?;
        let features = present_values(image, rows, &mut scratch.present);
        let of_blocks = scratch.keys.chunks_exact_mut(slots * block);
        for (rows, keys) in features.chunks(block * num_features).zip(of_blocks) {
            for (lane, row) in rows.chunks_exact(num_features).enumerate() {
                // SAFETY: the row has as many features.
                unsafe { scratch.row_keys.set_with_answers(image, num_features, row) };
                let keys = keys.iter_mut().skip(lane).step_by(block);
                keys.zip(scratch.row_keys.as_slice()).for_each(|(key, own)| *key = *own);
            }
        }
        Ok(())
    }

    /// Sums the trees of a part for so many rows, to which the keys were set.
    pub(super) fn add_trees(
        &self,
        scratch: &mut ContributionScratch,
        part: &Part,
        count: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        let (image, num_features) = (self.sections(), self.num_features());
        let block = scratch.level.rows();
        let of_block = part.outputs.len() * part.places.len() * count.min(block);
        refill(&mut scratch.sums, count.div_ceil(block) * of_block, 0.0)?;
        let slots = image.num_slots(num_features);
        let mut interrupts = Interrupts { check: check_interrupts, work: 0 };
        let (roots, outputs) = (image.get(ROOTS), image.get(OUTPUTS));
        let summaries = image.get(TREE_SUMMARIES);
        for group in image.get(GROUPS) {
            let nodes = Nodes::of(image, group);
            let exact = exact_points((group.depth as usize).min(num_features));
            for tree in group.first as usize..(group.first + group.count) as usize {
                let output = outputs[tree] as usize;
                if !part.outputs.contains(&output) {
                    continue;
                }
                let summary = &summaries[tree];
                // More are no better, and a damaged image may say any number.
                let points = (summary.points as usize).min(exact.max(MAX_POINTS));
                let (root, depth) = (roots[tree], group.depth);
                let tree = TreeOf { nodes: &nodes, root, mean: summary.mean, depth };
                let size = Size { slots, lanes: count.min(block), output, points };
                scratch.add_tree(tree, part, size, NodeSections::of(image), &mut interrupts)?;
            }
        }
        Ok(())
    }
}

/// What there is of a tree and its rows.
#[derive(Clone, Copy)]
struct Size {
    slots: usize,
    /// Rows of a block that have sums.
    lanes: usize,
    output: usize,
    points: usize,
}

impl ContributionScratch {
    /// Adds a tree to the sums of every block.
    fn add_tree(
        &mut self,
        tree: TreeOf<'_>,
        part: &Part,
        size: Size,
        nodes: NodeSections<'_>,
        interrupts: &mut Interrupts<'_>,
    ) -> Result<()> {
        let Size { slots, lanes, output, points } = size;
        let ContributionScratch { splits, walks, rules, keys, sums, level, .. } = self;
        let (block, of_output) = (level.rows(), part.places.len() * lanes);
        let first = (output - part.outputs.start) * of_output;
        let of_block = part.outputs.len() * of_output;
        for points in rules.of(points) {
            splits.set(tree, points, part.matrix.is_some(), interrupts.check)?;
            let prepared = Prepared { splits, points, depth: tree.depth as usize };
            let of_blocks = sums.chunks_exact_mut(of_block);
            for (keys, sums) in keys.chunks_exact(slots * block).zip(of_blocks) {
                let rows = Block { keys, nodes };
                let found = match part.matrix {
                    None => walks.sums::<false>(*level, prepared, &rows, interrupts)?,
                    Some(_) => walks.sums::<true>(*level, prepared, &rows, interrupts)?,
                };
                add(part, splits, found.chunks_exact(block), &mut sums[first..first + of_output]);
            }
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
    splits: &Splits,
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
    for (index, feature) in splits.features.iter().enumerate() {
        let feature = *feature as usize;
        match part.matrix {
            None => add(feature),
            Some(_) => {
                let others = splits.features.iter().take(index + 1);
                others.for_each(|other| add(pair(feature, *other as usize)));
            }
        }
    }
}
