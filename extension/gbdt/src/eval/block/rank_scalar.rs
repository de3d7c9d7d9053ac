//! The search of ranks by loads of one number each, where gathers are slower or missing.

use super::{BLOCK, Values};

/// Whether a value goes right of a threshold.
#[inline(always)]
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "what is not below includes NaN")]
fn not_below<const MISSING_RIGHT: bool>(value: f32, threshold: f32) -> bool {
    if MISSING_RIGHT { !(value < threshold) } else { value >= threshold }
}

/// The ranks of the first `rows` values, eight searches at a time. A tree has 32 to 256 places, a
/// power of two; the ranks in any other are 0.
#[inline(always)]
pub(super) fn ranks<const MISSING_RIGHT: bool>(
    values: &Values,
    rows: usize,
    tree: &[f32],
) -> [u8; BLOCK] {
    let mut ranks = [0u8; BLOCK];
    if !(32..=256).contains(&tree.len()) || !tree.len().is_power_of_two() {
        return ranks;
    }
    let levels = tree.len().ilog2();
    let chunks = values.0.as_chunks::<8>().0.iter().zip(ranks.as_chunks_mut::<8>().0);
    for (values, ranks) in chunks.take(rows.div_ceil(8)) {
        let mut at = [1usize; 8];
        for _ in 0..levels {
            for (at, value) in at.iter_mut().zip(values) {
                // SAFETY: before the last step a place is below half of the number of nodes, a
                // power of two, so that after `levels` steps none has left the tree.
                let threshold = unsafe { *tree.get_unchecked(*at) };
                *at = 2 * *at + usize::from(not_below::<MISSING_RIGHT>(*value, threshold));
            }
        }
        *ranks = at.map(|at| (at - tree.len()) as u8);
    }
    ranks
}
