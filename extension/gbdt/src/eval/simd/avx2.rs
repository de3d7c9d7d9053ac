//! Blocks of rows with AVX2.

use std::arch::x86_64::*;

use super::choose::{self, Bits, walk_by_levels};
use super::search;
use super::{BLOCK, Codes, Costs, Mask, Planes, RANK_BITS, Values, Vectors, WORDS, Ways};
use crate::forest::tiles::CodeTable;

/// Half of a mask.
#[derive(Clone, Copy)]
struct Half(__m256i);

impl Bits for Half {
    const PARTS: usize = 2;

    #[inline(always)]
    unsafe fn load(mask: *const Mask, part: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Half(_mm256_load_si256(mask.cast::<__m256i>().add(part))) }
    }

    #[inline(always)]
    unsafe fn store(self, mask: *mut Mask, part: usize) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_store_si256(mask.cast::<__m256i>().add(part), self.0) }
    }

    #[inline(always)]
    unsafe fn choose(self, right: Self, left: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let right = _mm256_and_si256(self.0, right.0);
            Half(_mm256_or_si256(right, _mm256_andnot_si256(self.0, left.0)))
        }
    }
}

/// AVX2.
pub(super) struct Avx2;

impl Vectors for Avx2 {
    const LEAST_ROWS: usize = 64;
    const COSTS: Costs = Costs { level: 350, node: 650, cut: 2600 };

    fn place_of(row: usize) -> usize {
        row
    }

    unsafe fn rank(
        values: &Values,
        rows: usize,
        tree: &[f32],
        missing_right: bool,
        ranks: &mut Planes,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            if missing_right {
                rank::<true>(values, rows, tree, ranks);
            } else {
                rank::<false>(values, rows, tree, ranks);
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
        unsafe { add(ways, rows, levels as usize, leaves, sums) }
    }

    unsafe fn number(ways: &Ways, rows: usize, levels: u32, numbers: &mut [u8; BLOCK]) {
        // SAFETY: the caller's promise.
        unsafe { number(ways, rows, levels as usize, numbers) }
    }
}

#[target_feature(enable = "avx2")]
unsafe fn rank<const MISSING_RIGHT: bool>(
    values: &Values,
    rows: usize,
    tree: &[f32],
    ranks: &mut Planes,
) {
    let Some(numbers) = search::ranks::<MISSING_RIGHT>(values, rows, tree) else { return };
    for (half, numbers) in numbers.as_chunks::<32>().0.iter().enumerate().take(rows.div_ceil(32)) {
        // SAFETY: 32 bytes are read, and 16 halves of words are written to each of eight planes.
        unsafe {
            let mut numbers = _mm256_loadu_si256(numbers.as_ptr().cast());
            for plane in ranks.iter_mut() {
                let bits = _mm256_movemask_epi8(numbers).cast_unsigned();
                *plane.0.as_mut_ptr().cast::<u32>().add(half) = bits;
                numbers = _mm256_add_epi8(numbers, numbers);
            }
        }
    }
}

/// `greater | equal & rest`: whether a number is at least another, by what holds of their high and
/// of their low parts.
#[target_feature(enable = "avx2")]
fn joined(greater: __m256i, equal: __m256i, rest: __m256i) -> __m256i {
    _mm256_or_si256(greater, _mm256_and_si256(equal, rest))
}

/// Of numbers of two bits, whether they are at least 0, 1, ... 4.
#[target_feature(enable = "avx2")]
fn at_least_of_two(high: __m256i, low: __m256i) -> [__m256i; 5] {
    let all = _mm256_set1_epi64x(-1);
    let either = _mm256_or_si256(high, low);
    [all, either, high, _mm256_and_si256(high, low), _mm256_setzero_si256()]
}

/// Of numbers of four bits, whether they are at least 0, 1, ... 16.
#[target_feature(enable = "avx2")]
fn at_least_of_four(bits: [__m256i; 4]) -> [__m256i; 17] {
    let high = at_least_of_two(bits[0], bits[1]);
    let low = at_least_of_two(bits[2], bits[3]);
    let mut all = [_mm256_setzero_si256(); 17];
    for (number, mask) in all.iter_mut().enumerate().take(16) {
        *mask = joined(high[number / 4 + 1], high[number / 4], low[number % 4]);
    }
    all
}

#[target_feature(enable = "avx2")]
unsafe fn compare_ranks(ranks: &Planes, operands: &[u8], masks: &mut [Mask]) {
    for part in 0..Half::PARTS {
        // SAFETY: the processor has the instructions; there are two parts.
        let bits: [__m256i; RANK_BITS] =
            std::array::from_fn(|bit| unsafe { Half::load(&raw const ranks[bit], part) }.0);
        let high = at_least_of_four([bits[0], bits[1], bits[2], bits[3]]);
        let low = at_least_of_four([bits[4], bits[5], bits[6], bits[7]]);
        for (operand, mask) in operands.iter().zip(masks.iter_mut()) {
            let (quotient, remainder) = (usize::from(operand >> 4), usize::from(operand & 15));
            let answer = joined(high[quotient + 1], high[quotient], low[remainder]);
            // SAFETY: as above.
            unsafe { Half(answer).store(mask, part) };
        }
    }
}

#[target_feature(enable = "avx2")]
unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]) {
    let words = rows.div_ceil(64).min(WORDS);
    let low_bits = _mm256_set1_epi8(15);
    for (table, mask) in tables.iter().zip(masks) {
        // SAFETY: a table is four times 16 bytes, aligned to 64.
        let quarters: [__m256i; 4] = std::array::from_fn(|quarter| unsafe {
            _mm256_broadcastsi128_si256(_mm_load_si128(table.0.as_ptr().add(16 * quarter).cast()))
        });
        for (word, answers) in mask.0.iter_mut().enumerate().take(words) {
            *answers = 0;
            for half in 0..2 {
                let first = 64 * word + 32 * half;
                // SAFETY: there are eight words of 64 codes.
                let (bytes, bits) = unsafe {
                    let bytes = codes.bytes.as_ptr().add(first);
                    let bits = codes.bits.as_ptr().add(first);
                    (_mm256_load_si256(bytes.cast()), _mm256_load_si256(bits.cast()))
                };
                let at = _mm256_and_si256(bytes, low_bits);
                let [a, b, c, d] = quarters.map(|quarter| _mm256_shuffle_epi8(quarter, at));
                // The fifth and sixth bit of a byte's place say in which quarter it is.
                let odd = _mm256_slli_epi16::<3>(bytes);
                let left = _mm256_blendv_epi8(a, b, odd);
                let right = _mm256_blendv_epi8(c, d, odd);
                let found = _mm256_blendv_epi8(left, right, _mm256_slli_epi16::<2>(bytes));
                let none = _mm256_cmpeq_epi8(_mm256_and_si256(found, bits), _mm256_setzero_si256());
                let some = !_mm256_movemask_epi8(none).cast_unsigned();
                *answers |= u64::from(some) << (32 * half);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
unsafe fn walk<const LEVELS: u32>(nodes: &[u16], masks: &[Mask], rows: usize, ways: &mut Ways) {
    // SAFETY: the caller's promise.
    unsafe { choose::walk::<Half, LEVELS>(nodes.as_ptr(), masks.as_ptr(), rows, ways) }
}

/// The numbers of 32 rows' ways.
#[target_feature(enable = "avx2")]
fn numbers(ways: &Ways, half: usize, levels: usize) -> __m256i {
    // To each byte the byte of the 32 bits that has its own.
    let spread =
        _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
    let own = _mm256_set1_epi64x(0x8040_2010_0804_0201u64.cast_signed());
    let mut numbers = _mm256_setzero_si256();
    for way in ways.iter().take(levels) {
        let word = way.0.get(half / 2).copied().unwrap_or(0) >> (32 * (half % 2));
        let bits = _mm256_shuffle_epi8(_mm256_set1_epi32(word as i32), spread);
        let set = _mm256_cmpeq_epi8(_mm256_and_si256(bits, own), own);
        // All ones are -1: twice the number so far, and one more where the bit is set.
        numbers = _mm256_sub_epi8(_mm256_add_epi8(numbers, numbers), set);
    }
    numbers
}

#[target_feature(enable = "avx2")]
unsafe fn number(ways: &Ways, rows: usize, levels: usize, out: &mut [u8; BLOCK]) {
    for (half, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate().take(rows.div_ceil(32)) {
        let numbers = numbers(ways, half, levels);
        // SAFETY: 32 bytes are written.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), numbers) };
    }
}

/// Adds leaves to sums, looking them up one by one.
#[target_feature(enable = "avx2")]
unsafe fn add(ways: &Ways, rows: usize, levels: usize, leaves: &[f32], sums: &mut Values) {
    let halves = sums.0.as_chunks_mut::<32>().0.iter_mut();
    for (half, sums) in halves.enumerate().take(rows.div_ceil(32)) {
        let mut at = [0u8; 32];
        // SAFETY: 32 bytes are written.
        unsafe { _mm256_storeu_si256(at.as_mut_ptr().cast(), numbers(ways, half, levels)) };
        for (sum, at) in sums.iter_mut().zip(at) {
            // SAFETY: the caller's promise: a number of `levels` bits is below the number of leaves.
            *sum += unsafe { *leaves.get_unchecked(usize::from(at)) };
        }
    }
}
