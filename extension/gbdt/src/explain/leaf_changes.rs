//! Approximate contributions by leaf.
//!
//! A leaf says which path a row has taken, so all changes of the mean on the way to it are kept with it.
//! Rows go to their leaves as they do for predictions, and add one entry per tree: a cache line of all
//! features if they fit into one, else a list of those on the path. Where blocks of rows go through tiles,
//! a tree's lines lie in the order of its tile's leaves. Entries are f32, rounded once from f64; lines are
//! added in f32, sixteen trees at a time and then these sums, lists in f64.

#![allow(clippy::needless_range_loop, reason = "loops over lanes become vectors")]
#![allow(unsafe_code, reason = "a tree has as many lines as its tile has leaves")]

mod build;

use super::tables::{BLOCK, Entries, Line, TableKernel, WIDTH};
use crate::eval::interleaved::{Leaf, walk};
use crate::eval::row_keys::RowKeys;
use crate::eval::{BatchScratch, Kernel};
use crate::forest::records::GroupKind;
use crate::forest::sections::{OUTPUTS, Sections};
use crate::forest::{Image, StableBytes};
use crate::prefetch::prefetch;

pub(super) struct LeafChanges {
    /// Of each node of the image, compact ones first: the entry of a leaf.
    entries: Vec<u32>,
    first_wide: usize,
    changes: Changes,
    /// By tree its first line, if all trees have lines in the order of their tiles; else empty.
    tiles: Vec<u32>,
    /// By output, its trees.
    trees: Vec<Vec<u32>>,
    /// One per output: the mean of its trees, weighed by shares.
    pub(super) means: Vec<f64>,
}

/// By entry; the first has no changes.
enum Changes {
    Lines(Vec<Line>),
    /// Where each list begins and the last one ends, and features with their changes.
    Lists(Vec<u32>, Vec<(u32, f32)>),
}

/// Trees whose entries are added before they are added to the total.
const PART: usize = 16;

/// Buffers for rows and blocks of them.
#[derive(Default)]
pub(super) struct LeafBuffers {
    /// By tree the entry of a row's leaf.
    found: Vec<u32>,
    /// Of one row.
    pub(super) sums: Vec<f64>,
    batch: Option<BatchScratch>,
    /// By output.
    pub(super) outputs: Vec<OfOutput>,
}

/// A block's rows, of one output.
#[derive(Default)]
pub(super) struct OfOutput {
    /// The next trees of a part: their first lines, and the rows' leaves.
    first: Vec<u32>,
    leaves: Vec<Entries>,
    pub(super) sums: Vec<Line>,
}

impl OfOutput {
    fn add_part(&mut self, kernel: &TableKernel, lines: &[Line]) {
        // SAFETY: a tile's leaves have indices below 2^levels, and a tree has as many lines.
        unsafe { kernel.add_lines(lines, &self.first, &self.leaves, &mut self.sums) };
        self.first.clear();
    }
}

impl LeafChanges {
    /// Sums a block's rows, if it can go through tiles; returns whether it could.
    pub(super) fn add_block<B: StableBytes>(
        &self,
        image: &Image<B>,
        evaluation: Kernel,
        kernel: &TableKernel,
        buffers: &mut LeafBuffers,
        rows: &[f32],
    ) -> bool {
        let Changes::Lines(lines) = &self.changes else { return false };
        if self.tiles.is_empty() {
            return false;
        }
        let count = rows.len() / image.num_features();
        let LeafBuffers { batch, outputs, .. } = buffers;
        let batch = batch.get_or_insert_with(|| BatchScratch::with_kernel(image, evaluation));
        outputs.resize_with(image.num_outputs(), OfOutput::default);
        for own in &mut *outputs {
            own.first.clear();
            own.leaves.resize(PART, Entries([0; BLOCK]));
            own.sums.clear();
            own.sums.resize(count, Line([0.0; WIDTH]));
        }
        let of_trees = image.sections().get(OUTPUTS);
        let was_done = image.tile_leaves(batch, rows, &mut |tree, leaves| {
            let own = &mut outputs[of_trees[tree] as usize];
            own.leaves[own.first.len()].0 = *leaves;
            own.first.push(self.tiles[tree]);
            if own.first.len() == PART {
                own.add_part(kernel, lines);
            }
        });
        outputs.iter_mut().for_each(|own| own.add_part(kernel, lines));
        was_done
    }

    pub(super) fn bytes(&self) -> usize {
        let changes = match &self.changes {
            Changes::Lines(lines) => size_of_val(&lines[..]),
            Changes::Lists(starts, changes) => size_of_val(&starts[..]) + size_of_val(&changes[..]),
        };
        size_of_val(&self.entries[..]) + changes
    }

    /// Sums the changes of a row, to which the keys have been set: so many numbers, per output one per
    /// feature and another.
    ///
    /// # Safety
    /// The keys are of these features, and for this image, of which the changes were made.
    pub(super) unsafe fn add_row(
        &self,
        image: Sections<'_>,
        keys: &RowKeys,
        features: &[f32],
        buffers: &mut LeafBuffers,
        per_row: usize,
    ) {
        let LeafBuffers { found, sums, .. } = buffers;
        sums.clear();
        sums.resize(per_row, 0.0);
        found.clear();
        let visit = |_, leaf: Leaf| {
            let first = if leaf.kind == GroupKind::Compact { 0 } else { self.first_wide };
            let entry = self.entries[first + leaf.node as usize];
            if let Changes::Lines(lines) = &self.changes {
                prefetch(lines, entry as usize);
            }
            found.push(entry);
        };
        // SAFETY: the caller's promise.
        unsafe { walk(image, keys, features, visit) };
        let width = sums.len() / self.trees.len();
        for (trees, own) in self.trees.iter().zip(sums.chunks_exact_mut(width)) {
            match &self.changes {
                Changes::Lines(lines) => {
                    let mut total = [0.0f32; WIDTH];
                    for trees in trees.chunks(PART) {
                        let mut part = [0.0f32; WIDTH];
                        for tree in trees {
                            let line = &lines[found[*tree as usize] as usize];
                            for lane in 0..WIDTH {
                                part[lane] += line.0[lane];
                            }
                        }
                        for lane in 0..WIDTH {
                            total[lane] += part[lane];
                        }
                    }
                    own.iter_mut().zip(total).for_each(|(own, sum)| *own = f64::from(sum));
                }
                Changes::Lists(starts, changes) => {
                    for tree in trees {
                        let entry = found[*tree as usize] as usize;
                        let (from, to) = (starts[entry] as usize, starts[entry + 1] as usize);
                        for (feature, change) in &changes[from..to] {
                            own[*feature as usize] += f64::from(*change);
                        }
                    }
                }
            }
        }
    }
}
