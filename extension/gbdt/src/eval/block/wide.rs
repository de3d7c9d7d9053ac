//! Leaves of tiles of more than eight levels, whose indices have 16 bits.

use super::instructions::{Instructions, LookUp};
use super::{BLOCK, PathBits, Sums};
use crate::eval::sum::Sum;
use crate::forest::tiles::{MAX_LEVELS, TILE_LEVELS};

/// See [`super::BlockKernel::add_wide`].
///
/// # Safety
/// The processor has the instructions; there are 2^levels leaves, and 9 to 16 levels.
#[inline(always)]
pub(super) unsafe fn add<L: LookUp, S: Sum>(
    path: &PathBits,
    rows: usize,
    levels: u32,
    leaves: &[S],
    lanes: &[u16; BLOCK],
    sums: &mut Sums<S>,
) {
    debug_assert!((TILE_LEVELS + 1..=MAX_LEVELS).contains(&levels), "levels");
    let upper = levels.saturating_sub(TILE_LEVELS);
    let (first, last) = path.split_at(upper as usize % path.len());
    for word in 0..rows.min(BLOCK).div_ceil(64) {
        // SAFETY: the caller's promise; there are eight words.
        let (high, low) = unsafe {
            let high = L::Masks::leaf_indices(first, word, upper);
            (high, L::Masks::leaf_indices(last, word, TILE_LEVELS))
        };
        for (row, (high, low)) in (64 * word..).zip(high.into_iter().zip(low)) {
            let index = usize::from(high) << TILE_LEVELS | usize::from(low);
            let lane = if L::IN_ORDER { row } else { usize::from(lanes[row]) };
            // SAFETY: the caller's promise: an index is below 2^levels, the number of leaves.
            sums.0[lane % BLOCK] += unsafe { *leaves.get_unchecked(index) };
        }
    }
}
