//! Rank search with AVX2: the upper five levels of a search tree in registers for eight values at a
//! time, the rest by comparing one value with all thresholds below.

use std::arch::x86_64::*;

use crate::eval::block::types::{BLOCK, BlockValues};

/// Levels of a search tree held in registers.
const TOP: u32 = 5;

/// The thresholds below a node of the last such level, in any order, and infinity.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Below([f32; 8]);

/// Population count of seven bits.
static ONES: [u8; 128] = {
    let mut ones = [0; 128];
    let mut bits = 1;
    while bits < 128 {
        ones[bits] = ones[bits / 2] + (bits % 2) as u8;
        bits += 1;
    }
    ones
};

/// Returns the ranks of the first `rows` values in a search tree of 32 to 256 places, a power of two; 0
/// for other trees. `COMPARE` is the comparison of a value with a threshold that sends it right.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
pub(super) unsafe fn ranks<const COMPARE: i32>(
    values: &BlockValues,
    rows: usize,
    tree: &[f32],
) -> [u8; BLOCK] {
    let mut ranks = [0; BLOCK];
    if !(32..=256).contains(&tree.len()) || !tree.len().is_power_of_two() {
        return ranks;
    }
    let levels_below = tree.len().ilog2() - TOP;
    let below = below(tree, levels_below);
    let groups = values.0.as_chunks::<8>().0.iter().zip(ranks.as_chunks_mut::<8>().0);
    for (values, ranks) in groups.take(rows.div_ceil(8)) {
        // SAFETY: the processor has AVX2; a tree has at least 32 places.
        let tops = unsafe { top::<COMPARE>(values, tree) };
        for ((rank, top), value) in ranks.iter_mut().zip(tops).zip(values) {
            let top = top as u32 % (1 << TOP);
            // SAFETY: the processor has AVX2; eight aligned thresholds are read.
            let steps = unsafe {
                let thresholds = _mm256_load_ps(below[top as usize].0.as_ptr());
                let right = _mm256_cmp_ps::<COMPARE>(_mm256_set1_ps(*value), thresholds);
                ONES[_mm256_movemask_ps(right) as usize % ONES.len()]
            };
            // Only infinite or missing values count padding.
            *rank = ((top << levels_below) as u8).saturating_add(steps);
        }
    }
    ranks
}

fn below(tree: &[f32], levels: u32) -> [Below; 1 << TOP] {
    let mut below = [Below([f32::INFINITY; 8]); 1 << TOP];
    for level in 0..levels {
        let (first, width) = (1usize << (TOP + level), 1usize << level);
        let nodes = tree[first..2 * first].chunks_exact(width);
        for (below, nodes) in below.iter_mut().zip(nodes) {
            below.0[width - 1..2 * width - 1].copy_from_slice(nodes);
        }
    }
    below
}

/// Returns the places of eight values after five levels of a tree, from 32 on.
///
/// # Safety
/// The processor has AVX2; there are 32 places.
#[inline(always)]
unsafe fn top<const COMPARE: i32>(values: &[f32; 8], tree: &[f32]) -> [i32; 8] {
    // SAFETY: the processor has AVX2; eight values are read, and eight places written.
    unsafe {
        let tree = tree.as_ptr();
        let upper = _mm256_loadu_ps(tree);
        let fourth = _mm256_loadu_ps(tree.add(8));
        let fifth = [_mm256_loadu_ps(tree.add(16)), _mm256_loadu_ps(tree.add(24))];
        let values = _mm256_loadu_ps(values.as_ptr());
        let first = _mm256_cmp_ps::<COMPARE>(values, _mm256_set1_ps(*tree.add(1)));
        let mut at = step(_mm256_set1_epi32(1), first);
        // Permutations use three bits of a place, so places count from 0.
        for nodes in [upper, upper, fourth] {
            let thresholds = _mm256_permutevar8x32_ps(nodes, at);
            at = step(at, _mm256_cmp_ps::<COMPARE>(values, thresholds));
        }
        let left = _mm256_permutevar8x32_ps(fifth[0], at);
        let right = _mm256_permutevar8x32_ps(fifth[1], at);
        let thresholds = _mm256_blendv_ps(left, right, first);
        at = step(at, _mm256_cmp_ps::<COMPARE>(values, thresholds));
        let mut places = [0; 8];
        _mm256_storeu_si256(places.as_mut_ptr().cast(), at);
        places
    }
}

/// Doubles a place, and adds one if the value goes right, where all bits are set (-1).
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn step(at: __m256i, right: __m256) -> __m256i {
    // SAFETY: the processor has AVX2.
    unsafe { _mm256_sub_epi32(_mm256_add_epi32(at, at), _mm256_castps_si256(right)) }
}
