//! Rank search by scalar loads, where gathers are slow or missing.
//!
//! A column has at most 255 thresholds, so ranks are bytes. Columns of a feature with more thresholds
//! are searched together: first for the column, then in its search tree.

use crate::compiled::tiles::{LargestTree, MAX_RANKS, MAX_TREE};
use crate::eval::block::types::{BLOCK, BlockValues};

/// Returns whether a value goes right of a threshold.
#[inline(always)]
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "what is not below includes NaN")]
fn not_below<const MISSING_RIGHT: bool>(value: f32, threshold: f32) -> bool {
    if MISSING_RIGHT { !(value < threshold) } else { value >= threshold }
}

/// Returns the ranks of the first `rows` values, eight searches at a time. A tree has 32 to 256 places,
/// a power of two.
#[inline(always)]
pub(super) fn ranks<const MISSING_RIGHT: bool>(
    values: &BlockValues,
    rows: usize,
    tree: &[f32],
) -> [u8; BLOCK] {
    let mut ranks = [0u8; BLOCK];
    assert!((32..=256).contains(&tree.len()) && tree.len().is_power_of_two(), "a search tree");
    let levels = tree.len().ilog2();
    let chunks = values.0.as_chunks::<8>().0.iter().zip(ranks.as_chunks_mut::<8>().0);
    for (values, ranks) in chunks.take(rows.div_ceil(8)) {
        let mut at = [1usize; 8];
        for _ in 0..levels {
            for (at, value) in at.iter_mut().zip(values) {
                // SAFETY: before the last step a place is below half the number of nodes, a power of
                // two, so `levels` steps stay within the tree.
                let threshold = unsafe { *tree.get_unchecked(*at) };
                *at = 2 * *at + usize::from(not_below::<MISSING_RIGHT>(*value, threshold));
            }
        }
        *ranks = at.map(|at| (at - tree.len()) as u8);
    }
    ranks
}

/// Returns the ranks of the first `rows` values among the thresholds of successive columns,
/// [`MAX_RANKS`] each except for the last. `trees` are theirs, at most
/// [`MAX_SHARING`](crate::compiled::tiles::MAX_SHARING).
#[inline(always)]
pub(super) fn wide_ranks<const MISSING_RIGHT: bool>(
    values: &BlockValues,
    rows: usize,
    trees: &[LargestTree],
) -> [u16; BLOCK] {
    let mut ranks = [0u16; BLOCK];
    assert!(!trees.is_empty(), "search trees");
    let chunks = values.0.as_chunks::<8>().0.iter().zip(ranks.as_chunks_mut::<8>().0);
    for (values, ranks) in chunks.take(rows.div_ceil(8)) {
        let mut columns = [0usize; 8];
        let mut left = trees.len();
        while left > 1 {
            let half = left / 2;
            for (column, value) in columns.iter_mut().zip(values) {
                // SAFETY: a column is at most the number of trees minus the remaining ones, so half of
                // these more is a valid index.
                let tree = unsafe { trees.get_unchecked(*column + half) };
                let first = tree[MAX_TREE / 2];
                *column += half * usize::from(not_below::<MISSING_RIGHT>(*value, first));
            }
            left -= half;
        }
        let mut at = [1usize; 8];
        for _ in 0..MAX_TREE.ilog2() {
            for ((at, column), value) in at.iter_mut().zip(columns).zip(values) {
                // SAFETY: as above, and as in `ranks`.
                let threshold = unsafe { *trees.get_unchecked(column).get_unchecked(*at) };
                *at = 2 * *at + usize::from(not_below::<MISSING_RIGHT>(*value, threshold));
            }
        }
        for ((rank, column), at) in ranks.iter_mut().zip(columns).zip(at) {
            *rank = (MAX_RANKS * column + at - MAX_TREE) as u16;
        }
    }
    ranks
}

/// Returns the rank in one of the columns.
#[inline(always)]
pub(super) fn rank_in(wide: u16, column: usize) -> u8 {
    wide.saturating_sub((MAX_RANKS * column) as u16).min(MAX_RANKS as u16) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::tiles::MAX_SHARING;
    use crate::lower::tiles::columns::search_tree;
    use crate::random::Random;

    #[test]
    fn searching_all_columns_finds_the_rank_in_each() {
        let mut random = Random(5);
        for columns in [1, 2, 3, 8, 20, MAX_SHARING] {
            let count = MAX_RANKS * (columns - 1) + 1 + random.below(MAX_RANKS);
            let mut thresholds: Vec<f32> =
                (0..count).map(|_| f32::from_bits(random.next() as u32)).collect();
            thresholds.retain(|threshold| threshold.is_finite());
            thresholds.sort_unstable_by(f32::total_cmp);
            thresholds.dedup();
            let tree = |part: &[f32]| -> LargestTree {
                search_tree(part, MAX_TREE.ilog2()).unwrap().try_into().unwrap()
            };
            let trees: Vec<_> = thresholds.chunks(MAX_RANKS).map(tree).collect();
            let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, f32::MAX, f32::MIN];
            let mut values = BlockValues([0.0; BLOCK]);
            for value in &mut values.0 {
                let threshold = thresholds[random.below(thresholds.len())];
                let near = [threshold, threshold.next_up(), threshold.next_down()];
                let first = thresholds[random.below(trees.len()) * MAX_RANKS];
                *value = match random.below(8) {
                    0 => special[random.below(special.len())],
                    1 => first.next_down(),
                    2 => first,
                    _ => near[random.below(3)],
                };
            }
            let rows = 1 + random.below(BLOCK);
            let wide = [
                wide_ranks::<false>(&values, rows, &trees),
                wide_ranks::<true>(&values, rows, &trees),
            ];
            for (column, tree) in trees.iter().enumerate() {
                let own = [ranks::<false>(&values, rows, tree), ranks::<true>(&values, rows, tree)];
                for (wide, own) in wide.iter().zip(own) {
                    for (wide, own) in wide.iter().zip(own).take(rows) {
                        assert_eq!(rank_in(*wide, column), own);
                    }
                }
            }
        }
    }
}
