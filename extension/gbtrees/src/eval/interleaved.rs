//! Interleaved traversal: one row, several trees at a time, in portable code.
//!
//! A traversal of one tree waits at every step for the node and then for the row's key. Traversing
//! [`LANES`] trees at once fills that time. There is no branch on data: a step adds the result of one
//! comparison to a link, leaves link to themselves, and a group of trees is walked to the depth of its
//! deepest. The outcomes of a row's categorical splits are looked up before, so that such a split takes
//! the same step; in a compiled model without outcomes a step branches on the kind of a split, the one branch
//! that is mispredicted. The leaves are handed over in the order of the trees.
#![allow(
    unsafe_code,
    reason = "the kernel indexes nodes and keys that the compiled model's check has vouched for"
)]

use crate::compiled::records::{
    CATEGORICAL, CompactNode, Group, GroupKind, InterleavedNode, LANES, OutcomeNode, SetSpan,
    WideNode, words_of,
};
use crate::compiled::sections::{
    COMPACT_NODES, GROUPS, OUTCOME_NODES, ROOTS, SET_WORDS, SETS, Sections, WIDE_NODES,
};
use crate::ensemble::CODE_END;
use crate::eval::row_keys::RowKeys;
use crate::verified;

/// Steps that are taken before it is first seen whether all trees have come to a leaf.
const STRIDE: u32 = 8;

/// What a traversal reads at every step.
#[derive(Clone, Copy)]
pub(crate) struct NodeSections<'a> {
    pub(crate) compact: &'a [CompactNode],
    pub(crate) wide: &'a [WideNode],
    /// One per wide node, or none.
    pub(crate) outcome: &'a [OutcomeNode],
    sets: &'a [SetSpan],
    set_words: &'a [u32],
}

impl<'a> NodeSections<'a> {
    #[inline(always)]
    pub(crate) fn of(compiled: Sections<'a>) -> Self {
        NodeSections {
            compact: compiled.get(COMPACT_NODES),
            wide: compiled.get(WIDE_NODES),
            outcome: compiled.get(OUTCOME_NODES),
            sets: compiled.get(SETS),
            set_words: compiled.get(SET_WORDS),
        }
    }

    #[inline(always)]
    pub(crate) fn words(&self, set: u32) -> &'a [u32] {
        words_of(self.sets, self.set_words, set)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Leaf {
    /// Which nodes it is one of.
    pub(crate) kind: GroupKind,
    /// Its index among them.
    pub(crate) node: u32,
    /// What finds its value: see [`crate::eval::sum::Sum::of_key`].
    pub(super) key: u32,
}

/// Calls `visit` with every tree's index and the row's leaf in it, in the order of the trees.
///
/// # Safety
/// `keys` have been set to `features` for this compiled model, with or without outcomes.
#[inline(always)]
pub(crate) unsafe fn walk(
    compiled: Sections<'_>,
    keys: &RowKeys,
    features: &[f32],
    mut visit: impl FnMut(usize, Leaf),
) {
    let (mut nodes, all_roots) = (NodeSections::of(compiled), compiled.get(ROOTS));
    // Nodes of outcomes read slots that only rows with outcomes have.
    if compiled.outcome_slots() != Some(keys.as_slice().len()) {
        nodes.outcome = &[];
    }
    for group in compiled.get(GROUPS) {
        let (first, count) = (group.first as usize, group.count as usize);
        // SAFETY: `compiled::verify::groups` found the trees of each group to have roots.
        let roots =
            unsafe { verified::range(all_roots, first, count, "the trees of a group have roots") };
        let visit = |lane, leaf| visit(first + lane, leaf);
        walk_group(&nodes, group, roots, keys, features, visit);
    }
}

/// Calls `visit` with every lane and its leaf.
#[inline(always)]
fn walk_group(
    nodes: &NodeSections<'_>,
    group: &Group,
    roots: &[u32],
    keys: &RowKeys,
    features: &[f32],
    visit: impl FnMut(usize, Leaf),
) {
    let Group { depth, kind, .. } = *group;
    // All lanes walk with the keys of the one row.
    let keys = Keys { keys: keys.as_slice(), width: 0 };
    match kind {
        GroupKind::Compact => walk_together(nodes.compact, &keys, roots, depth, kind, visit),
        GroupKind::Wide => walk_together(nodes.wide, &keys, roots, depth, kind, visit),
        GroupKind::Categorical if !nodes.outcome.is_empty() => {
            walk_together(nodes.outcome, &keys, roots, depth, kind, visit);
        }
        GroupKind::Categorical => {
            let num_features = keys.keys.len() / 2;
            let keys = KeysAndSets { keys, features, num_features, nodes };
            walk_together(nodes.wide, &keys, roots, depth, kind, visit);
        }
    }
}

/// Walks up to [`LANES`] trees of one kind.
#[inline(always)]
fn walk_together<N: InterleavedNode>(
    nodes: &[N],
    keys: &impl GoesLeft<N>,
    starts: &[u32],
    depth: u32,
    kind: GroupKind,
    mut visit: impl FnMut(usize, Leaf),
) {
    let mut visit = |lane: usize, node: usize| {
        // SAFETY: interleaved returns indices of nodes.
        let leaf = unsafe { verified::at(nodes, node, "a walk ends at a node") };
        verified::check(leaf.right_offset() == 0, "a walk ends at a leaf");
        visit(lane, Leaf { kind, node: node as u32, key: leaf.key() });
    };
    if let Some(starts) = starts.first_chunk::<LANES>() {
        // SAFETY: the starts are nodes, and the keys are those of the row: see `GoesLeft`.
        let leaves = unsafe { interleaved(nodes, keys, *starts, depth) };
        leaves.into_iter().enumerate().for_each(|(lane, node)| visit(lane, node));
        return;
    }
    // The last group of its kind. Lanes without a tree walk another's once more: that costs less
    // than to walk what is left over in ever smaller parts, each of which waits for itself.
    macro_rules! in_lanes {
        ($lanes:literal) => {{
            let last = starts.len() - 1;
            let padded = std::array::from_fn(|lane| starts[lane.min(last)]);
            // SAFETY: as above.
            let leaves: [usize; $lanes] = unsafe { interleaved(nodes, keys, padded, depth) };
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

/// Walks `L` trees, `depth` steps each; returns the indices of the nodes reached.
///
/// # Safety
/// The starts are nodes; `keys` can decide every node in every lane.
#[inline(always)]
pub(super) unsafe fn interleaved<N: InterleavedNode, const L: usize>(
    nodes: &[N],
    keys: &impl GoesLeft<N>,
    starts: [u32; L],
    depth: u32,
) -> [usize; L] {
    let mut at = starts.map(|start| start as usize);
    // SAFETY: the caller's promise.
    unsafe {
        steps(nodes, keys, &mut at, depth.min(STRIDE));
        if depth > STRIDE {
            go_on(nodes, keys, &mut at, depth - STRIDE);
        }
    }
    at
}

/// Further steps in deep trees, which may be chains: it is seen now and then whether all walks have
/// come to a leaf.
///
/// # Safety
/// See [`interleaved`].
#[inline(never)]
unsafe fn go_on<N: InterleavedNode, const L: usize>(
    nodes: &[N],
    keys: &impl GoesLeft<N>,
    at: &mut [usize; L],
    mut depth: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        while depth > 0 && at.iter().any(|at| nodes.get_unchecked(*at).right_offset() != 0) {
            steps(nodes, keys, at, depth.min(STRIDE / 2));
            depth = depth.saturating_sub(STRIDE / 2);
        }
    }
}

/// # Safety
/// See [`interleaved`].
#[inline(always)]
unsafe fn steps<N: InterleavedNode, const L: usize>(
    nodes: &[N],
    keys: &impl GoesLeft<N>,
    at: &mut [usize; L],
    count: u32,
) {
    for _ in 0..count {
        for (lane, at) in at.iter_mut().enumerate() {
            // SAFETY: the check of the compiled model (compiled::verify) found every root and every exit of a
            // tile to be a node; every node's slot to be one of the row's; both children of every
            // split to be nodes; and the slot of every leaf, whose right_offset is 0, to be leaf_slot, for
            // which nothing decides left: a walk stays at a leaf. By induction `at` is always the
            // index of a node.
            let (node, left) = unsafe {
                let node = verified::at(nodes, *at, "links lead to nodes");
                (node, keys.left(node, lane))
            };
            *at += node.right_offset() as usize + usize::from(left);
        }
    }
}

/// What decides at the nodes.
pub(crate) trait GoesLeft<N> {
    /// Whether a lane's row goes left at a node.
    ///
    /// # Safety
    /// The node is one of the compiled model that the keys were set for, and there are keys for the lane.
    unsafe fn left(&self, node: &N, lane: usize) -> bool;
}

/// The keys of rows, of which each has `width`: as many as leaf_slot of the compiled model, and one more,
/// which is `u32::MAX` and so below no leaf's key; for nodes of outcomes those follow. Lanes share a row if
/// the width is 0.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    pub(crate) keys: &'a [u32],
    pub(crate) width: usize,
}

impl Keys<'_> {
    /// # Safety
    /// See [`GoesLeft::left`].
    #[inline(always)]
    unsafe fn key(&self, slot: usize, lane: usize) -> u32 {
        // SAFETY: the caller's promise: slots are at most leaf_slot, or those of outcomes.
        unsafe { *verified::at(self.keys, lane * self.width + slot, "a row has every slot") }
    }
}

impl<N: InterleavedNode> GoesLeft<N> for Keys<'_> {
    #[inline(always)]
    unsafe fn left(&self, node: &N, lane: usize) -> bool {
        // SAFETY: the caller's promise.
        node.is_left(unsafe { self.key(node.slot(), lane) })
    }
}

/// Keys, and for categorical splits the rows' features, of which each row has `num_features` if the
/// keys have a width.
#[derive(Clone, Copy)]
pub(crate) struct KeysAndSets<'a> {
    pub(crate) keys: Keys<'a>,
    pub(crate) features: &'a [f32],
    pub(crate) num_features: usize,
    pub(crate) nodes: &'a NodeSections<'a>,
}

impl KeysAndSets<'_> {
    /// The code of a lane's value, and whether it is one: see [`crate::ensemble::is_in_set`].
    #[inline(always)]
    fn code(&self, slot: usize, lane: usize) -> (u32, bool) {
        let row = if self.keys.width == 0 { 0 } else { lane * self.num_features };
        // Lanes behind the last row have no features: whatever they decide, nobody reads.
        let value = self.features.get(row + slot / 2).copied().unwrap_or(f32::NAN);
        (value as u32, (0.0..CODE_END).contains(&value))
    }
}

impl GoesLeft<WideNode> for KeysAndSets<'_> {
    #[inline(always)]
    unsafe fn left(&self, node: &WideNode, lane: usize) -> bool {
        // SAFETY: the caller's promise.
        let key = unsafe { self.keys.key(node.slot(), lane) };
        // Most splits are not categorical, so that this is mostly predicted.
        if node.kind != CATEGORICAL {
            return key < node.key;
        }
        let (code, is_code) = self.code(node.slot(), lane);
        // SAFETY: `compiled::verify::categorical_splits` found the set of each to be there.
        let span = unsafe {
            verified::at(self.nodes.sets, node.key as usize, "a categorical split has a set")
        };
        let within = is_code & (code / 32 < span.count);
        let word = span.start + ((code / 32) & u32::from(within).wrapping_neg());
        // An empty set may lie behind the last word; what is read for it is not used.
        let word = self.nodes.set_words.get(word as usize).copied().unwrap_or(0);
        let member = within & (word >> (code % 32) & 1 == 1);
        // A missing value, which is no code, has the key u32::MAX where the default is right.
        !member & (key != u32::MAX)
    }
}
