//! Interleaved traversal: one row, several trees at a time, in portable code.
//!
//! Traversing one tree waits at every step for the node and then for the row's key; traversing
//! [`LANES`] trees at once fills that time. There is no branch on data: a step adds a comparison's
//! result to a link, leaves link to themselves, and a group is walked to the depth of its deepest tree.
//! Outcomes of categorical splits are looked up beforehand, so that these take the same step; without
//! outcomes, a step branches on the kind of split, the only mispredicted branch. Leaves are returned in
//! tree order.
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

/// Steps before the first check of whether all trees have reached a leaf.
const STRIDE: u32 = 8;

/// The sections read at every step.
#[derive(Clone, Copy)]
pub(crate) struct NodeSections<'a> {
    pub(crate) compact: &'a [CompactNode],
    pub(crate) wide: &'a [WideNode],
    /// One per wide node, or empty.
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
    /// The kind of node.
    pub(crate) kind: GroupKind,
    /// Index among the nodes of this kind.
    pub(crate) node: u32,
    /// Finds the leaf's value: see [`crate::eval::sum::Sum::of_key`].
    pub(super) key: u32,
}

/// Calls `visit` with the index of each tree of the model and the row's leaf in it, in order.
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
    // Outcome nodes read slots that only rows with outcomes have.
    if compiled.outcome_slots() != Some(keys.as_slice().len()) {
        nodes.outcome = &[];
    }
    for group in compiled.get(GROUPS) {
        let (first, count) = (group.first as usize, group.count as usize);
        // SAFETY: `compiled::verify::groups` has checked that each group's trees have roots.
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
    // All lanes use the keys of the one row.
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
        // SAFETY: `interleaved` returns indices of nodes.
        let leaf = unsafe { verified::at(nodes, node, "a walk ends at a node") };
        verified::check(leaf.right_offset() == 0, "a walk ends at a leaf");
        visit(lane, Leaf { kind, node: node as u32, key: leaf.key() });
    };
    if let Some(starts) = starts.first_chunk::<LANES>() {
        // SAFETY: the starts are nodes, and the keys are the row's: see `GoesLeft`.
        let leaves = unsafe { interleaved(nodes, keys, *starts, depth) };
        leaves.into_iter().enumerate().for_each(|(lane, node)| visit(lane, node));
        return;
    }
    // The last group of a kind. Lanes without a tree repeat another's walk, which is faster than
    // walking the rest in ever smaller parts.
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
    // SAFETY: as for this function.
    unsafe {
        steps(nodes, keys, &mut at, depth.min(STRIDE));
        if depth > STRIDE {
            go_on(nodes, keys, &mut at, depth - STRIDE);
        }
    }
    at
}

/// Takes further steps in deep trees, which may be chains, checking now and then whether all walks have
/// reached a leaf.
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
    // SAFETY: as for [`interleaved`].
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
            // SAFETY: verification (compiled::verify) has checked that every root and every exit of a
            // tile is a node, that slots are within the row, that both children of splits are nodes,
            // and that the slot of leaves, whose right_offset is 0, is leaf_slot, for which nothing
            // decides left: a walk stays at a leaf. By induction `at` is always the index of a node.
            let (node, left) = unsafe {
                let node = verified::at(nodes, *at, "links lead to nodes");
                (node, keys.left(node, lane))
            };
            *at += node.right_offset() as usize + usize::from(left);
        }
    }
}

/// Decides at nodes.
pub(crate) trait GoesLeft<N> {
    /// Returns whether a lane's row goes left at a node.
    ///
    /// # Safety
    /// The node belongs to the compiled model of the keys, and the lane has keys.
    unsafe fn left(&self, node: &N, lane: usize) -> bool;
}

/// The keys of rows, `width` each: slots up to the compiled model's leaf_slot, whose key `u32::MAX` is
/// below no leaf's key, then words for outcome nodes. With a width of 0, lanes share a row.
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
        // SAFETY: slots are at most leaf_slot, or those of outcomes.
        unsafe { *verified::at(self.keys, lane * self.width + slot, "a row has every slot") }
    }
}

impl<N: InterleavedNode> GoesLeft<N> for Keys<'_> {
    #[inline(always)]
    unsafe fn left(&self, node: &N, lane: usize) -> bool {
        // SAFETY: the node and the keys belong to one compiled model.
        node.is_left(unsafe { self.key(node.slot(), lane) })
    }
}

/// Keys, and for categorical splits the rows' features, `num_features` each if the keys have a width.
#[derive(Clone, Copy)]
pub(crate) struct KeysAndSets<'a> {
    pub(crate) keys: Keys<'a>,
    pub(crate) features: &'a [f32],
    pub(crate) num_features: usize,
    pub(crate) nodes: &'a NodeSections<'a>,
}

impl KeysAndSets<'_> {
    /// Returns a lane's code, and whether its value is one: see [`crate::ensemble::is_in_set`].
    #[inline(always)]
    fn code(&self, slot: usize, lane: usize) -> (u32, bool) {
        let row = if self.keys.width == 0 { 0 } else { lane * self.num_features };
        // Lanes after the last row have no features, and their results are unused.
        let value = self.features.get(row + slot / 2).copied().unwrap_or(f32::NAN);
        (value as u32, (0.0..CODE_END).contains(&value))
    }
}

impl GoesLeft<WideNode> for KeysAndSets<'_> {
    #[inline(always)]
    unsafe fn left(&self, node: &WideNode, lane: usize) -> bool {
        // SAFETY: as for this function.
        let key = unsafe { self.keys.key(node.slot(), lane) };
        // Most splits are numerical, so this is mostly predicted.
        if node.kind != CATEGORICAL {
            return key < node.key;
        }
        let (code, is_code) = self.code(node.slot(), lane);
        // SAFETY: `compiled::verify::categorical_splits` has checked that each has a set.
        let span = unsafe {
            verified::at(self.nodes.sets, node.key as usize, "a categorical split has a set")
        };
        let within = is_code & (code / 32 < span.count);
        let word = span.start + ((code / 32) & u32::from(within).wrapping_neg());
        // An empty set may follow the last word; its word is unused.
        let word = self.nodes.set_words.get(word as usize).copied().unwrap_or(0);
        let member = within & (word >> (code % 32) & 1 == 1);
        // A missing value is no code, and has the key u32::MAX if the default is right.
        !member & (key != u32::MAX)
    }
}
