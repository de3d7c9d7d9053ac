//! Rank search with SSE2: a value is compared with many thresholds at once, and those that it reaches are counted.
//!
//! The upper levels of a search tree are counted for all values. They say which of the subtrees below has the other
//! thresholds that a value may reach. A subtree of three or four levels fits into two or four registers, in any order.

use std::arch::x86_64::*;

use crate::compiled::tiles::MAX_TREE;
use crate::eval::block::types::{BLOCK, BlockValues};

/// The most thresholds that are all counted, without subtrees.
const MAX_COUNTED: usize = 12;
/// Levels of a subtree, and of one of a tree of at least [`LARGE_PLACES`].
const SMALL: usize = 3;
const LARGE: usize = 4;
/// Places of a tree from which fewer subtrees outweigh larger ones.
const LARGE_PLACES: usize = 128;
const MAX_SUBTREES: usize = 16;

/// Returns the ranks of the first `rows` values in a search tree of 32 to 256 places, a power of two.
#[inline(always)]
pub(super) fn ranks<const MISSING_RIGHT: bool>(
    values: &BlockValues,
    rows: usize,
    tree: &[f32],
) -> [u8; BLOCK] {
    let places = tree.len();
    assert!((32..=MAX_TREE).contains(&places) && places.is_power_of_two(), "a search tree");
    let mut few = [f32::INFINITY; MAX_COUNTED];
    let finite = tree[1..].iter().filter(|threshold| **threshold < f32::INFINITY);
    if places == 32 && finite.clone().count() <= few.len() {
        few.iter_mut().zip(finite).for_each(|(few, threshold)| *few = *threshold);
        counted::<MISSING_RIGHT>(values, rows, &few)
    } else if places < LARGE_PLACES {
        in_subtrees::<MISSING_RIGHT, SMALL>(values, rows, tree)
    } else {
        in_subtrees::<MISSING_RIGHT, LARGE>(values, rows, tree)
    }
}

/// Counts the thresholds that a value reaches. In a tree of 32 places infinity reaches them all.
#[inline(always)]
fn counted<const MISSING_RIGHT: bool>(
    values: &BlockValues,
    rows: usize,
    few: &[f32; MAX_COUNTED],
) -> [u8; BLOCK] {
    let finite = few.iter().filter(|threshold| **threshold < f32::INFINITY).count();
    let (thresholds, rest) = (few.map(|threshold| [threshold; 4]), 31 - finite);
    by_sixteen::<MISSING_RIGHT>(values, rows, 31, |fours| {
        let found = reached(fours, &thresholds[..finite]);
        let infinity = reached(fours, &[[f32::INFINITY; 4]]);
        std::array::from_fn(|four| {
            // SAFETY: the processor has SSE2.
            unsafe {
                let rest = _mm_mullo_epi16(infinity[four], _mm_set1_epi16(rest as i16));
                _mm_add_epi32(found[four], rest)
            }
        })
    })
}

/// Counts the thresholds that a value reaches above subtrees of `LEVELS` levels, and those in the subtree behind these.
#[inline(always)]
fn in_subtrees<const MISSING_RIGHT: bool, const LEVELS: usize>(
    values: &BlockValues,
    rows: usize,
    tree: &[f32],
) -> [u8; BLOCK] {
    let subtrees = tree.len() >> LEVELS;
    let mut above = [[0.0; 4]; MAX_SUBTREES];
    above.iter_mut().zip(tree).for_each(|(above, threshold)| *above = [*threshold; 4]);
    let above = &above[1..subtrees];
    // The first two levels of each subtree; what reaches infinity reaches all places in any case.
    let mut tops = [[f32::INFINITY; 4]; MAX_SUBTREES];
    for (subtree, top) in tops.iter_mut().enumerate().take(subtrees) {
        let root = subtrees + subtree;
        (top[0], top[1], top[2]) = (tree[root], tree[2 * root], tree[2 * root + 1]);
    }
    let (tops, thirds) = (tops.as_flattened().as_ptr(), tree[4 * subtrees..].as_ptr());
    let fourths = if LEVELS == LARGE { tree[8 * subtrees..].as_ptr() } else { thirds };
    by_sixteen::<MISSING_RIGHT>(values, rows, tree.len() - 1, |fours| {
        let mut found = reached(fours, above);
        for (found, four) in found.iter_mut().zip(fours) {
            // SAFETY: the processor has SSE2; four numbers are written. A value reaches at most all thresholds above, one
            // less than subtrees, each of which has four numbers in `tops`, four thirds, and eight fourths.
            unsafe {
                let mut places = [0i32; 4];
                let before = _mm_slli_epi32::<2>(*found);
                _mm_storeu_si128(places.as_mut_ptr().cast(), before);
                let of = |value: __m128i, place: i32| {
                    let (value, place) = (_mm_castsi128_ps(value), place as usize);
                    let top = right(value, _mm_loadu_ps(tops.add(place)));
                    let third = right(value, _mm_loadu_ps(thirds.add(place)));
                    let both = _mm_add_epi32(top, third);
                    if LEVELS < LARGE {
                        return both;
                    }
                    let fourths = fourths.add(2 * place);
                    let fourth = right(value, _mm_loadu_ps(fourths));
                    let last = right(value, _mm_loadu_ps(fourths.add(4)));
                    _mm_add_epi32(both, _mm_add_epi32(fourth, last))
                };
                let values = _mm_castps_si128(*four);
                let within = [
                    of(_mm_shuffle_epi32::<0b00_00_00_00>(values), places[0]),
                    of(_mm_shuffle_epi32::<0b01_01_01_01>(values), places[1]),
                    of(_mm_shuffle_epi32::<0b10_10_10_10>(values), places[2]),
                    of(_mm_shuffle_epi32::<0b11_11_11_11>(values), places[3]),
                ];
                let before = _mm_mullo_epi16(*found, _mm_set1_epi16(1 << LEVELS));
                // All ones is -1.
                *found = _mm_sub_epi32(before, sums(within));
            }
        }
        found
    })
}

/// Finds the ranks of sixteen values at a time, at most `last`.
#[inline(always)]
fn by_sixteen<const MISSING_RIGHT: bool>(
    values: &BlockValues,
    rows: usize,
    last: usize,
    ranks_of: impl Fn(&[__m128; 4]) -> [__m128i; 4],
) -> [u8; BLOCK] {
    let mut ranks = [0; BLOCK];
    let groups = values.0.as_chunks::<16>().0.iter().zip(ranks.as_chunks_mut::<16>().0);
    for (values, ranks) in groups.take(rows.div_ceil(16)) {
        // SAFETY: the processor has SSE2; 16 values are read, and 16 ranks written.
        unsafe {
            let fours = std::array::from_fn(|four| {
                let values = _mm_loadu_ps(values[4 * four..].as_ptr());
                // Of NaN and infinity the smaller is the second.
                let bound = _mm_set1_ps(f32::INFINITY);
                if MISSING_RIGHT { _mm_min_ps(values, bound) } else { values }
            });
            let [a, b, c, d] = ranks_of(&fours);
            let last = _mm_set1_epi16(last as i16);
            let low = _mm_min_epi16(_mm_packs_epi32(a, b), last);
            let high = _mm_min_epi16(_mm_packs_epi32(c, d), last);
            _mm_storeu_si128(ranks.as_mut_ptr().cast(), _mm_packus_epi16(low, high));
        }
    }
    ranks
}

/// Returns how many of these thresholds, each four times, each value reaches.
#[inline(always)]
fn reached(fours: &[__m128; 4], thresholds: &[[f32; 4]]) -> [__m128i; 4] {
    // SAFETY: the processor has SSE2; four numbers are read.
    unsafe {
        let mut found = [_mm_setzero_si128(); 4];
        for threshold in thresholds {
            let threshold = _mm_loadu_ps(threshold.as_ptr());
            for (found, four) in found.iter_mut().zip(fours) {
                *found = _mm_sub_epi32(*found, right(*four, threshold));
            }
        }
        found
    }
}

/// Returns the sum of each register's numbers.
#[inline(always)]
fn sums([a, b, c, d]: [__m128i; 4]) -> __m128i {
    // SAFETY: the processor has SSE2.
    unsafe {
        let ab = _mm_add_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
        let cd = _mm_add_epi32(_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
        _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd))
    }
}

/// Returns all ones, -1, where a value is not below a threshold.
#[inline(always)]
fn right(values: __m128, thresholds: __m128) -> __m128i {
    // SAFETY: the processor has SSE2.
    unsafe { _mm_castps_si128(_mm_cmpge_ps(values, thresholds)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::block::rank_scalar;
    use crate::lower::tiles::columns::search_tree;
    use crate::random::Random;

    #[test]
    fn ranks_are_those_of_a_search() {
        let mut random = Random(3);
        // Miri is slow.
        let rounds = if cfg!(miri) { 8 } else { 600 };
        for round in 0..rounds {
            let levels = 5 + round % 4;
            let most = (1 << levels) - 1;
            let spread = 2.0 * most as f32;
            let mut thresholds: Vec<f32> = (0..random.below(most + 1))
                .map(|_| random.below(2 * most) as f32 - spread / 2.0)
                .collect();
            thresholds.extend([f32::NEG_INFINITY, f32::INFINITY].iter().take(random.below(3)));
            thresholds.truncate(most);
            thresholds.sort_by(f32::total_cmp);
            thresholds.dedup();
            let tree = search_tree(&thresholds, levels).unwrap();
            let mut values = BlockValues([0.0; BLOCK]);
            values.0.iter_mut().for_each(|value| {
                let whole = random.below(2 * most + 4) as f32 - spread / 2.0 - 2.0;
                let others = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0];
                *value = *others.get(random.below(20)).unwrap_or(&whole);
            });
            let rows = 1 + random.below(BLOCK);
            let of_search = [
                rank_scalar::ranks::<false>(&values, rows, &tree),
                rank_scalar::ranks::<true>(&values, rows, &tree),
            ];
            let found = [ranks::<false>(&values, rows, &tree), ranks::<true>(&values, rows, &tree)];
            for (found, of_search) in found.iter().zip(of_search) {
                assert_eq!(found[..rows], of_search[..rows], "{thresholds:?}");
            }
        }
    }
}
