//! Lock step: one row, several trees at a time, in portable code.
//!
//! A walk down one tree waits at every step for the node and then for the row's key. Walking
//! [`LANES`] trees at once fills that time. There is no branch on data: a step adds the result of
//! one comparison to a link, leaves link to themselves, and a group of trees is walked to the depth
//! of its deepest. Trees with categorical splits are walked one by one. The leaves are handed over
//! in the order of the trees, whichever way they were found.
#![allow(
    unsafe_code,
    reason = "the kernel indexes nodes and keys that the image's check has vouched for"
)]

use super::goes_right;
use super::key::RowKeys;
use crate::layout::{CATEGORICAL, Forest, GroupKind, LockStepNode};

/// Most trees that are walked together.
pub(crate) const LANES: usize = 16;

/// Steps that are taken before it is first seen whether all trees have come to a leaf.
const STRIDE: u32 = 8;

/// A leaf that a row has fallen into.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    /// Which nodes it is one of.
    pub(super) kind: GroupKind,
    /// Its index among them.
    pub(super) node: u32,
    /// Its value's bits.
    key: u32,
}

impl Leaf {
    /// What the tree gives.
    #[inline(always)]
    pub(super) fn value(self) -> f32 {
        f32::from_bits(self.key)
    }
}

/// Calls `visit` with every tree's index and the row's leaf in it, in the order of the trees.
///
/// `keys` must have been set to `features` for the image that the forest is of.
#[inline(always)]
pub(super) fn walk(
    forest: &Forest<'_>,
    keys: &RowKeys,
    features: &[f32],
    mut visit: impl FnMut(usize, Leaf),
) {
    for group in forest.groups {
        let first = group.first as usize;
        let roots = forest.roots.get(first..first + group.count as usize).unwrap_or_default();
        let Some(kind) = GroupKind::from_number(group.kind) else { continue };
        let visit = |lane, leaf| visit(first + lane, leaf);
        walk_from(forest, kind, roots, group.depth, keys, features, visit);
    }
}

/// Calls `visit` with every lane and its leaf. The lanes, at most [`LANES`], begin at nodes of a kind
/// from which no leaf is more than `depth` steps away.
#[inline(always)]
pub(super) fn walk_from(
    forest: &Forest<'_>,
    kind: GroupKind,
    starts: &[u32],
    depth: u32,
    keys: &RowKeys,
    features: &[f32],
    visit: impl FnMut(usize, Leaf),
) {
    let keys = keys.as_slice();
    match kind {
        GroupKind::Compact => {
            walk_together(forest.compact_nodes, starts, keys, depth, kind, visit);
        }
        GroupKind::Wide => walk_together(forest.wide_nodes, starts, keys, depth, kind, visit),
        GroupKind::Categorical => walk_singly(forest, keys, features, starts, depth, visit),
    }
}

/// Walks in lock step.
#[inline(always)]
fn walk_together<N: LockStepNode>(
    nodes: &[N],
    starts: &[u32],
    keys: &[u32],
    depth: u32,
    kind: GroupKind,
    mut visit: impl FnMut(usize, Leaf),
) {
    let mut visit = |lane: usize, node: usize| {
        // SAFETY: lock_step gives indices of nodes.
        let key = unsafe { nodes.get_unchecked(node) }.key();
        visit(lane, Leaf { kind, node: node as u32, key });
    };
    if let Some(starts) = starts.first_chunk::<LANES>() {
        let leaves = lock_step(nodes, keys, *starts, depth);
        leaves.into_iter().enumerate().for_each(|(lane, node)| visit(lane, node));
        return;
    }
    // The last group of its kind. Lanes without a tree walk another's once more: that costs less
    // than to walk what is left over in ever smaller parts, each of which waits for itself.
    macro_rules! in_lanes {
        ($lanes:literal) => {{
            let padded = std::array::from_fn(|lane| {
                starts.get(lane).or(starts.last()).map_or(0, |start| *start)
            });
            let leaves = lock_step::<N, $lanes>(nodes, keys, padded, depth);
            leaves
                .into_iter()
                .take(starts.len())
                .enumerate()
                .for_each(|(lane, node)| visit(lane, node));
        }};
    }
    match starts.len() {
        0 => {}
        1..=4 => in_lanes!(4),
        5..=8 => in_lanes!(8),
        9..=12 => in_lanes!(12),
        _ => in_lanes!(16),
    }
}

/// Walks `L` trees, `depth` steps each; gives the indices of the nodes reached.
#[inline(always)]
fn lock_step<N: LockStepNode, const L: usize>(
    nodes: &[N],
    keys: &[u32],
    starts: [u32; L],
    depth: u32,
) -> [usize; L] {
    let mut at = starts.map(|start| start as usize);
    steps(nodes, keys, &mut at, depth.min(STRIDE));
    if depth > STRIDE {
        go_on(nodes, keys, &mut at, depth - STRIDE);
    }
    at
}

/// Further steps in deep trees, which may be chains: it is seen now and then whether all walks have
/// come to a leaf.
#[inline(never)]
fn go_on<N: LockStepNode, const L: usize>(
    nodes: &[N],
    keys: &[u32],
    at: &mut [usize; L],
    mut depth: u32,
) {
    // SAFETY: see `steps`.
    while depth > 0 && at.iter().any(|at| unsafe { nodes.get_unchecked(*at) }.skip() != 0) {
        steps(nodes, keys, at, depth.min(STRIDE / 2));
        depth = depth.saturating_sub(STRIDE / 2);
    }
}

#[inline(always)]
fn steps<N: LockStepNode, const L: usize>(
    nodes: &[N],
    keys: &[u32],
    at: &mut [usize; L],
    count: u32,
) {
    for _ in 0..count {
        for place in at.iter_mut() {
            // SAFETY: the check of the image (layout::check) found every root and every exit of a
            // tile to be a node; every node's slot to be at most leaf_slot; both children of every
            // split to be nodes; and the slot of every leaf, whose skip is 0, to be leaf_slot.
            // RowKeys holds leaf_slot + 1 keys, of which the last is always u32::MAX and so below
            // no leaf's key: a walk stays at a leaf. By induction `place` is always the index of a
            // node.
            let (node, key) = unsafe {
                let node = nodes.get_unchecked(*place);
                (node, *keys.get_unchecked(node.slot()))
            };
            *place += node.skip() as usize + usize::from(key < node.key());
        }
    }
}

/// Walks trees one after another, categorical splits included.
#[inline(never)]
fn walk_singly(
    forest: &Forest<'_>,
    keys: &[u32],
    features: &[f32],
    starts: &[u32],
    depth: u32,
    mut visit: impl FnMut(usize, Leaf),
) {
    for (lane, start) in starts.iter().enumerate() {
        let mut at = *start;
        for _ in 0..depth {
            let next = step(forest, keys, features, at);
            if next == at {
                break;
            }
            at = next;
        }
        if let Some(leaf) = forest.wide_nodes.get(at as usize) {
            visit(lane, Leaf { kind: GroupKind::Categorical, node: at, key: leaf.key });
        }
    }
}

/// The node that follows a node, which for a leaf is itself.
#[inline(always)]
pub(super) fn step(forest: &Forest<'_>, keys: &[u32], features: &[f32], at: u32) -> u32 {
    let Some(node) = forest.wide_nodes.get(at as usize) else { return at };
    let key = keys.get(node.slot as usize).copied().unwrap_or(u32::MAX);
    let left = if node.kind == CATEGORICAL {
        let value = features.get(node.slot as usize / 2).copied().unwrap_or(f32::NAN);
        // A missing value's key is 0 where the default is left, else u32::MAX.
        if value.is_nan() { key == 0 } else { !goes_right(forest.words(node.key), value) }
    } else {
        key < node.key
    };
    at + node.skip + u32::from(left)
}
