//! Explains a batch of rows, tree by tree.
//!
//! Rows form blocks with keys by slot. A tree's splits are prepared once and stay cached while all
//! blocks walk it. Contributions of a tree are f32, sums over trees f64.

#![allow(
    unsafe_code,
    reason = "sets the keys of rows that have all features, and has AVX2 add them up"
)]

use std::slice::ChunksExact;

use crate::compiled::CompiledModel;
use crate::compiled::aligned::StableBytes;
use crate::compiled::records::{CtrProjection, PartKind, SplitRecord};
use crate::compiled::sections::{
    CTR_PARTS, CTR_PROJECTIONS, OUTPUTS, SPLIT_FEATURES, SPLITS, Sections, TREE_SUMMARIES,
};
use crate::eval::interleaved::NodeSections;
use crate::eval::present_values;
use crate::explain::ContributionScratch;
use crate::explain::block::PreparedTree;
use crate::explain::contributions::Part;
use crate::explain::lanes::Level;
use crate::explain::row::Keys;
use crate::explain::walk::{Block, CancelChecks, pair};
use crate::memory::refill;
use crate::quadrature::{MAX_POINTS, exact_points};
use crate::{Cancel, Result, verified};

impl<B: StableBytes> CompiledModel<B> {
    /// Sets the keys of a batch of rows: block by block, for each slot one key per row.
    pub(super) fn set_keys(&self, scratch: &mut ContributionScratch, rows: &[f32]) -> Result<()> {
        let (compiled, width) = (self.sections(), self.num_split_features());
        let (count, slots) = (rows.len() / self.num_features(), compiled.num_slots(width));
        let block = scratch.level.for_rows(count).rows();
        let blocks = count.div_ceil(block);
        refill(&mut scratch.keys, blocks * slots * block, 0)?;
        let values = self.split_values(rows, &mut scratch.ctrs);
        let values = present_values(compiled, values, &mut scratch.present);
        let of_blocks = scratch.keys.chunks_exact_mut(slots * block);
        for (rows, keys) in values.chunks(block * width).zip(of_blocks) {
            let lanes = scratch.level.for_rows(rows.len() / width).rows();
            for (lane, row) in rows.chunks_exact(width).enumerate() {
                // SAFETY: the row has `num_split_features` numbers.
                unsafe { scratch.row_keys.set_with_outcomes(compiled, width, row) };
                let keys = keys.iter_mut().skip(lane).step_by(lanes);
                keys.zip(scratch.row_keys.as_slice()).for_each(|(key, own)| *key = *own);
            }
        }
        Ok(())
    }

    /// Sums the trees of a part. For a batch of blocks, the keys must be set.
    pub(super) fn add_trees(
        &self,
        scratch: &mut ContributionScratch,
        part: &Part,
        rows: &[f32],
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let (compiled, width) = (self.sections(), self.num_split_features());
        let players = Players { compiled, num_features: self.num_features() };
        let count = rows.len() / self.num_features();
        let block = scratch.level.for_rows(count).rows();
        let of_block = part.outputs.len() * part.places.len() * count.min(block);
        refill(&mut scratch.sums, count.div_ceil(block) * of_block, 0.0)?;
        let mut checks = CancelChecks { cancel, work: 0, stops: false };
        if scratch.takes_rows_alone(part.matrix.is_none(), count) {
            let mut present = std::mem::take(&mut scratch.present);
            let mut ctrs = std::mem::take(&mut scratch.ctrs);
            let values = present_values(compiled, self.split_values(rows, &mut ctrs), &mut present);
            for (lane, row) in values.chunks_exact(width).enumerate() {
                // SAFETY: the row has `num_split_features` numbers.
                unsafe { scratch.row_keys.set_with_outcomes(compiled, width, row) };
                each_tree(compiled, part, |tree| {
                    scratch.add_tree_of_row(players, part, tree, (lane, count), &mut checks)
                })?;
            }
            (scratch.present, scratch.ctrs) = (present, ctrs);
            return Ok(());
        }
        let slots = compiled.num_slots(width);
        each_tree(compiled, part, |tree| {
            scratch.add_tree(players, part, tree, (slots, count), &mut checks)
        })
    }
}

/// Resolves players of [`SPLIT_FEATURES`] to features.
#[derive(Clone, Copy)]
struct Players<'a> {
    compiled: Sections<'a>,
    num_features: usize,
}

impl Players<'_> {
    /// Calls `add` with each feature of a player and its share: combined categories share evenly
    /// (`UnpackInternalShaps` in catboost/libs/fstr/shap_values.cpp).
    #[inline(always)]
    fn parts(self, player: u32, mut add: impl FnMut(usize, f64)) {
        let Some(projection) = (player as usize).checked_sub(self.num_features) else {
            return add(player as usize, 1.0);
        };
        let CtrProjection { first_part, parts, .. } =
            self.compiled.get(CTR_PROJECTIONS)[projection];
        let parts = &self.compiled.get(CTR_PARTS)[first_part as usize..][..parts as usize];
        let categories = parts.iter().filter(|part| part.kind == PartKind::Category);
        let own = 1.0 / categories.clone().count() as f64;
        categories.for_each(|category| add(category.feature as usize, own));
    }
}

/// A tree with at least one split.
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
    for ((summary, output), depth) in summaries.iter().zip(outputs).zip(compiled.depths()) {
        let output = *output as usize;
        if !part.outputs.contains(&output) || summary.splits == 0 {
            continue;
        }
        let splits = &splits[summary.first_split as usize..][..summary.splits as usize];
        let features = &features[summary.first_feature as usize..][..summary.features as usize];
        let depth = depth as usize;
        // More points gain nothing, and a damaged compiled model may have any number.
        let exact = exact_points(depth.min(features.len()));
        let points = (summary.points as usize).min(exact.max(MAX_POINTS));
        add(Tree { splits, features, output, points, depth })?;
    }
    Ok(())
}

impl ContributionScratch {
    /// Returns whether contributions of `rows` rows are faster one by one, since blocks would be mostly
    /// empty.
    pub(super) fn takes_rows_alone(&self, is_contributions: bool, rows: usize) -> bool {
        is_contributions && rows < self.level.min_rows()
    }

    /// Adds a tree to the sums of every block.
    fn add_tree(
        &mut self,
        players: Players<'_>,
        part: &Part,
        tree: Tree<'_>,
        (slots, count): (usize, usize),
        checks: &mut CancelChecks<'_>,
    ) -> Result<()> {
        let ContributionScratch { factors, walks, rules, keys, sums, level, .. } = self;
        let (block, Tree { splits, depth, .. }) = (level.for_rows(count).rows(), tree);
        let of_output = part.places.len() * count.min(block);
        let first = (tree.output - part.outputs.start) * of_output;
        let of_block = part.outputs.len() * of_output;
        for points in rules.of(tree.points) {
            factors.set(*level, splits, points, part.matrix.is_some(), checks.cancel)?;
            let features = tree.features.len();
            let walked = PreparedTree { splits, features, factors, points, depth };
            let of_blocks = sums.chunks_exact_mut(of_block);
            let of_blocks = keys.chunks_exact(slots * block).zip(of_blocks);
            for ((keys, sums), row) in of_blocks.zip((0..count).step_by(block)) {
                let level = level.for_rows(count - row);
                let rows = Block { keys, nodes: NodeSections::of(players.compiled) };
                let found = match part.matrix {
                    None => walks.sums::<false>(level, walked, &rows, checks)?,
                    Some(_) => walks.sums::<true>(level, walked, &rows, checks)?,
                };
                let sums = &mut sums[first..first + of_output];
                let found = found.chunks_exact(level.rows());
                match level {
                    Level::Portable => add(part, players, tree.features, found, sums),
                    // SAFETY: the processor has the level's instructions.
                    #[cfg(target_arch = "x86_64")]
                    _ => unsafe { add_by_avx2(part, players, tree.features, found, sums) },
                }
            }
        }
        Ok(())
    }

    /// Adds a tree to the sums of one row, whose keys are set.
    fn add_tree_of_row(
        &mut self,
        players: Players<'_>,
        part: &Part,
        tree: Tree<'_>,
        (lane, lanes): (usize, usize),
        checks: &mut CancelChecks<'_>,
    ) -> Result<()> {
        let ContributionScratch { level, rows, rules, row_keys, sums, .. } = self;
        let keys = Keys { keys: row_keys.as_slice(), nodes: NodeSections::of(players.compiled) };
        let first = (tree.output - part.outputs.start) * part.places.len();
        for points in rules.of(tree.points) {
            let found = rows.sums(*level, tree.splits, tree.features.len(), points, keys)?;
            for (player, found) in tree.features.iter().zip(found) {
                players.parts(*player, |feature, own| {
                    sums[(first + feature) * lanes + lane] += own * f64::from(*found);
                });
            }
            checks.count(points.points.len() * tree.splits.len());
        }
        Ok(())
    }

    /// Returns the sums of one row and output of a part.
    pub(super) fn sums_of(
        &self,
        part: &Part,
        count: usize,
        row: usize,
        output: usize,
    ) -> impl Iterator<Item = f64> {
        let (block, outputs) = (self.level.for_rows(count).rows(), part.outputs.len());
        let lanes = count.min(block);
        let own = row / block * outputs + (output - part.outputs.start);
        let first = own * part.places.len() * lanes + row % block;
        self.sums[first..].iter().copied().step_by(lanes).take(part.places.len())
    }
}

/// [`add`] compiled for AVX2.
///
/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn add_by_avx2(
    part: &Part,
    players: Players<'_>,
    features: &[u32],
    found: ChunksExact<'_, f32>,
    sums: &mut [f64],
) {
    add(part, players, features, found, sums);
}

/// Adds a tree's contributions for a block, by the tree's features or pairs, to the model's sums in the
/// part.
#[inline(always)]
fn add(
    part: &Part,
    players: Players<'_>,
    features: &[u32],
    mut found: ChunksExact<'_, f32>,
    sums: &mut [f64],
) {
    let lanes = sums.len() / part.places.len();
    let mut next = || verified::sure(found.next(), "a walk has all sums");
    let mut add = |place: usize, own: f64, found: &[f32]| {
        if part.places.contains(&place) {
            let sums = &mut sums[(place - part.places.start) * lanes..][..lanes];
            sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += own * f64::from(*found));
        }
    };
    for (index, feature) in features.iter().enumerate() {
        match part.matrix {
            None => {
                let found = next();
                players.parts(*feature, |feature, own| add(feature, own, found));
            }
            Some(_) => {
                let pairs = features.iter().take(index + 1);
                let pairs = pairs.map(|other| pair(*feature as usize, *other as usize));
                pairs.for_each(|place| add(place, 1.0, next()));
            }
        }
    }
}
