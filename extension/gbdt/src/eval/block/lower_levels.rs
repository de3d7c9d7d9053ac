//! Below the tiles of deep trees: one tree, several rows at a time.
//!
//! The path through its tile leads a row to a node of interleaved traversal, from which it goes on.
#![allow(
    unsafe_code,
    reason = "the kernel indexes nodes and keys that the image's check has vouched for"
)]

use super::{BLOCK, Rows};
use crate::eval::interleaved::{Decide, Keys, KeysAndSets, NodeSections, interleaved};
use crate::eval::row_keys::set_keys;
use crate::forest::key::leaf_slot;
use crate::forest::records::{GroupKind, InterleavedNode, LANES};
use crate::verified;

#[derive(Clone, Debug, Default)]
pub(super) struct BlockKeys {
    /// The last of each row is `u32::MAX`.
    keys: Vec<u32>,
    width: usize,
}

impl BlockKeys {
    pub(super) fn set(&mut self, rows: &Rows<'_>) {
        let width = leaf_slot(rows.num_features) + 1;
        if self.width != width {
            // Lanes without a row walk too, and stay at leaves only if their last key is u32::MAX.
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

/// How one tree goes on below its tile.
pub(super) struct LowerLevels<'a> {
    /// By leaf index of the tile, the index of a node of the kind.
    pub(super) exits: &'a [u32],
    pub(super) kind: GroupKind,
    /// To the deepest leaf.
    pub(super) steps: u32,
}

impl LowerLevels<'_> {
    /// Calls `visit` with each row and the key of its leaf.
    ///
    /// # Safety
    /// The nodes are those of the image that the exits are of, and the keys have been set to the rows. The
    /// indices are of leaves of the tile.
    pub(super) unsafe fn add(
        &self,
        nodes: &NodeSections<'_>,
        rows: &Rows<'_>,
        keys: &BlockKeys,
        leaf_indices: &[u8; BLOCK],
        mut visit: impl FnMut(usize, u32),
    ) {
        let features = rows.features.chunks(LANES * rows.num_features);
        let keys = keys.keys.chunks_exact(LANES * keys.width).map(|lanes| (lanes, keys.width));
        let chunks = keys.zip(features).zip(leaf_indices.as_chunks::<LANES>().0);
        for (chunk, (((keys, width), features), indices)) in chunks.enumerate() {
            // SAFETY: the caller's promise; a tile has as many exits as leaves.
            let exit = |index: u8| unsafe {
                *verified::at(self.exits, usize::from(index), "a tile's path has an exit")
            };
            let starts = indices.map(exit);
            let keys = Keys { keys, width };
            let leaves = match self.kind {
                GroupKind::Compact => self.leaves(nodes.compact, &keys, starts),
                GroupKind::Wide => self.leaves(nodes.wide, &keys, starts),
                GroupKind::Categorical => {
                    let num_features = rows.num_features;
                    let keys = KeysAndSets { keys, features, num_features, nodes };
                    self.leaves(nodes.wide, &keys, starts)
                }
            };
            let first = chunk * LANES;
            let count = rows.count.saturating_sub(first);
            leaves
                .into_iter()
                .take(count)
                .enumerate()
                .for_each(|(lane, leaf)| visit(first + lane, leaf));
        }
    }

    /// The keys of the leaves that lanes come to.
    fn leaves<N: InterleavedNode>(
        &self,
        nodes: &[N],
        keys: &impl Decide<N>,
        starts: [u32; LANES],
    ) -> [u32; LANES] {
        // SAFETY: the image's check found every exit to be a node, and some node to be there; each
        // lane has keys, of which the last is u32::MAX.
        let at = unsafe { interleaved(nodes, keys, starts, self.steps) };
        at.map(|at| {
            // SAFETY: interleaved returns indices of nodes.
            let leaf = unsafe { verified::at(nodes, at, "a walk ends at a node") };
            verified::check(leaf.right_offset() == 0, "a walk ends at a leaf");
            leaf.key()
        })
    }
}
