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
use crate::layout::{CATEGORICAL, Forest, Group, GroupKind, LockStepNode};

/// Most trees that are walked together.
pub(crate) const LANES: usize = 16;

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
    let keys = keys.as_slice();
    for group in forest.groups {
        match GroupKind::from_number(group.kind) {
            Some(kind @ GroupKind::Compact) => {
                walk_group(forest.compact_nodes, forest.roots, keys, group, kind, &mut visit);
            }
            Some(kind @ GroupKind::Wide) => {
                walk_group(forest.wide_nodes, forest.roots, keys, group, kind, &mut visit);
            }
            Some(GroupKind::Categorical) => walk_singly(forest, keys, features, group, &mut visit),
            None => {}
        }
    }
}

/// Walks a group in lock step.
#[inline(always)]
fn walk_group<N: LockStepNode>(
    nodes: &[N],
    roots: &[u32],
    keys: &[u32],
    group: &Group,
    kind: GroupKind,
    visit: &mut impl FnMut(usize, Leaf),
) {
    let first = group.first as usize;
    let roots = roots.get(first..first + group.count as usize).unwrap_or_default();
    let mut visit = |lane: usize, node: usize| {
        // SAFETY: lock_step gives indices of nodes.
        let key = unsafe { nodes.get_unchecked(node) }.key();
        visit(first + lane, Leaf { kind, node: node as u32, key });
    };
    if let Some(roots) = roots.first_chunk::<LANES>() {
        let leaves = lock_step(nodes, keys, *roots, group.depth);
        leaves.into_iter().enumerate().for_each(|(lane, node)| visit(lane, node));
        return;
    }
    // The last group of its kind. Lanes without a tree walk another's once more: that costs less
    // than to walk what is left over in ever smaller parts, each of which waits for itself.
    macro_rules! in_lanes {
        ($lanes:literal) => {{
            let padded = std::array::from_fn(|lane| {
                roots.get(lane).or(roots.last()).map_or(0, |root| *root)
            });
            let leaves = lock_step::<N, $lanes>(nodes, keys, padded, group.depth);
            leaves
                .into_iter()
                .take(roots.len())
                .enumerate()
                .for_each(|(lane, node)| visit(lane, node));
        }};
    }
    match roots.len() {
        0 => {}
        1..=4 => in_lanes!(4),
        5..=8 => in_lanes!(8),
        9..=12 => in_lanes!(12),
        _ => in_lanes!(16),
    }
}

/// Walks `L` trees from their roots, `depth` steps each; gives the indices of the nodes reached.
#[inline(always)]
fn lock_step<N: LockStepNode, const L: usize>(
    nodes: &[N],
    keys: &[u32],
    roots: [u32; L],
    depth: u32,
) -> [usize; L] {
    let mut at = roots.map(|root| root as usize);
    for _ in 0..depth {
        for place in &mut at {
            // SAFETY: the check of the image (layout::check) found every root to be a node; every
            // node's slot to be at most leaf_slot; both children of every split to be nodes; and
            // the slot of every leaf, whose skip is 0, to be leaf_slot. RowKeys holds leaf_slot + 1
            // keys, of which the last is always u32::MAX and so below no leaf's key: a walk stays
            // at a leaf. By induction `place` is always the index of a node.
            let (node, key) = unsafe {
                let node = nodes.get_unchecked(*place);
                (node, *keys.get_unchecked(node.slot()))
            };
            *place += node.skip() as usize + usize::from(key < node.key());
        }
    }
    at
}

/// Walks the trees of a group one after another, categorical splits included.
#[inline(never)]
fn walk_singly(
    forest: &Forest<'_>,
    keys: &[u32],
    features: &[f32],
    group: &Group,
    visit: &mut impl FnMut(usize, Leaf),
) {
    let first = group.first as usize;
    let roots = forest.roots.get(first..first + group.count as usize).unwrap_or_default();
    for (lane, root) in roots.iter().enumerate() {
        let mut at = *root;
        for _ in 0..group.depth {
            at = step(forest, keys, features, at);
        }
        if let Some(leaf) = forest.wide_nodes.get(at as usize) {
            visit(first + lane, Leaf { kind: GroupKind::Categorical, node: at, key: leaf.key });
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
