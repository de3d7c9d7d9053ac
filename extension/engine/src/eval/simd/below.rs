//! Below the tiles of deep trees: one tree, several rows at a time.
//!
//! The way through its tile brings a row to a node of the lock step, from which it goes on. Rows that
//! have come to a leaf stay there; once every few steps it is seen whether all have.
#![allow(
    unsafe_code,
    reason = "the kernel indexes nodes and keys that the image's check has vouched for"
)]

use super::BLOCK;
use super::block::Rows;
use crate::eval::key::{leaf_slot, set_keys};
use crate::eval::scalar::{LANES, step};
use crate::layout::{Forest, GroupKind, LockStepNode};

/// Steps after which it is seen whether all rows have come to a leaf.
const STRIDE: u32 = 4;

/// The keys of a block's rows.
#[derive(Clone, Debug, Default)]
pub(super) struct RowsBelow {
    /// The last of each row is `u32::MAX`.
    keys: Vec<u32>,
    /// Keys a row.
    width: usize,
}

impl RowsBelow {
    /// Takes rows.
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
            if let Some((_, slots)) = keys.split_last_mut() {
                set_keys(slots, features);
            }
        }
    }
}

/// How one tree goes on below its tile.
pub(super) struct Below<'a> {
    /// By the number of the way through the tile, the index of a node of the kind.
    pub(super) exits: &'a [u32],
    pub(super) kind: GroupKind,
    /// To the deepest leaf.
    pub(super) steps: u32,
}

impl Below<'_> {
    /// Calls `visit` with each row and the value of its leaf.
    pub(super) fn add(
        &self,
        forest: &Forest<'_>,
        rows: &Rows<'_>,
        keys: &RowsBelow,
        numbers: &[u8; BLOCK],
        mut visit: impl FnMut(usize, f32),
    ) {
        match self.kind {
            GroupKind::Compact => self.lock_step(forest.compact_nodes, rows, keys, numbers, visit),
            GroupKind::Wide => self.lock_step(forest.wide_nodes, rows, keys, numbers, visit),
            GroupKind::Categorical => {
                let features = rows.features.chunks_exact(rows.num_features);
                let keys = keys.keys.chunks_exact(keys.width);
                let rows = features.zip(keys).zip(numbers).take(rows.count);
                for (row, ((features, keys), number)) in rows.enumerate() {
                    let mut at = self.exits.get(usize::from(*number)).copied().unwrap_or(0);
                    for _ in 0..self.steps {
                        let next = step(forest, keys, features, at);
                        if next == at {
                            break;
                        }
                        at = next;
                    }
                    let leaf = forest.wide_nodes.get(at as usize);
                    visit(row, leaf.map_or(0.0, |leaf| f32::from_bits(leaf.key)));
                }
            }
        }
    }

    fn lock_step<N: LockStepNode>(
        &self,
        nodes: &[N],
        rows: &Rows<'_>,
        keys: &RowsBelow,
        numbers: &[u8; BLOCK],
        mut visit: impl FnMut(usize, f32),
    ) {
        let width = keys.width;
        let chunks = keys.keys.chunks_exact(LANES * width).zip(numbers.as_chunks::<LANES>().0);
        for (chunk, (keys, numbers)) in chunks.enumerate().take(rows.count.div_ceil(LANES)) {
            let mut at = numbers
                .map(|number| self.exits.get(usize::from(number)).map_or(0, |exit| *exit as usize));
            let mut left = self.steps;
            while left > 0 {
                for _ in 0..left.min(STRIDE) {
                    for (lane, place) in at.iter_mut().enumerate() {
                        // SAFETY: the image's check found every exit to be a node (and some node to
                        // be there), both children of every split to be nodes, every slot to be at
                        // most leaf_slot, which is below width, and that of every leaf, whose skip is
                        // 0, to be leaf_slot, where keys has u32::MAX: a walk stays at a leaf. keys
                        // has width keys for every lane.
                        let (node, key) = unsafe {
                            let node = nodes.get_unchecked(*place);
                            (node, *keys.get_unchecked(lane * width + node.slot()))
                        };
                        *place += node.skip() as usize + usize::from(key < node.key());
                    }
                }
                left = left.saturating_sub(STRIDE);
                // SAFETY: as above.
                if left > 0 && at.iter().all(|at| unsafe { nodes.get_unchecked(*at) }.skip() == 0) {
                    break;
                }
            }
            for (lane, at) in at.into_iter().enumerate().take(rows.count - chunk * LANES) {
                // SAFETY: as above.
                let leaf = unsafe { nodes.get_unchecked(at) };
                visit(chunk * LANES + lane, f32::from_bits(leaf.key()));
            }
        }
    }
}
