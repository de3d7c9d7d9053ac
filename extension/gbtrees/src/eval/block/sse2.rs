//! Leaf indices, bits of ranks, and columns with SSE2, which every x86-64 has.
//!
//! Indices are found by transposing. The bits of eight rows at up to eight levels are a matrix in eight bytes: byte `j`
//! has bit `j` of the rows' indices. Its transpose has an index per byte. The bits of a word of rows are eight such
//! matrices; with up to four levels two of them fit into one, and with up to two levels four.

use std::arch::x86_64::*;

use crate::eval::block::types::{Mask, RANK_BITS};

/// Levels from which transposing takes fewer instructions than level by level.
pub(super) const MIN_TRANSPOSED: u32 = 2;

/// Returns the matrices of a word's rows, two per register; `levels` is at most eight.
#[inline(always)]
pub(super) fn matrices(path: &[Mask], word: usize, levels: u32) -> [__m128i; 4] {
    // SAFETY: the processor has SSE2, as every x86-64; a word is eight bytes.
    unsafe {
        let [a, b, c, d, e, f, g, h] = level_bits(path, word, levels);
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

/// Returns the bits of a word's rows at each level, the last of the first `levels` levels first.
#[inline(always)]
fn level_bits<const COUNT: usize>(path: &[Mask], word: usize, levels: u32) -> [__m128i; COUNT] {
    // SAFETY: the processor has SSE2; a word is eight bytes.
    unsafe {
        let mut bits = [_mm_setzero_si128(); COUNT];
        let levels = (levels as usize).min(COUNT);
        for (bits, mask) in bits[..levels].iter_mut().rev().zip(path) {
            *bits = _mm_loadl_epi64(mask.0[word..].as_ptr().cast());
        }
        bits
    }
}

/// Returns the leaf indices of a word's rows; `levels` is at most eight.
#[inline(always)]
pub(super) fn leaf_indices(path: &[Mask], word: usize, levels: u32) -> [u8; 64] {
    let rows = match levels {
        0..=2 => indices_of_two(path, word, levels),
        3..=4 => indices_of_four(path, word, levels),
        _ => matrices(path, word, levels).map(transposed_bits),
    };
    let mut indices = [0; 64];
    for (indices, rows) in indices.as_chunks_mut::<16>().0.iter_mut().zip(rows) {
        // SAFETY: the processor has SSE2; 16 bytes are written.
        unsafe { _mm_storeu_si128(indices.as_mut_ptr().cast(), rows) };
    }
    indices
}

/// Returns the indices of up to two levels, of four matrices at once.
#[inline(always)]
fn indices_of_two(path: &[Mask], word: usize, levels: u32) -> [__m128i; 4] {
    // SAFETY: the processor has SSE2.
    unsafe {
        let [a, b] = level_bits(path, word, levels);
        let bits = transposed_bits(_mm_unpacklo_epi8(a, b));
        let lowest = _mm_set1_epi8(0b11);
        // Eight of the first 32 rows, and eight of the others.
        let rows = [
            _mm_and_si128(bits, lowest),
            _mm_and_si128(_mm_srli_epi16::<2>(bits), lowest),
            _mm_and_si128(_mm_srli_epi16::<4>(bits), lowest),
            _mm_and_si128(_mm_srli_epi16::<6>(bits), lowest),
        ];
        [
            _mm_unpacklo_epi64(rows[0], rows[1]),
            _mm_unpacklo_epi64(rows[2], rows[3]),
            _mm_unpackhi_epi64(rows[0], rows[1]),
            _mm_unpackhi_epi64(rows[2], rows[3]),
        ]
    }
}

/// Returns the indices of up to four levels, of two matrices at once.
#[inline(always)]
fn indices_of_four(path: &[Mask], word: usize, levels: u32) -> [__m128i; 4] {
    // SAFETY: the processor has SSE2.
    unsafe {
        let [a, b, c, d] = level_bits(path, word, levels);
        let (ab, cd) = (_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d));
        let halves = [_mm_unpacklo_epi16(ab, cd), _mm_unpackhi_epi16(ab, cd)];
        let lowest = _mm_set1_epi8(0b1111);
        let [first, last] = halves.map(|half| {
            let bits = transposed_bits(half);
            let low = _mm_and_si128(bits, lowest);
            let high = _mm_and_si128(_mm_srli_epi16::<4>(bits), lowest);
            [_mm_unpacklo_epi64(low, high), _mm_unpackhi_epi64(low, high)]
        });
        [first[0], first[1], last[0], last[1]]
    }
}

/// Transposes both matrices of a register.
#[inline(always)]
fn transposed_bits(matrices: __m128i) -> __m128i {
    let bits = exchanged::<7>(matrices, LOWER_1);
    let bits = exchanged::<14>(bits, LOWER_2);
    exchanged::<28>(bits, LOWER_4)
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
