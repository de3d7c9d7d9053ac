//! Verifies that walks end at leaves: how the records of nodes, each valid by itself, fit together.
//!
//! A tree's nodes lie between its root and the next one, and each is the child of at most one split, so
//! a walk of a whole tree meets no node twice. No leaf is deeper than its group's depth, or further
//! below an exit than its tile group's steps: such a walk ends at a leaf, and a leaf's key finds a
//! value for each output that its tree adds to.

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
    let values = match sums {
        Precision::Double => leaf_values.len(),
        Precision::Single if compiled.has_vectors() => compiled.get(LEAF_VALUES_SINGLE).len(),
        // Keys are values.
        Precision::Single => usize::MAX,
    };
    outcomes(compiled, cancel)?;
    let (compact, wide) = (compiled.get(COMPACT_NODES), compiled.get(WIDE_NODES));
    // Backwards, since a tree ends where the next of its kind begins.
    let (mut compact_end, mut wide_end) = (compact.len(), wide.len());
    let (mut tiles, mut sources) = (compiled.get(TILE_GROUPS), compiled.get(SOURCES));
    let mut heights = Vec::new();
    for group in compiled.get(GROUPS).iter().rev() {
        for source in (group.first..group.first + group.count).rev() {
            let root = compiled.get(ROOTS)[source as usize] as usize;
            let is_compact = group.kind == GroupKind::Compact;
            let end = if is_compact { &mut compact_end } else { &mut wide_end };
            let end = std::mem::replace(end, root);
            let trees = sources.partition_point(|other| *other < source)..sources.len();
            sources = &sources[..trees.start];
            let last_key = values.checked_sub(trees.len());
            let last_key = last_key.ok_or_else(|| damaged("has fewer values than a leaf"))?;
            let tree = Tree { root, end, depth: group.depth, kind: group.kind, last_key };
            if is_compact {
                tree.verify(compact, &mut heights, cancel)?;
            } else {
                tree.verify(wide, &mut heights, cancel)?;
            }
            for index in trees.rev() {
                while let [before @ .., last] = tiles
                    && last.first as usize > index
                {
                    tiles = before;
                }
                if let Some(tile) = tiles.last().filter(|tile| tile.below > 0) {
                    tree.exits(compiled, tile, index, &heights)?;
                }
            }
        }
    }
    Ok(())
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
    root: usize,
    end: usize,
    /// Depth according to the group.
    depth: u32,
    kind: GroupKind,
    /// The last key with a value for each output.
    last_key: usize,
}

impl Tree {
    /// Verifies the nodes of a tree, and sets their heights.
    fn verify<N: InterleavedNode>(
        &self,
        nodes: &[N],
        heights: &mut Vec<u32>,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let Tree { root, end, .. } = *self;
        ensure(root < end && end - root < CHILD as usize, "has trees out of order")?;
        let own = &nodes[root..end];
        heights.clear();
        heights.try_reserve(own.len())?;
        heights.resize(own.len(), 0);
        let mut has_values = true;
        // Children follow their parents.
        for (part, nodes) in own.chunks(NODES_PER_CHECK).enumerate().rev() {
            cancel.check()?;
            for (at, node) in nodes.iter().enumerate().rev() {
                let at = part * NODES_PER_CHECK + at;
                let offset = node.right_offset() as usize;
                if offset == 0 {
                    has_values &= node.key() as usize <= self.last_key;
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
        ensure(has_values, "has a leaf without a value")?;
        ensure(heights[0] <= self.depth, "has a leaf deeper than its group says")
    }

    /// Verifies that exits of a tree's tile are nodes of the tree, no further from its leaves than stated.
    fn exits(
        &self,
        compiled: &Sections<'_>,
        tile: &TileGroup,
        index: usize,
        heights: &[u32],
    ) -> Result<()> {
        let is_wide = |kind| kind != GroupKind::Compact;
        ensure(is_wide(tile.kind) == is_wide(self.kind), "has a tile with exits of another kind")?;
        let start = tile.leaves as usize + ((index - tile.first as usize) << tile.levels);
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
    let trees = compiled.get(OUTPUTS).len();
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
    for (summary, depth) in summaries.iter().zip(compiled.depths()) {
        let follows =
            summary.first_split as usize == split && summary.first_feature as usize == feature;
        ensure(follows, "has a tree's splits in a wrong place")?;
        let splits =
            compiled.get(SPLITS).get(split..).and_then(|all| all.get(..summary.splits as usize));
        ensure(splits.is_some(), "has a tree without its splits")?;
        let splits = verified::sure(splits, "they are there");
        of_tree(compiled, summary, splits, (size, depth), &mut rights, cancel)?;
        split += splits.len();
        feature += summary.features as usize;
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
