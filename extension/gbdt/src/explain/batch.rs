//! A batch of rows, tree by tree.
//!
//! Rows lie in blocks, whose keys are found by slot. A tree's splits are made once and stay in a cache while
//! the blocks walk it. What a tree contributes is of f32; the sums over trees are of f64.

use std::ops::Range;

use super::contributions::Of;
use super::scratch::ContributionScratch;
use super::splits::{Nodes, Splits, TreeOf, refill};
use super::walk::{Block, Interrupts, MAX_POINTS, Prepared, pair};
use crate::Result;
use crate::eval::interleaved::NodeSections;
use crate::eval::present_values;
use crate::forest::sections::{GROUPS, OUTPUTS, ROOTS, TREE_SUMMARIES};
use crate::forest::{Image, StableBytes};
use crate::quadrature::exact_points;

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
                scratch.row_keys.set_with_answers(image, num_features, row);
                let keys = keys.iter_mut().skip(lane).step_by(block);
                keys.zip(scratch.row_keys.as_slice()).for_each(|(key, own)| *key = *own);
            }
        }
        Ok(())
    }

    /// Sums the trees of some outputs for so many rows, to which the keys were set.
    pub(super) fn add_trees(
        &self,
        scratch: &mut ContributionScratch,
        of: Of,
        count: usize,
        outputs: Range<usize>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        let (image, num_features) = (self.sections(), self.num_features());
        let block = scratch.level.rows();
        let of_output = of.places(num_features) * block;
        let of_block = outputs.len() * of_output;
        refill(&mut scratch.sums, count.div_ceil(block) * of_block, 0.0)?;
        let size = Size { of, block, of_output, of_block, slots: image.num_slots(num_features) };
        let mut work = 0;
        let summaries = image.get(TREE_SUMMARIES);
        for group in image.get(GROUPS) {
            let nodes = Nodes::of(image, group);
            let exact = exact_points((group.depth as usize).min(num_features));
            let trees = group.first as usize..(group.first + group.count) as usize;
            let of_trees = image.get(ROOTS).iter().zip(image.get(OUTPUTS)).zip(summaries);
            for ((root, output), summary) in of_trees.take(trees.end).skip(trees.start) {
                let output = *output as usize;
                if !outputs.contains(&output) {
                    continue;
                }
                let tree = TreeOf {
                    nodes: &nodes,
                    root: *root,
                    mean: summary.mean,
                    depth: group.depth,
                    max_splits: summary.splits as usize,
                };
                // A damaged image may say any number.
                let points = (summary.points as usize).min(exact.max(MAX_POINTS));
                let mut interrupts = Interrupts { check: check_interrupts, work };
                let first = (output - outputs.start) * of_output;
                scratch.add_tree(
                    tree,
                    points,
                    first,
                    size,
                    NodeSections::of(image),
                    &mut interrupts,
                )?;
                work = interrupts.work;
            }
        }
        Ok(())
    }
}

/// How many of what there are.
#[derive(Clone, Copy)]
struct Size {
    of: Of,
    /// Rows of a block.
    block: usize,
    /// Sums of a block and output.
    of_output: usize,
    /// Sums of a block.
    of_block: usize,
    slots: usize,
}

impl ContributionScratch {
    /// Adds a tree to the sums of every block, from the first sum of its output on.
    fn add_tree(
        &mut self,
        tree: TreeOf<'_>,
        points: usize,
        first: usize,
        size: Size,
        nodes: NodeSections<'_>,
        interrupts: &mut Interrupts<'_>,
    ) -> Result<()> {
        let Size { of, block, of_output, of_block, slots } = size;
        let ContributionScratch { splits, walks, rules, keys, sums, level, .. } = self;
        for points in rules.of(points) {
            splits.set(tree, points, of == Of::Interactions, interrupts.check)?;
            let prepared = Prepared { splits, points, depth: tree.depth as usize };
            for (keys, sums) in
                keys.chunks_exact(slots * block).zip(sums.chunks_exact_mut(of_block))
            {
                let rows = Block { keys, nodes };
                let found = match of {
                    Of::Contributions => {
                        walks.sums::<false>(*level, prepared, &rows, interrupts)?
                    }
                    Of::Interactions => walks.sums::<true>(*level, prepared, &rows, interrupts)?,
                };
                let sums = sums.get_mut(first..first + of_output).unwrap_or_default();
                add(of, splits, found, sums, block);
            }
        }
        Ok(())
    }

    /// The sums of a row and one of so many outputs, each of which has so many places.
    pub(super) fn sums_of(
        &self,
        places: usize,
        row: usize,
        output: usize,
        outputs: usize,
    ) -> impl Iterator<Item = f64> {
        let block = self.level.rows();
        let first = (row / block * outputs + output) * places * block + row % block;
        self.sums.iter().copied().skip(first).step_by(block).take(places)
    }
}

/// Adds what a tree contributes to a block of rows, by its features or pairs of them, to the sums by those
/// of the model.
fn add(of: Of, splits: &Splits, found: &[f32], sums: &mut [f64], block: usize) {
    let mut found = found.chunks_exact(block);
    let mut add = |place: usize| {
        let own = sums.get_mut(place * block..(place + 1) * block).unwrap_or_default();
        let found = found.next().unwrap_or_default();
        own.iter_mut().zip(found).for_each(|(sum, found)| *sum += f64::from(*found));
    };
    for (index, feature) in splits.features.iter().enumerate() {
        let feature = *feature as usize;
        match of {
            Of::Contributions => add(feature),
            Of::Interactions => {
                let others = splits.features.iter().take(index + 1);
                others.for_each(|other| add(pair(feature, *other as usize)));
            }
        }
    }
}
