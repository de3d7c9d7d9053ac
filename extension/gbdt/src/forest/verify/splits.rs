//! The splits of explanations: that a walk of them ends, and stays within the tree.

use super::ensure;
use crate::Result;
use crate::forest::key::leaf_slot;
use crate::forest::records::{Leaves, Split, TreeSummary};
use crate::forest::sections::*;
use crate::model::NODES_PER_CHECK;
use crate::verified;

/// Verifies the splits of all trees, or that there are none; groups have been verified.
pub(super) fn verify(
    image: &Sections<'_>,
    num_features: usize,
    check_interrupts: &mut dyn FnMut(),
) -> Result<()> {
    let summaries = image.get(TREE_SUMMARIES);
    let trees = image.get(ROOTS).len();
    ensure([0, trees].contains(&summaries.len()), "does not have one summary per tree")?;
    let right = summaries.iter().all(|summary| summary.points > 0);
    ensure(right, "has a tree without points")?;
    let features = image.get(SPLIT_FEATURES);
    let right = features.iter().all(|feature| (*feature as usize) < num_features);
    ensure(right, "has splits on no feature")?;
    let (mut split, mut feature) = (0usize, 0usize);
    let mut rights = Vec::new();
    let size = Size { num_features, num_slots: image.num_slots(num_features) };
    for group in image.get(GROUPS) {
        let trees = group.first as usize..(group.first + group.count) as usize;
        for summary in summaries.iter().take(trees.end).skip(trees.start) {
            let follows =
                summary.first_split as usize == split && summary.first_feature as usize == feature;
            ensure(follows, "has a tree's splits in a wrong place")?;
            let splits =
                image.get(SPLITS).get(split..).and_then(|all| all.get(..summary.splits as usize));
            ensure(splits.is_some(), "has a tree without its splits")?;
            let splits = verified::sure(splits, "they are there");
            of_tree(image, summary, splits, (size, group.depth), &mut rights, check_interrupts)?;
            split += splits.len();
            feature += summary.features as usize;
        }
    }
    let right = split == image.get(SPLITS).len() && feature == features.len();
    ensure(right, "has splits of no tree")
}

#[derive(Clone, Copy)]
struct Size {
    num_features: usize,
    num_slots: usize,
}

/// Splits of a tree: each but the first is the child of one before it, no deeper than the group says.
fn of_tree(
    image: &Sections<'_>,
    summary: &TreeSummary,
    splits: &[Split],
    (size, depth): (Size, u32),
    rights: &mut Vec<(u32, u32)>,
    check_interrupts: &mut dyn FnMut(),
) -> Result<()> {
    rights.clear();
    // How many levels the next split may have, if there is to be one.
    let mut next = (!splits.is_empty()).then_some(depth);
    for (at, split) in splits.iter().enumerate() {
        if at.is_multiple_of(NODES_PER_CHECK) {
            check_interrupts();
        }
        let levels = match next {
            Some(levels) => levels,
            None => match rights.pop() {
                Some((right, levels)) if right as usize == at => levels,
                _ => return ensure(false, "has a split that no other leads to"),
            },
        };
        ensure(levels > 0, "has a split deeper than its group says")?;
        next = (split.leaves() != Leaves::Both).then_some(levels - 1);
        if split.leaves() == Leaves::None {
            rights.push((split.other, levels - 1));
        }
        let slot = split.slot() as usize;
        let right = (split.place() as usize) < summary.features as usize
            && slot < size.num_slots
            && slot != leaf_slot(size.num_features)
            && split.above as usize <= 2 * at
            && (!split.is_set() || (split.key as usize) < image.get(SETS).len())
            && (0.0..=1.0).contains(&split.share)
            && (0.0..=1.0).contains(&split.product);
        ensure(right, "has a split on what is not there")?;
    }
    ensure(next.is_none() && rights.is_empty(), "has fewer splits than lead on")
}
