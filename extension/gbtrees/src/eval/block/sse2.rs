//! Ranks, leaf indices and sums with SSE2, which every x86-64 has.
//!
//! Indices of more than a few levels are found by transposing. The bits of eight rows at up to eight levels are a matrix
//! in eight bytes: byte `j` has bit `j` of the rows' indices. Its transpose has an index per byte. The bits of a word of
//! rows are eight such matrices.

use std::arch::x86_64::*;

use crate::compiled::tiles::MIN_SEARCH_LEVELS;
use crate::eval::block::types::{BLOCK, BlockValues, Mask, RANK_BITS};

/// Levels from which transposing takes fewer instructions than level by level.
pub(super) const MIN_TRANSPOSED: u32 = 5;

/// Returns the matrices of a word's rows, two per register; `levels` is at most eight.
#[inline(always)]
pub(super) fn matrices(path: &[Mask], word: usize, levels: u32) -> [__m128i; 4] {
    // SAFETY: the processor has SSE2, as every x86-64; a word is eight bytes.
    unsafe {
        // The last level is the lowest bit.
        let mut bits = [_mm_setzero_si128(); RANK_BITS];
        let levels = (levels as usize).min(bits.len());
        for (bits, mask) in bits[..levels].iter_mut().rev().zip(path) {
            *bits = _mm_loadl_epi64(mask.0[word..].as_ptr().cast());
        }
        let [a, b, c, d, e, f, g, h] = bits;
        let (ab, cd) = (_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d));
        let (ef, gh) = (_mm_unpacklo_epi8(e, f), _mm_unpacklo_epi8(g, h));
        let first = [_mm_unpacklo_epi16(ab, cd), _mm_unpackhi_epi16(ab, cd)];
        let last = [_mm_unpacklo_epi16(ef, gh), _mm_unpackhi_epi16(ef, gh)];
        [
            _mm_unpacklo_epi32(first[0], last[0]),
            _mm_unpackhi_epi32(first[0], last[0]),
            _mm_unpacklo_epi32(first[1], last[1]),
            _mm_unpackhi_epi32(first[1], last[1]),
        ]
    }
}

/// Returns the leaf indices of a word's rows.
#[inline(always)]
pub(super) fn leaf_indices(path: &[Mask], word: usize, levels: u32) -> [u8; 64] {
    let mut indices = [0; 64];
    let rows = indices.as_chunks_mut::<16>().0.iter_mut();
    for (rows, matrices) in rows.zip(matrices(path, word, levels)) {
        let bytes = exchanged::<7>(matrices, LOWER_1);
        let bytes = exchanged::<14>(bytes, LOWER_2);
        let bytes = exchanged::<28>(bytes, LOWER_4);
        // SAFETY: the processor has SSE2; 16 bytes are written.
        unsafe { _mm_storeu_si128(rows.as_mut_ptr().cast(), bytes) };
    }
    indices
}

/// The lower ones of the bits that are exchanged with others: single bits, squares of two by two, and of four by four.
pub(super) const LOWER_1: i64 = 0x00aa_00aa_00aa_00aa;
pub(super) const LOWER_2: i64 = 0x0000_cccc_0000_cccc;
pub(super) const LOWER_4: i64 = 0x0000_0000_f0f0_f0f0;

/// Exchanges bits with those at a distance; `lower` has the lower ones.
#[inline(always)]
fn exchanged<const DISTANCE: i32>(bits: __m128i, lower: i64) -> __m128i {
    // SAFETY: the processor has SSE2.
    unsafe {
        let other = _mm_xor_si128(bits, _mm_srli_epi64::<DISTANCE>(bits));
        let moved = _mm_and_si128(other, _mm_set1_epi64x(lower));
        _mm_xor_si128(bits, _mm_xor_si128(moved, _mm_slli_epi64::<DISTANCE>(moved)))
    }
}

/// Places of a search tree whose thresholds are few enough to count those that a value reaches.
pub(super) const COUNTED: usize = 1 << MIN_SEARCH_LEVELS;

/// The highest rank in such a tree.
const MOST: usize = COUNTED - 1;

/// Returns all ones where a value goes right of a threshold.
#[inline(always)]
fn reached<const MISSING_RIGHT: bool>(values: __m128, threshold: __m128) -> __m128i {
    // SAFETY: the processor has SSE2.
    unsafe {
        _mm_castps_si128(if MISSING_RIGHT {
            _mm_cmpnlt_ps(values, threshold)
        } else {
            _mm_cmpge_ps(values, threshold)
        })
    }
}

/// Returns the ranks of the first `rows` values in a search tree of [`COUNTED`] places.
#[inline(always)]
pub(super) fn ranks<const MISSING_RIGHT: bool>(
    values: &BlockValues,
    rows: usize,
    tree: &[f32],
) -> [u8; BLOCK] {
    let mut ranks = [0; BLOCK];
    let mut thresholds = [f32::INFINITY; COUNTED];
    let mut count = 0;
    for threshold in tree.iter().skip(1).take(MOST).filter(|it| **it < f32::INFINITY) {
        thresholds[count] = *threshold;
        count += 1;
    }
    let groups = values.0.as_chunks::<16>().0.iter().zip(ranks.as_chunks_mut::<16>().0);
    for (values, ranks) in groups.take(rows.div_ceil(16)) {
        // SAFETY: the processor has SSE2; 16 values are read, and 16 ranks written.
        unsafe {
            let mut found = [_mm_setzero_si128(); 4];
            let mut fours = [_mm_setzero_ps(); 4];
            for (four, values) in fours.iter_mut().zip(values.as_chunks::<4>().0) {
                *four = _mm_loadu_ps(values.as_ptr());
            }
            for threshold in &thresholds[..count] {
                let threshold = _mm_set1_ps(*threshold);
                for (found, four) in found.iter_mut().zip(fours) {
                    // All ones is -1.
                    *found = _mm_sub_epi32(*found, reached::<MISSING_RIGHT>(four, threshold));
                }
            }
            // What reaches infinity reaches the places without a threshold, too.
            let rest = _mm_set1_epi32((MOST - count) as i32);
            for (found, four) in found.iter_mut().zip(fours) {
                let reached = reached::<MISSING_RIGHT>(four, _mm_set1_ps(f32::INFINITY));
                *found = _mm_add_epi32(*found, _mm_and_si128(reached, rest));
            }
            let [a, b, c, d] = found;
            let bytes = _mm_packus_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
            _mm_storeu_si128(ranks.as_mut_ptr().cast(), bytes);
        }
    }
    ranks
}

/// Turns four rows into columns.
#[inline(always)]
pub(super) fn transposed(rows: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
    // SAFETY: the processor has SSE2; four values are read of each row, and written of each column.
    unsafe {
        let [a, b, c, d] = rows.map(|row| _mm_loadu_ps(row.as_ptr()));
        let low = [_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d)];
        let high = [_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d)];
        let columns = [
            _mm_movelh_ps(low[0], low[1]),
            _mm_movehl_ps(low[1], low[0]),
            _mm_movelh_ps(high[0], high[1]),
            _mm_movehl_ps(high[1], high[0]),
        ];
        columns.map(|column| {
            let mut values = [0.0; 4];
            _mm_storeu_ps(values.as_mut_ptr(), column);
            values
        })
    }
}

/// Transposes 64 bytes into a word per bit, highest first.
#[inline(always)]
pub(super) fn bits_of_bytes(bytes: &[u8; 64]) -> [u64; RANK_BITS] {
    let mut bits = [0; RANK_BITS];
    for (part, bytes) in bytes.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: the processor has SSE2; 16 bytes are read.
        unsafe {
            let mut rows = _mm_loadu_si128(bytes.as_ptr().cast());
            for word in &mut bits {
                let highest = _mm_movemask_epi8(rows).cast_unsigned();
                *word |= u64::from(highest) << (16 * part);
                rows = _mm_add_epi8(rows, rows);
            }
        }
    }
    bits
}
