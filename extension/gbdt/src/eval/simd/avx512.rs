//! Blocks of rows with AVX-512.
//!
//! Sums lie in an order of their own, the one in which unpacking bytes puts rows: see `place_of`.

use std::arch::x86_64::*;

use super::choose::{self, Bits, walk_by_levels};
use super::{BLOCK, Codes, Costs, Mask, Planes, RANK_BITS, Values, Vectors, WORDS, Ways};
use crate::forest::tiles::CodeTable;

/// A whole mask.
#[derive(Clone, Copy)]
struct Whole(__m512i);

impl Bits for Whole {
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
    unsafe fn choose(self, right: Self, left: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Whole(_mm512_ternarylogic_epi64::<0xCA>(self.0, right.0, left.0)) }
    }
}

/// AVX-512 F, BW, DQ, VL and VBMI.
pub(super) struct Avx512;

impl Vectors for Avx512 {
    const LEAST_ROWS: usize = 24;
    const COSTS: Costs = Costs { level: 100, node: 400, cut: 1200 };

    fn place_of(row: usize) -> usize {
        // Within 64 rows, the 16 of a lane come in fours, one of each of four registers.
        let (lane, part) = (row >> 4 & 3, row >> 2 & 3);
        row & !0b11_1100 | part << 4 | lane << 2
    }

    unsafe fn rank(
        values: &Values,
        rows: usize,
        tree: &[f32],
        missing_right: bool,
        ranks: &mut Planes,
    ) {
        let groups = rows.div_ceil(16).min(BLOCK / 16);
        // SAFETY: the caller's promise; the trees' lengths are looked at.
        unsafe {
            match (tree.len(), missing_right) {
                (32, false) => rank::<5, _CMP_GE_OQ>(values, groups, tree, ranks),
                (32, true) => rank::<5, _CMP_NLT_UQ>(values, groups, tree, ranks),
                (64, false) => rank::<6, _CMP_GE_OQ>(values, groups, tree, ranks),
                (64, true) => rank::<6, _CMP_NLT_UQ>(values, groups, tree, ranks),
                (128, false) => rank::<7, _CMP_GE_OQ>(values, groups, tree, ranks),
                (128, true) => rank::<7, _CMP_NLT_UQ>(values, groups, tree, ranks),
                (256, false) => rank::<8, _CMP_GE_OQ>(values, groups, tree, ranks),
                (256, true) => rank::<8, _CMP_NLT_UQ>(values, groups, tree, ranks),
                _ => {}
            }
        }
    }

    unsafe fn compare_ranks(ranks: &Planes, operands: &[u8], masks: &mut [Mask]) {
        // SAFETY: the caller's promise.
        unsafe { compare_ranks(ranks, operands, masks) }
    }

    unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]) {
        // SAFETY: the caller's promise.
        unsafe { look_up(codes, rows, tables, masks) }
    }

    unsafe fn walk(nodes: &[u16], levels: u32, masks: &[Mask], rows: usize, ways: &mut Ways) {
        // SAFETY: the caller's promise.
        unsafe { walk_by_levels!(walk, levels, (nodes, masks, rows, ways)) }
    }

    unsafe fn add(ways: &Ways, rows: usize, levels: u32, leaves: &[f32], sums: &mut Values) {
        // SAFETY: the caller's promise.
        unsafe {
            match levels {
                0 => add::<0>(ways, rows, leaves, sums),
                1 => add::<1>(ways, rows, leaves, sums),
                2 => add::<2>(ways, rows, leaves, sums),
                3 => add::<3>(ways, rows, leaves, sums),
                4 => add::<4>(ways, rows, leaves, sums),
                5 => add::<5>(ways, rows, leaves, sums),
                6 => add::<6>(ways, rows, leaves, sums),
                7 => add::<7>(ways, rows, leaves, sums),
                8 => add::<8>(ways, rows, leaves, sums),
                _ => {}
            }
        }
    }

    unsafe fn number(ways: &Ways, rows: usize, levels: u32, numbers: &mut [u8; BLOCK]) {
        // SAFETY: the caller's promise.
        unsafe { number(ways, rows, levels as usize, numbers) }
    }
}

/// Walks a search tree of `LEVELS` levels with 16 values at a time. Each register holds 32 nodes in
/// two halves; larger levels choose between registers by the first steps.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn rank<const LEVELS: usize, const COMPARE: i32>(
    values: &Values,
    groups: usize,
    tree: &[f32],
    ranks: &mut Planes,
) {
    let one = _mm512_set1_epi32(1);
    let (tree, values) = (tree.as_ptr(), values.0.as_ptr());
    let planes = ranks.as_mut_ptr().cast::<u16>();
    // SAFETY: the tree has 2^LEVELS nodes, so that the registers read are within it; values and
    // planes have room for 32 groups, and there are no more.
    unsafe {
        let node = |first: usize, at: __m512i| {
            let low = _mm512_loadu_ps(tree.add(first));
            let high = _mm512_loadu_ps(tree.add(first + 16));
            _mm512_permutex2var_ps(low, at, high)
        };
        for plane in 0..RANK_BITS - LEVELS {
            _mm512_store_si512(planes.add(plane * 32).cast(), _mm512_setzero_si512());
        }
        for group in 0..groups {
            let value = _mm512_load_ps(values.add(16 * group));
            let mut at = one;
            let mut steps = [0u16; LEVELS];
            for level in 0..LEVELS {
                let threshold = match level {
                    0..5 => node(0, at),
                    5 => node(32, at),
                    6 => _mm512_mask_blend_ps(steps[0], node(64, at), node(96, at)),
                    _ => {
                        let left = _mm512_mask_blend_ps(steps[1], node(128, at), node(160, at));
                        let right = _mm512_mask_blend_ps(steps[1], node(192, at), node(224, at));
                        _mm512_mask_blend_ps(steps[0], left, right)
                    }
                };
                steps[level] = _mm512_cmp_ps_mask::<COMPARE>(value, threshold);
                let twice = _mm512_add_epi32(at, at);
                at = _mm512_mask_add_epi32(twice, steps[level], twice, one);
            }
            for (level, step) in steps.into_iter().enumerate() {
                *planes.add((RANK_BITS - LEVELS + level) * 32 + group) = step;
            }
        }
    }
}

/// Of numbers of two bits, whether they are at least 0, 1, ... 4.
#[target_feature(enable = "avx512f")]
fn at_least_of_two(high: __m512i, low: __m512i) -> [__m512i; 5] {
    let all = _mm512_set1_epi64(-1);
    let either = _mm512_or_si512(high, low);
    [all, either, high, _mm512_and_si512(high, low), _mm512_setzero_si512()]
}

/// `greater | equal & rest`: whether a number is at least another, by what holds of their high and
/// of their low parts.
#[target_feature(enable = "avx512f")]
fn joined(greater: __m512i, equal: __m512i, rest: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0xF8>(greater, equal, rest)
}

/// Of numbers of four bits, whether they are at least 0, 1, ... 16.
#[target_feature(enable = "avx512f")]
fn at_least_of_four(bits: [__m512i; 4]) -> [__m512i; 17] {
    let high = at_least_of_two(bits[0], bits[1]);
    let low = at_least_of_two(bits[2], bits[3]);
    let mut all = [_mm512_setzero_si512(); 17];
    for (number, mask) in all.iter_mut().enumerate().take(16) {
        *mask = joined(high[number / 4 + 1], high[number / 4], low[number % 4]);
    }
    all
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn compare_ranks(ranks: &Planes, operands: &[u8], masks: &mut [Mask]) {
    // SAFETY: a mask is 64 bytes, aligned to as many.
    let bits: [__m512i; RANK_BITS] =
        std::array::from_fn(|bit| unsafe { _mm512_load_si512(ranks[bit].0.as_ptr().cast()) });
    let high = at_least_of_four([bits[0], bits[1], bits[2], bits[3]]);
    let low = at_least_of_four([bits[4], bits[5], bits[6], bits[7]]);
    for (operand, mask) in operands.iter().zip(masks) {
        let (quotient, remainder) = (usize::from(operand >> 4), usize::from(operand & 15));
        let answer = joined(high[quotient + 1], high[quotient], low[remainder]);
        // SAFETY: as above.
        unsafe { _mm512_store_si512(mask.0.as_mut_ptr().cast(), answer) };
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
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

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn walk<const LEVELS: u32>(nodes: &[u16], masks: &[Mask], rows: usize, ways: &mut Ways) {
    // SAFETY: the caller's promise.
    unsafe { choose::walk::<Whole, LEVELS>(nodes.as_ptr(), masks.as_ptr(), rows, ways) }
}

/// The numbers of 64 rows' ways.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn numbers(ways: &Ways, word: usize, levels: usize) -> __m512i {
    let mut numbers = _mm512_setzero_si512();
    for (level, way) in ways.iter().enumerate().take(levels) {
        let bit = _mm512_set1_epi8(1 << (levels - 1 - level));
        let bits = way.0.get(word).copied().unwrap_or(0);
        numbers = _mm512_mask_add_epi8(numbers, bits, numbers, bit);
    }
    numbers
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn number(ways: &Ways, rows: usize, levels: usize, out: &mut [u8; BLOCK]) {
    for word in 0..rows.div_ceil(64).min(WORDS) {
        let numbers = numbers(ways, word, levels);
        // SAFETY: there are eight words of 64 rows.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(64 * word).cast(), numbers) };
    }
}

/// Byte `byte` of 64 floats, in their order.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
fn plane(floats: [__m512i; 4], byte: i8) -> __m512i {
    // Every fourth byte of two registers, in the lower half.
    let every = _mm512_set_epi8(
        124, 120, 116, 112, 108, 104, 100, 96, 92, 88, 84, 80, 76, 72, 68, 64, 60, 56, 52, 48, 44,
        40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0, 124, 120, 116, 112, 108, 104, 100, 96, 92, 88, 84,
        80, 76, 72, 68, 64, 60, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0,
    );
    let every = _mm512_add_epi8(every, _mm512_set1_epi8(byte));
    let low = _mm512_permutex2var_epi8(floats[0], every, floats[1]);
    let high = _mm512_permutex2var_epi8(floats[2], every, floats[3]);
    _mm512_inserti64x4::<1>(low, _mm512_castsi512_si256(high))
}

/// Adds leaves to sums. The leaves' bytes are looked up one by one, for 64 rows at a time, and then
/// put together.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn add<const LEVELS: usize>(ways: &Ways, rows: usize, leaves: &[f32], sums: &mut Values) {
    const { assert!(LEVELS <= 8) };
    let zero = _mm512_setzero_si512();
    let mut tables = [[zero; 4]; 4];
    let leaves = leaves.as_ptr();
    let registers = (1usize << LEVELS).div_ceil(16);
    for (quarter, table) in tables.iter_mut().enumerate().take(registers.div_ceil(4)) {
        let floats = std::array::from_fn(|register| {
            let register = 4 * quarter + register;
            if register < registers {
                // SAFETY: a tile has at least 16 leaves, and 2^LEVELS.
                unsafe { _mm512_loadu_si512(leaves.add(16 * register).cast()) }
            } else {
                zero
            }
        });
        *table = std::array::from_fn(|byte| plane(floats, byte as i8));
    }
    let sums = sums.0.as_mut_ptr();
    for word in 0..rows.div_ceil(64).min(WORDS) {
        let at = numbers(ways, word, LEVELS);
        let bytes: [__m512i; 4] = std::array::from_fn(|byte| match LEVELS {
            0..7 => _mm512_permutexvar_epi8(at, tables[0][byte]),
            7 => _mm512_permutex2var_epi8(tables[0][byte], at, tables[1][byte]),
            _ => {
                let left = _mm512_permutex2var_epi8(tables[0][byte], at, tables[1][byte]);
                let right = _mm512_permutex2var_epi8(tables[2][byte], at, tables[3][byte]);
                _mm512_mask_blend_epi8(ways[0].0[word], left, right)
            }
        });
        let low = [0, 2].map(|byte| _mm512_unpacklo_epi8(bytes[byte], bytes[byte + 1]));
        let high = [0, 2].map(|byte| _mm512_unpackhi_epi8(bytes[byte], bytes[byte + 1]));
        let values = [
            _mm512_unpacklo_epi16(low[0], low[1]),
            _mm512_unpackhi_epi16(low[0], low[1]),
            _mm512_unpacklo_epi16(high[0], high[1]),
            _mm512_unpackhi_epi16(high[0], high[1]),
        ];
        for (part, value) in values.into_iter().enumerate() {
            // SAFETY: there are eight words of four registers of sums, aligned to 64 bytes.
            unsafe {
                let sum = sums.add(64 * word + 16 * part);
                let new = _mm512_add_ps(_mm512_load_ps(sum), _mm512_castsi512_ps(value));
                _mm512_store_ps(sum, new);
            }
        }
    }
}
