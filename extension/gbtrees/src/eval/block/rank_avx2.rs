//! Rank search with AVX2: in registers for eight values at a time, below the upper five levels of the
//! largest search trees by comparing one value with all thresholds there.

use std::arch::x86_64::*;

use crate::eval::block::types::{BLOCK, BlockValues};

/// Levels of the largest search tree that are searched in registers, and those below.
const TOP: usize = 5;
const BELOW: usize = 3;

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
    // SAFETY: the processor has AVX2; the trees have that many places.
    unsafe {
        match tree.len() {
            32 => in_registers::<COMPARE, 5>(values, rows, tree),
            64 => in_registers::<COMPARE, 6>(values, rows, tree),
            128 => in_registers::<COMPARE, 7>(values, rows, tree),
            256 => in_largest::<COMPARE>(values, rows, tree),
            _ => [0; BLOCK],
        }
    }
}

/// Searches all levels for eight values at a time.
///
/// # Safety
/// The processor has AVX2; the tree has 2^LEVELS places.
#[inline(always)]
unsafe fn in_registers<const COMPARE: i32, const LEVELS: usize>(
    values: &BlockValues,
    rows: usize,
    tree: &[f32],
) -> [u8; BLOCK] {
    let mut ranks = [0; BLOCK];
    let groups = values.0.as_chunks::<8>().0.iter().zip(ranks.as_chunks_mut::<8>().0);
    for (values, ranks) in groups.take(rows.div_ceil(8)) {
        // SAFETY: as for this function; eight bytes are written.
        unsafe {
            let places = places::<COMPARE, LEVELS>(values, tree);
            let found = _mm256_and_si256(places, _mm256_set1_epi32((1 << LEVELS) - 1));
            let (low, high) = (_mm256_castsi256_si128(found), _mm256_extracti128_si256::<1>(found));
            let words = _mm_packus_epi32(low, high);
            _mm_storel_epi64(ranks.as_mut_ptr().cast(), _mm_packus_epi16(words, words));
        }
    }
    ranks
}

/// Searches five levels for eight values at a time, and then compares each with the thresholds below.
///
/// # Safety
/// The processor has AVX2; the tree has 256 places.
#[inline(always)]
unsafe fn in_largest<const COMPARE: i32>(
    values: &BlockValues,
    rows: usize,
    tree: &[f32],
) -> [u8; BLOCK] {
    let mut ranks = [0; BLOCK];
    let below = below(tree);
    let groups = values.0.as_chunks::<8>().0.iter().zip(ranks.as_chunks_mut::<8>().0);
    for (values, ranks) in groups.take(rows.div_ceil(8)) {
        let mut tops = [0i32; 8];
        // SAFETY: the processor has AVX2; a tree has at least 32 places, and eight places are written.
        unsafe {
            let places = places::<COMPARE, TOP>(values, tree);
            _mm256_storeu_si256(tops.as_mut_ptr().cast(), places);
        }
        for ((rank, top), value) in ranks.iter_mut().zip(tops).zip(values) {
            let top = top as u32 % (1 << TOP);
            // SAFETY: the processor has AVX2; eight aligned thresholds are read.
            let steps = unsafe {
                let thresholds = _mm256_load_ps(below[top as usize].0.as_ptr());
                let right = _mm256_cmp_ps::<COMPARE>(_mm256_set1_ps(*value), thresholds);
                ONES[_mm256_movemask_ps(right) as usize % ONES.len()]
            };
            *rank = (top << BELOW) as u8 + steps;
        }
    }
    ranks
}

fn below(tree: &[f32]) -> [Below; 1 << TOP] {
    let mut below = [Below([f32::INFINITY; 8]); 1 << TOP];
    for level in 0..BELOW {
        let (first, width) = (1usize << (TOP + level), 1usize << level);
        let nodes = tree[first..2 * first].chunks_exact(width);
        for (below, nodes) in below.iter_mut().zip(nodes) {
            below.0[width - 1..2 * width - 1].copy_from_slice(nodes);
        }
    }
    below
}

/// Returns the places of eight values after five to seven levels of a tree, from 2^LEVELS on.
///
/// # Safety
/// The processor has AVX2; the tree has these levels.
#[inline(always)]
unsafe fn places<const COMPARE: i32, const LEVELS: usize>(
    values: &[f32; 8],
    tree: &[f32],
) -> __m256i {
    let tree = tree.as_ptr();
    // SAFETY: the processor has AVX2; eight values are read. Each level has as many thresholds as places, the first
    // three and the unused one together eight.
    unsafe {
        let values = _mm256_loadu_ps(values.as_ptr());
        let mut at = _mm256_set1_epi32(1);
        let mut steps = [_mm256_setzero_ps(); LEVELS];
        for level in 0..LEVELS {
            // The steps before those of the place's last three bits choose the register.
            let threshold = match level {
                0..3 => of_eight(tree, at),
                3 => of_eight(tree.add(8), at),
                4 => of_sixteen(tree.add(16), at, steps[0]),
                5 => of_thirty_two(tree.add(32), at, [steps[0], steps[1]]),
                _ => {
                    let (left, right) = (tree.add(64), tree.add(96));
                    let left = of_thirty_two(left, at, [steps[1], steps[2]]);
                    let right = of_thirty_two(right, at, [steps[1], steps[2]]);
                    _mm256_blendv_ps(left, right, steps[0])
                }
            };
            steps[level] = _mm256_cmp_ps::<COMPARE>(values, threshold);
            at = step(at, steps[level]);
        }
        at
    }
}

/// Returns those of eight thresholds at the last three bits of `at`.
///
/// # Safety
/// The processor has AVX2, and `first` points to eight thresholds.
#[inline(always)]
unsafe fn of_eight(first: *const f32, at: __m256i) -> __m256 {
    // SAFETY: as for this function.
    unsafe { _mm256_permutevar8x32_ps(_mm256_loadu_ps(first), at) }
}

/// Returns those of sixteen thresholds, of which a step has chosen eight.
///
/// # Safety
/// The processor has AVX2, and `first` points to sixteen thresholds.
#[inline(always)]
unsafe fn of_sixteen(first: *const f32, at: __m256i, step: __m256) -> __m256 {
    // SAFETY: as for this function.
    unsafe { _mm256_blendv_ps(of_eight(first, at), of_eight(first.add(8), at), step) }
}

/// Returns those of thirty-two thresholds, of which two steps have chosen eight.
///
/// # Safety
/// The processor has AVX2, and `first` points to thirty-two thresholds.
#[inline(always)]
unsafe fn of_thirty_two(first: *const f32, at: __m256i, steps: [__m256; 2]) -> __m256 {
    // SAFETY: as for this function.
    unsafe {
        let (left, right) =
            (of_sixteen(first, at, steps[1]), of_sixteen(first.add(16), at, steps[1]));
        _mm256_blendv_ps(left, right, steps[0])
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
