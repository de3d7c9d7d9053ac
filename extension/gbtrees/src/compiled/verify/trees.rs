//! Verifies that walks end at leaves: how the records of nodes, each valid by itself, fit together.
//!
//! A tree's nodes lie between its root and the next one, and each is the child of at most one split, so
//! a walk of a whole tree meets no node twice. No leaf is deeper than its group's depth, or further
//! below an exit than its tile group's steps: such a walk ends at a leaf, and a leaf's key finds a
//! value.

use crate::compiled::records::leaf_slot;
use crate::compiled::records::{
    GroupKind, InterleavedNode, LEFT_TWO_LEAVES, Leaves, RIGHT_TWO_LEAVES, SplitRecord, TreeSummary,
};
use crate::compiled::sections::*;
use crate::compiled::tiles::TileGroup;
use crate::compiled::verify::ensure;
use crate::ensemble::{NODES_PER_CHECK, Precision};
use crate::{Cancel, Result, verified};

/// Marks the height of a node that is a child.
const CHILD: u32 = 1 << 31;

/// Verifies all trees of a compiled model whose nodes, groups and tiles have been verified.
pub(crate) fn verify(compiled: &Sections<'_>, sums: Precision, cancel: Cancel<'_>) -> Result<()> {
    let leaf_values = compiled.get(LEAF_VALUES);
    let has_values =
        (sums == Precision::Double) != leaf_values.is_empty() || compiled.get(ROOTS).is_empty();
    ensure(has_values, "has leaf values of another width than its sums")?;
    let (compact, wide) = (compiled.get(COMPACT_NODES), compiled.get(WIDE_NODES));
    if sums == Precision::Double {
        leaf_keys(compact, leaf_values.len(), cancel)?;
        leaf_keys(wide, leaf_values.len(), cancel)?;
    }
    outcomes(compiled, cancel)?;
    // Backwards, since a tree ends where the next of its kind begins.
    let (mut compact_end, mut wide_end) = (compact.len(), wide.len());
    let mut after: Option<Tree> = None;
    let mut tiles = compiled.get(TILE_GROUPS);
    let mut heights = Vec::new();
    for group in compiled.get(GROUPS).iter().rev() {
        for tree in (group.first..group.first + group.count).rev() {
            while let [before @ .., last] = tiles
                && last.first > tree
            {
                tiles = before;
            }
            let root = compiled.get(ROOTS)[tree as usize] as usize;
            let tile = tiles.len().checked_sub(1);
            let is_compact = group.kind == GroupKind::Compact;
            let end = if is_compact { &mut compact_end } else { &mut wide_end };
            let end = std::mem::replace(end, root);
            let tree = Tree { root, end, depth: group.depth, kind: group.kind, index: tree };
            let after = after.replace(tree).filter(|after| tree.has_source_of(after, compiled));
            if is_compact {
                tree.verify(compiled, compact, tile, &mut heights, cancel)?;
                after.map_or(Ok(()), |after| tree.has_shape_of(&after, compact, cancel))?;
            } else {
                tree.verify(compiled, wide, tile, &mut heights, cancel)?;
                after.map_or(Ok(()), |after| tree.has_shape_of(&after, wide, cancel))?;
            }
        }
    }
    Ok(())
}

/// Verifies that the leaves' keys are indices of values.
fn leaf_keys<N: InterleavedNode>(nodes: &[N], values: usize, cancel: Cancel<'_>) -> Result<()> {
    let right = cancel.all(nodes.chunks(NODES_PER_CHECK), |part| {
        part.iter().all(|node| node.right_offset() != 0 || (node.key() as usize) < values)
    })?;
    ensure(right, "has a leaf without a value")
}

/// Verifies that outcome nodes have the links and leaves of the wide nodes.
fn outcomes(compiled: &Sections<'_>, cancel: Cancel<'_>) -> Result<()> {
    let nodes = compiled.get(OUTCOME_NODES).chunks(NODES_PER_CHECK);
    let nodes = nodes.zip(compiled.get(WIDE_NODES).chunks(NODES_PER_CHECK));
    let right = cancel.all(nodes, |(part, wide)| {
        part.iter().zip(wide).all(|(node, wide)| {
            node.right_offset == wide.right_offset
                && (node.right_offset != 0 || node.key == wide.key)
        })
    })?;
    ensure(right, "has outcome nodes of other trees")
}

#[derive(Clone, Copy)]
struct Tree {
    index: u32,
    root: usize,
    end: usize,
    /// Depth according to the group.
    depth: u32,
    kind: GroupKind,
}

impl Tree {
    /// Verifies a tree; `tile` is its group of tiles, if there are tiles.
    fn verify<N: InterleavedNode>(
        &self,
        compiled: &Sections<'_>,
        nodes: &[N],
        tile: Option<usize>,
        heights: &mut Vec<u32>,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let Tree { root, end, .. } = *self;
        ensure(root < end && end - root < CHILD as usize, "has trees out of order")?;
        let own = &nodes[root..end];
        heights.clear();
        heights.try_reserve(own.len())?;
        heights.resize(own.len(), 0);
        // Children follow their parents.
        for (part, nodes) in own.chunks(NODES_PER_CHECK).enumerate().rev() {
            cancel.check()?;
            for (at, node) in nodes.iter().enumerate().rev() {
                let at = part * NODES_PER_CHECK + at;
                let offset = node.right_offset() as usize;
                if offset == 0 {
                    continue;
                }
                let children = heights.get_mut(at + offset..at + offset + 2);
                let Some([right, left]) = children else {
                    return ensure(false, "has a link to another tree");
                };
                ensure((*right | *left) & CHILD == 0, "has a node with two parents")?;
                let height = 1 + (*right).max(*left);
                *right |= CHILD;
                *left |= CHILD;
                heights[at] = height;
            }
        }
        ensure(heights[0] <= self.depth, "has a leaf deeper than its group says")?;
        match tile.map(|index| &compiled.get(TILE_GROUPS)[index]) {
            Some(tile) if tile.below > 0 => self.exits(compiled, tile, heights),
            _ => Ok(()),
        }
    }

    /// Returns whether this tree and the one after it are outputs of one tree of the model.
    fn has_source_of(&self, after: &Tree, compiled: &Sections<'_>) -> bool {
        let sources = compiled.get(SOURCES);
        sources[self.index as usize] == sources[after.index as usize]
    }

    /// Verifies that a row's leaf in this tree is at the same place in the one after it.
    fn has_shape_of<N: InterleavedNode>(
        &self,
        after: &Tree,
        nodes: &[N],
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let known = self.kind == after.kind && self.end - self.root == after.end - after.root;
        ensure(known, "has outputs of one tree with other nodes")?;
        // The sets of categorical splits have other numbers.
        let keys = self.kind != GroupKind::Categorical;
        let own = nodes[self.root..self.end].chunks(NODES_PER_CHECK);
        let right = cancel.all(
            own.zip(nodes[after.root..after.end].chunks(NODES_PER_CHECK)),
            |(own, after)| {
                own.iter().zip(after).all(|(own, after)| {
                    own.right_offset() == after.right_offset()
                        && own.slot() == after.slot()
                        && (own.right_offset() == 0 || !keys || own.key() == after.key())
                })
            },
        )?;
        ensure(right, "has outputs of one tree with other splits")
    }

    /// Verifies that exits of the tile are nodes of the tree, no further from its leaves than stated.
    fn exits(&self, compiled: &Sections<'_>, tile: &TileGroup, heights: &[u32]) -> Result<()> {
        let is_wide = |kind| kind != GroupKind::Compact;
        ensure(is_wide(tile.kind) == is_wide(self.kind), "has a tile with exits of another kind")?;
        let start = tile.leaves as usize + (((self.index - tile.first) as usize) << tile.levels);
        let exits = &compiled.get(TILE_EXITS)[start..start + (1 << tile.levels)];
        let right = exits.iter().all(|exit| {
            let at = (*exit as usize).checked_sub(self.root);
            at.and_then(|at| heights.get(at)).is_some_and(|height| height & !CHILD <= tile.below)
        });
        ensure(right, "has an exit to another tree, or too far from its leaves")
    }
}

/// Verifies the splits of all trees, or their absence; groups have been verified.
pub(crate) fn verify_splits(
    compiled: &Sections<'_>,
    num_features: usize,
    cancel: Cancel<'_>,
) -> Result<()> {
    let summaries = compiled.get(TREE_SUMMARIES);
    let trees = compiled.get(ROOTS).len();
    ensure([0, trees].contains(&summaries.len()), "does not have one summary per tree")?;
    let right = summaries.iter().all(|summary| summary.points > 0);
    ensure(right, "has a tree without points")?;
    let features = compiled.get(SPLIT_FEATURES);
    let projections = compiled.get(CTR_PROJECTIONS).len();
    let players = num_features - compiled.num_ctrs() + projections;
    let right = features.iter().all(|feature| (*feature as usize) < players);
    ensure(right, "has splits on no feature")?;
    let (mut split, mut feature) = (0usize, 0usize);
    let mut rights = Vec::new();
    let size = Size { num_features, num_slots: compiled.num_slots(num_features) };
    for group in compiled.get(GROUPS) {
        let trees = group.first as usize..(group.first + group.count) as usize;
        for summary in summaries.iter().take(trees.end).skip(trees.start) {
            let follows =
                summary.first_split as usize == split && summary.first_feature as usize == feature;
            ensure(follows, "has a tree's splits in a wrong place")?;
            let splits = compiled
                .get(SPLITS)
                .get(split..)
                .and_then(|all| all.get(..summary.splits as usize));
            ensure(splits.is_some(), "has a tree without its splits")?;
            let splits = verified::sure(splits, "they are there");
            of_tree(compiled, summary, splits, (size, group.depth), &mut rights, cancel)?;
            split += splits.len();
            feature += summary.features as usize;
        }
    }
    let right = split == compiled.get(SPLITS).len() && feature == features.len();
    ensure(right, "has splits of no tree")
}

#[derive(Clone, Copy)]
struct Size {
    num_features: usize,
    num_slots: usize,
}

/// Facts about a split known from its parent.
struct Below {
    /// Maximum levels.
    levels: u32,
    has_two_leaves: Option<bool>,
}

/// Verifies a tree's splits: each but the first is the child of an earlier one, and none is too deep.
fn of_tree(
    compiled: &Sections<'_>,
    summary: &TreeSummary,
    splits: &[SplitRecord],
    (size, depth): (Size, u32),
    rights: &mut Vec<(u32, Below)>,
    cancel: Cancel<'_>,
) -> Result<()> {
    rights.clear();
    // The next split, if another one must follow.
    let mut next = (!splits.is_empty()).then_some(Below { levels: depth, has_two_leaves: None });
    for (at, split) in splits.iter().enumerate() {
        if at.is_multiple_of(NODES_PER_CHECK) {
            cancel.check()?;
        }
        let Below { levels, has_two_leaves } = match next {
            Some(below) => below,
            None => match rights.pop() {
                Some((right, below)) if right as usize == at => below,
                _ => return ensure(false, "has a split that no other leads to"),
            },
        };
        ensure(levels > 0, "has a split deeper than its group says")?;
        let has_two = split.leaves() == Leaves::Both;
        let right = has_two_leaves.is_none_or(|two| two == has_two);
        ensure(right, "has a split with other leaves than the one above it says")?;
        let [left, right] = [LEFT_TWO_LEAVES, RIGHT_TWO_LEAVES]
            .map(|bit| Below { levels: levels - 1, has_two_leaves: Some(split.has(bit)) });
        let other = split.other as usize;
        let is_right_there;
        (next, is_right_there) = match split.leaves() {
            Leaves::None => {
                rights.push((split.other, right));
                (Some(left), true)
            }
            Leaves::Left => (Some(right), other == at + 1),
            Leaves::Right => (Some(left), other == splits.len()),
            Leaves::Both => (None, true),
        };
        ensure(is_right_there, "has a split on the right in a wrong place")?;
        let slot = split.slot() as usize;
        let right = (split.place() as usize) < summary.features as usize
            && slot < size.num_slots
            && slot != leaf_slot(size.num_features)
            && split.above as usize <= 2 * at
            && (!split.is_set() || (split.key as usize) < compiled.get(SETS).len())
            && (0.0..=1.0).contains(&split.share)
            && (0.0..=1.0).contains(&split.product);
        ensure(right, "has a split on what is not there")?;
    }
    ensure(next.is_none() && rights.is_empty(), "has fewer splits than lead on")
}
