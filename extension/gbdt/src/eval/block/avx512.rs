//! Blocks of rows with AVX-512: a whole mask per register.
//!
//! Sums lie in the order in which unpacking bytes puts rows.

use std::arch::x86_64::*;

use super::bytes_avx512::{bytes_of_doubles, doubles_of_bytes, every_fourth_byte};
use super::instructions::{Instructions, block_kernel};
use super::{BLOCK, Codes, Mask, PathBits, RANK_BITS, Ranks, Sums, Values, WORDS};
use crate::forest::tiles::CodeTable;

block_kernel! {
    Whole, "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi",
    min_rows: 24,
    costs: Costs { level: 100, node: 400, predicate: 1200 },
    lanes: UNPACKED,
    lanes_double: UNPACKED_DOUBLE,
}

/// Within 64 rows, the 16 of a lane come in fours, one of each of four registers.
const UNPACKED: [u16; BLOCK] = {
    let mut lanes = [0; BLOCK];
    let mut row = 0;
    while row < BLOCK {
        let (lane, part) = (row >> 4 & 3, row >> 2 & 3);
        lanes[row] = (row & !0b11_1100 | part << 4 | lane << 2) as u16;
        row += 1;
    }
    lanes
};

/// The same for sums of f64: the 16 of a lane come in twos, one of each of eight registers.
const UNPACKED_DOUBLE: [u16; BLOCK] = {
    let mut lanes = [0; BLOCK];
    let mut row = 0;
    while row < BLOCK {
        let (lane, part) = (row >> 4 & 3, row >> 1 & 7);
        lanes[row] = (row & !0b11_1110 | part << 3 | lane << 1) as u16;
        row += 1;
    }
    lanes
};

#[derive(Clone, Copy)]
struct Whole(__m512i);

impl Instructions for Whole {
    const PARTS: usize = 1;

    #[inline(always)]
    unsafe fn load(mask: *const Mask, _: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Whole(_mm512_load_si512(mask.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, mask: *mut Mask, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_store_si512(mask.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn fill(bit: bool) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Whole(_mm512_set1_epi64(-i64::from(bit))) }
    }

    #[inline(always)]
    unsafe fn choose(self, right: Self, left: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Whole(_mm512_ternarylogic_epi64::<0xCA>(self.0, right.0, left.0)) }
    }

    #[inline(always)]
    unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]) {
        let words = rows.div_ceil(64).min(WORDS);
        for (table, mask) in tables.iter().zip(masks) {
            // SAFETY: tables and codes are aligned to 64 bytes; codes have 8 words of 64 bytes.
            unsafe {
                let table = _mm512_load_si512(table.0.as_ptr().cast());
                for (word, answer) in mask.0.iter_mut().enumerate().take(words) {
                    let bytes = _mm512_load_si512(codes.bytes.as_ptr().add(64 * word).cast());
                    let bits = _mm512_load_si512(codes.bits.as_ptr().add(64 * word).cast());
                    *answer = _mm512_test_epi8_mask(_mm512_permutexvar_epi8(bytes, table), bits);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn bits_of_bytes(bytes: &[u8; 64]) -> [u64; RANK_BITS] {
        // SAFETY: the caller's promise; 64 bytes are read.
        unsafe {
            let mut bytes = _mm512_loadu_si512(bytes.as_ptr().cast());
            let mut bits = [0; RANK_BITS];
            for word in &mut bits {
                *word = _mm512_movepi8_mask(bytes);
                bytes = _mm512_add_epi8(bytes, bytes);
            }
            bits
        }
    }

    #[inline(always)]
    unsafe fn leaf_indices(path: &PathBits, word: usize, levels: u32) -> [u8; 64] {
        let mut out = [0; 64];
        // SAFETY: the caller's promise; 64 bytes are written.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), indices(path, word, levels)) };
        out
    }

    #[inline(always)]
    unsafe fn rank(
        values: &Values,
        rows: usize,
        tree: &[f32],
        missing_right: bool,
        ranks: &mut Ranks,
    ) {
        let groups = rows.div_ceil(16).min(BLOCK / 16);
        // SAFETY: the caller's promise; the trees' lengths are looked at.
        unsafe {
            match (tree.len(), missing_right) {
                (32, false) => search::<5, _CMP_GE_OQ>(values, groups, tree, ranks),
                (32, true) => search::<5, _CMP_NLT_UQ>(values, groups, tree, ranks),
                (64, false) => search::<6, _CMP_GE_OQ>(values, groups, tree, ranks),
                (64, true) => search::<6, _CMP_NLT_UQ>(values, groups, tree, ranks),
                (128, false) => search::<7, _CMP_GE_OQ>(values, groups, tree, ranks),
                (128, true) => search::<7, _CMP_NLT_UQ>(values, groups, tree, ranks),
                (256, false) => search::<8, _CMP_GE_OQ>(values, groups, tree, ranks),
                (256, true) => search::<8, _CMP_NLT_UQ>(values, groups, tree, ranks),
                _ => {}
            }
        }
    }

    /// Looks the leaves' bytes up one by one, for 64 rows at a time, and puts them together.
    #[inline(always)]
    unsafe fn add<const LEVELS: u32>(
        path: &PathBits,
        rows: usize,
        leaves: &[f32],
        sums: &mut Sums<f32>,
    ) {
        const { assert!(LEVELS <= 8) };
        let registers = (1usize << LEVELS).div_ceil(16);
        let (leaves, sums) = (leaves.as_ptr(), sums.0.as_mut_ptr());
        // SAFETY: the caller's promise: a tile has at least 16 leaves, and 2^LEVELS. There are eight
        // words of four registers of sums, aligned to 64 bytes.
        unsafe {
            let zero = _mm512_setzero_si512();
            let mut tables = [[zero; 4]; 4];
            for (quarter, table) in tables.iter_mut().enumerate().take(registers.div_ceil(4)) {
                let mut floats = [zero; 4];
                let there = registers.saturating_sub(4 * quarter);
                for (register, floats) in floats.iter_mut().enumerate().take(there) {
                    *floats = _mm512_loadu_si512(leaves.add(64 * quarter + 16 * register).cast());
                }
                for (byte, table) in table.iter_mut().enumerate() {
                    *table = every_fourth_byte(floats, byte as i8);
                }
            }
            for word in 0..rows.div_ceil(64).min(WORDS) {
                let at = indices(path, word, LEVELS);
                let mut bytes = [zero; 4];
                for (byte, found) in bytes.iter_mut().enumerate() {
                    let [a, b, c, d] = [0, 1, 2, 3].map(|quarter| tables[quarter][byte]);
                    *found = match LEVELS {
                        0..7 => _mm512_permutexvar_epi8(at, a),
                        7 => _mm512_permutex2var_epi8(a, at, b),
                        _ => _mm512_mask_blend_epi8(
                            path[0].0[word],
                            _mm512_permutex2var_epi8(a, at, b),
                            _mm512_permutex2var_epi8(c, at, d),
                        ),
                    };
                }
                let low = [
                    _mm512_unpacklo_epi8(bytes[0], bytes[1]),
                    _mm512_unpacklo_epi8(bytes[2], bytes[3]),
                ];
                let high = [
                    _mm512_unpackhi_epi8(bytes[0], bytes[1]),
                    _mm512_unpackhi_epi8(bytes[2], bytes[3]),
                ];
                let values = [
                    _mm512_unpacklo_epi16(low[0], low[1]),
                    _mm512_unpackhi_epi16(low[0], low[1]),
                    _mm512_unpacklo_epi16(high[0], high[1]),
                    _mm512_unpackhi_epi16(high[0], high[1]),
                ];
                for (part, value) in values.into_iter().enumerate() {
                    let sum = sums.add(64 * word + 16 * part);
                    let new = _mm512_add_ps(_mm512_load_ps(sum), _mm512_castsi512_ps(value));
                    _mm512_store_ps(sum, new);
                }
            }
        }
    }

    /// The same with eight bytes per leaf.
    #[inline(always)]
    unsafe fn add_double<const LEVELS: u32>(
        path: &PathBits,
        rows: usize,
        leaves: &[f64],
        sums: &mut Sums<f64>,
    ) {
        const { assert!(LEVELS <= 8) };
        let quarters = (1usize << LEVELS).div_ceil(64);
        let registers = (1usize << LEVELS).div_ceil(8);
        let (leaves, sums) = (leaves.as_ptr(), sums.0.as_mut_ptr());
        // SAFETY: the caller's promise: a tile has at least 16 leaves, and 2^LEVELS. There are eight
        // words of eight registers of sums, aligned to 64 bytes.
        unsafe {
            let mut tables = [[_mm512_setzero_si512(); 8]; 4];
            for (quarter, table) in tables.iter_mut().enumerate().take(quarters) {
                *table = bytes_of_doubles(leaves.add(64 * quarter), registers - 8 * quarter);
            }
            for word in 0..rows.div_ceil(64).min(WORDS) {
                let at = indices(path, word, LEVELS);
                let mut bytes = [_mm512_setzero_si512(); 8];
                for (byte, found) in bytes.iter_mut().enumerate() {
                    let [a, b, c, d] = [0, 1, 2, 3].map(|quarter| tables[quarter][byte]);
                    *found = match LEVELS {
                        0..7 => _mm512_permutexvar_epi8(at, a),
                        7 => _mm512_permutex2var_epi8(a, at, b),
                        _ => _mm512_mask_blend_epi8(
                            path[0].0[word],
                            _mm512_permutex2var_epi8(a, at, b),
                            _mm512_permutex2var_epi8(c, at, d),
                        ),
                    };
                }
                for (part, value) in doubles_of_bytes(bytes).into_iter().enumerate() {
                    let sum = sums.add(64 * word + 8 * part);
                    let new = _mm512_add_pd(_mm512_load_pd(sum), _mm512_castsi512_pd(value));
                    _mm512_store_pd(sum, new);
                }
            }
        }
    }
}

/// Searches a tree of `LEVELS` levels for 16 values at a time. Each register holds 32 nodes in two
/// halves; larger levels choose between registers by the first steps.
///
/// # Safety
/// The processor has the instructions; `tree.len() == 1 << LEVELS`, `groups <= BLOCK / 16`.
#[inline(always)]
unsafe fn search<const LEVELS: usize, const COMPARE: i32>(
    values: &Values,
    groups: usize,
    tree: &[f32],
    ranks: &mut Ranks,
) {
    let (tree, values) = (tree.as_ptr(), values.0.as_ptr());
    let masks = ranks.as_mut_ptr().cast::<u16>();
    // SAFETY: the registers that are read are within the tree; values and masks have room for 32
    // groups.
    unsafe {
        let one = _mm512_set1_epi32(1);
        for mask in 0..RANK_BITS - LEVELS {
            _mm512_store_si512(masks.add(mask * 32).cast(), _mm512_setzero_si512());
        }
        for group in 0..groups {
            let value = _mm512_load_ps(values.add(16 * group));
            let mut at = one;
            let mut steps = [0u16; LEVELS];
            for level in 0..LEVELS {
                let threshold = match level {
                    0..5 => nodes(tree, at),
                    5 => nodes(tree.add(32), at),
                    6 => {
                        let (left, right) = (nodes(tree.add(64), at), nodes(tree.add(96), at));
                        _mm512_mask_blend_ps(steps[0], left, right)
                    }
                    _ => {
                        let (a, b) = (nodes(tree.add(128), at), nodes(tree.add(160), at));
                        let (c, d) = (nodes(tree.add(192), at), nodes(tree.add(224), at));
                        let left = _mm512_mask_blend_ps(steps[1], a, b);
                        _mm512_mask_blend_ps(steps[0], left, _mm512_mask_blend_ps(steps[1], c, d))
                    }
                };
                steps[level] = _mm512_cmp_ps_mask::<COMPARE>(value, threshold);
                let twice = _mm512_add_epi32(at, at);
                at = _mm512_mask_add_epi32(twice, steps[level], twice, one);
            }
            for (level, step) in steps.into_iter().enumerate() {
                *masks.add((RANK_BITS - LEVELS + level) * 32 + group) = step;
            }
        }
    }
}

/// Of 32 nodes, those at the last five bits of `at`.
///
/// # Safety
/// The processor has the instructions; there are 32 nodes.
#[inline(always)]
unsafe fn nodes(first: *const f32, at: __m512i) -> __m512 {
    // SAFETY: the caller's promise.
    unsafe { _mm512_permutex2var_ps(_mm512_loadu_ps(first), at, _mm512_loadu_ps(first.add(16))) }
}

/// The leaf indices of 64 rows.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn indices(path: &PathBits, word: usize, levels: u32) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        let mut indices = _mm512_setzero_si512();
        for (level, mask) in (0..levels).zip(path) {
            let bit = _mm512_set1_epi8(1 << (levels - 1 - level));
            let bits = mask.0.get(word).copied().unwrap_or(0);
            indices = _mm512_mask_add_epi8(indices, bits, indices, bit);
        }
        indices
    }
}
