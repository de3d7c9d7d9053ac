//! Trees of several outputs: the values of a leaf, one per output, are added together, row by row.
//!
//! A compiled model has such a tree once per output, each with the leaves of its output. They become vectors here, so
//! that the leaf of a row is found once, and its values are one or two registers.
use crate::compiled::sections::{BASE_MARGINS, SOURCES, Sections, TILE_GROUPS};
use crate::compiled::tiles::{TILE_LEVELS, TileGroup};
use crate::eval::block::types::BLOCK;
use crate::eval::sum::Sum;

/// Returns whether the outputs of a model's trees can be added together, and not one after another.
pub(super) fn can_be(compiled: Sections<'_>) -> bool {
    let outputs = compiled.get(BASE_MARGINS).len();
    let first_tree = compiled.get(SOURCES).get(..outputs).unwrap_or_default();
    let in_tile = |group: &TileGroup| group.below == 0 && group.levels <= TILE_LEVELS;
    first_tree.len() > 1
        && first_tree.iter().all(|source| *source == first_tree[0])
        && compiled.get(TILE_GROUPS).iter().all(in_tile)
}

/// Makes the vectors of a tree's leaves, which are given for each output.
pub(super) fn set<'a, S: Sum + 'a>(
    vectors: &mut Vec<S>,
    leaves: impl ExactSizeIterator<Item = &'a [S]>,
) {
    let together = leaves.len();
    for (output, leaves) in leaves.enumerate() {
        vectors.resize(together * leaves.len(), S::ZERO);
        let values = vectors.iter_mut().skip(output).step_by(together);
        values.zip(leaves).for_each(|(value, leaf)| *value = *leaf);
    }
}

/// Implements [`crate::eval::block::types::BlockKernel::add_vectors`].
///
/// # Safety
/// There are `COUNT` values at each index, and at least as many sums of each row, the last one's included.
#[inline(always)]
pub(super) unsafe fn add<S: Sum, const COUNT: usize>(
    indices: &[u8; BLOCK],
    vectors: &[S],
    stride: usize,
    sums: &mut [S],
) {
    for (sums, index) in sums.chunks_mut(stride).zip(indices) {
        let first = usize::from(*index) * COUNT;
        debug_assert!(first + COUNT <= vectors.len() && sums.len() >= COUNT, "vectors");
        // SAFETY: guaranteed by the caller.
        unsafe {
            let vector: [S; COUNT] = *vectors.as_ptr().add(first).cast();
            let sums = sums.as_mut_ptr().cast::<[S; COUNT]>();
            let mut new = *sums;
            new.iter_mut().zip(vector).for_each(|(new, value)| *new += value);
            *sums = new;
        }
    }
}
