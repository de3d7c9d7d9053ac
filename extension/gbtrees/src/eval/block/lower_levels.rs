//! The levels below tiles: one tree, several rows at a time.
//!
//! The path through a tile leads a row to a node, from which interleaved traversal continues.
#![allow(
    unsafe_code,
    reason = "the kernel indexes nodes and keys that the compiled model's check has vouched for"
)]

use crate::compiled::aligned::prefetch_all;
use crate::compiled::records::leaf_slot;
use crate::compiled::records::{GroupKind, InterleavedNode, LANES};
use crate::compiled::sections::{COMPACT_NODES, ROOTS, Sections, WIDE_NODES};
use crate::eval::block::types::{BLOCK, BlockRows};
use crate::eval::interleaved::{GoesLeft, Keys, KeysAndSets, NodeSections};
use crate::eval::row_keys::set_keys;
use crate::memory::allocated;
use crate::verified;

#[derive(Clone, Debug, Default)]
pub(super) struct BlockKeys {
    /// Each row's last key is `u32::MAX`.
    keys: Vec<u32>,
    width: usize,
}

impl BlockKeys {
    pub(super) fn bytes(&self) -> usize {
        allocated(&self.keys)
    }

    pub(super) fn set(&mut self, rows: &BlockRows<'_>) {
        let width = leaf_slot(rows.num_features) + 1;
        if self.width != width {
            // Unused lanes walk too, and stay at leaves only if their last key is u32::MAX.
            self.keys.clear();
            self.keys.resize(BLOCK * width, u32::MAX);
            self.width = width;
        }
        let features = rows.features.chunks_exact(rows.num_features);
        for (keys, features) in self.keys.chunks_exact_mut(self.width).zip(features) {
            let leaf_slot = keys.len() - 1;
            set_keys(&mut keys[..leaf_slot], features);
        }
    }
}

/// The key of each row's leaf.
pub(super) type LeafKeys = [u32; BLOCK];

/// Steps between two checks of which rows have reached a leaf.
const STRIDE: u32 = 4;

/// The continuation of a tree below its tile.
pub(super) struct LowerLevels<'a> {
    /// Node indices by the tile's leaf index.
    pub(super) exits: &'a [u32],
    pub(super) kind: GroupKind,
    /// Steps to the deepest leaf.
    pub(super) steps: u32,
}

/// Maximum nodes to prefetch before a walk, to fit in the second-level cache next to other data.
const MAX_FETCHED: usize = 16 << 10;

impl LowerLevels<'_> {
    /// Prefetches the nodes of another tree of the model, of the same kind.
    pub(super) fn fetch_ahead(&self, compiled: Sections<'_>, tree: usize) {
        fn fetch<N>(nodes: &[N], root: usize, next: usize) {
            let end = next.clamp(root, nodes.len()).min(root + MAX_FETCHED);
            prefetch_all(&nodes[root..end]);
        }
        let roots = compiled.get(ROOTS);
        let root = roots[tree] as usize;
        let next = roots.get(tree + 1).map_or(usize::MAX, |root| *root as usize);
        match self.kind {
            GroupKind::Compact => fetch(compiled.get(COMPACT_NODES), root, next),
            GroupKind::Wide | GroupKind::Categorical => fetch(compiled.get(WIDE_NODES), root, next),
        }
    }

    /// Finds the key of each row's leaf.
    ///
    /// # Safety
    /// Nodes and exits are of one compiled model, keys have been set for the rows, and indices are of
    /// the tile's leaves.
    pub(super) unsafe fn find_leaves(
        &self,
        nodes: &NodeSections<'_>,
        rows: &BlockRows<'_>,
        keys: &BlockKeys,
        leaf_indices: &[u8; BLOCK],
        leaf_keys: &mut LeafKeys,
    ) {
        let keys = Keys { keys: &keys.keys, width: keys.width };
        let (indices, num_features) = (&leaf_indices[..rows.count.min(BLOCK)], rows.num_features);
        // SAFETY: as for this function.
        unsafe {
            match self.kind {
                GroupKind::Compact => {
                    self.walk_from_exits(nodes.compact, &keys, indices, leaf_keys);
                }
                GroupKind::Wide => self.walk_from_exits(nodes.wide, &keys, indices, leaf_keys),
                GroupKind::Categorical => {
                    let features = rows.features;
                    let keys = KeysAndSets { keys, features, num_features, nodes };
                    self.walk_from_exits(nodes.wide, &keys, indices, leaf_keys);
                }
            }
        }
    }

    /// # Safety
    /// As for [`LowerLevels::find_leaves`]; there are keys for as many rows as indices, rounded up to a
    /// multiple of [`LANES`].
    unsafe fn walk_from_exits<N: InterleavedNode>(
        &self,
        nodes: &[N],
        keys: &impl GoesLeft<N>,
        leaf_indices: &[u8],
        leaf_keys: &mut LeafKeys,
    ) {
        let mut at = [self.exits[0]; BLOCK];
        for (at, index) in at.iter_mut().zip(leaf_indices) {
            let index = usize::from(*index);
            // SAFETY: a tile has as many exits as leaves.
            *at = unsafe { *verified::at(self.exits, index, "a tile's path has an exit") };
        }
        // SAFETY: exits are nodes, and the keys the rows'.
        unsafe { walk(nodes, keys, &mut at, leaf_indices.len(), self.steps, leaf_keys) };
    }
}

/// Walks the first `count` rows to their leaves, `steps` at most, and writes the leaves' keys. Rows at a leaf
/// drop out, so that no row waits for the deepest of its neighbours.
///
/// # Safety
/// All rows are at nodes; `keys` can decide every node for each lane, including unused lanes of the
/// last [`LANES`].
#[inline(always)]
unsafe fn walk<N: InterleavedNode>(
    nodes: &[N],
    keys: &impl GoesLeft<N>,
    at: &mut [u32; BLOCK],
    count: usize,
    mut steps: u32,
    leaf_keys: &mut LeafKeys,
) {
    let mut walking: [u16; BLOCK] = std::array::from_fn(|row| row as u16);
    let mut left = count;
    while left > 0 && steps > 0 {
        let stride = steps.min(STRIDE);
        let mut kept = 0;
        for first in (0..left).step_by(LANES) {
            // Lanes after the last walk other rows of the block, which does no harm.
            let rows: [usize; LANES] =
                std::array::from_fn(|lane| usize::from(walking[(first + lane) % BLOCK]) % BLOCK);
            // SAFETY: the rows are at nodes, and have keys.
            let ends = unsafe { go_on(nodes, keys, rows.map(|row| at[row]), &rows, stride) };
            for (lane, (row, end)) in rows.into_iter().zip(ends).enumerate() {
                at[row] = end as u32;
                walking[kept % BLOCK] = row as u16;
                // SAFETY: a walk ends at a node.
                let node = unsafe { verified::at(nodes, end, "a walk ends at a node") };
                kept += usize::from(first + lane < left && node.right_offset() != 0);
            }
        }
        left = kept;
        steps -= stride;
    }
    // Not at each check, where it would be a tenth of the instructions.
    for (key, end) in leaf_keys.iter_mut().zip(&*at).take(count) {
        // SAFETY: as above.
        let leaf = unsafe { verified::at(nodes, *end as usize, "a walk ends at a node") };
        verified::check(leaf.right_offset() == 0, "a walk ends at a leaf");
        *key = leaf.key();
    }
}

/// # Safety
/// See [`walk`].
#[inline(always)]
unsafe fn go_on<N: InterleavedNode>(
    nodes: &[N],
    keys: &impl GoesLeft<N>,
    starts: [u32; LANES],
    rows: &[usize; LANES],
    steps: u32,
) -> [usize; LANES] {
    let mut at = starts.map(|start| start as usize);
    for _ in 0..steps {
        for (at, row) in at.iter_mut().zip(rows) {
            // SAFETY: as in interleaved traversal, by induction `at` is always the index of a node.
            let (node, left) = unsafe {
                let node = verified::at(nodes, *at, "a walk goes from node to node");
                (node, keys.left(node, *row))
            };
            *at += node.right_offset() as usize + usize::from(left);
        }
    }
    at
}
