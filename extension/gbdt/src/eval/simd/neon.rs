//! Blocks of rows with NEON.
//!
//! Registers have 128 bits, so that a mask is four of them. Half a mask is walked at a time: what a
//! node asks is then read once for two registers, of which there are 32, enough for a tile of eight
//! levels. A table of codes is four registers, in which one instruction looks bytes up.

use std::arch::aarch64::*;

use super::choose::{self, Bits, walk_by_levels};
use super::search;
use super::{BLOCK, Codes, Costs, Mask, Planes, RANK_BITS, Values, Vectors, WORDS, Ways};
use crate::forest::tiles::CodeTable;

/// Half of a mask.
#[derive(Clone, Copy)]
struct Half([uint64x2_t; 2]);

impl Bits for Half {
    const PARTS: usize = 2;

    #[inline(always)]
    unsafe fn load(mask: *const Mask, part: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let words = mask.cast::<u64>().add(4 * part);
            Half([vld1q_u64(words), vld1q_u64(words.add(2))])
        }
    }

    #[inline(always)]
    unsafe fn store(self, mask: *mut Mask, part: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let words = mask.cast::<u64>().add(4 * part);
            vst1q_u64(words, self.0[0]);
            vst1q_u64(words.add(2), self.0[1]);
        }
    }

    #[inline(always)]
    unsafe fn choose(self, right: Self, left: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Half([
                vbslq_u64(self.0[0], right.0[0], left.0[0]),
                vbslq_u64(self.0[1], right.0[1], left.0[1]),
            ])
        }
    }
}

/// NEON.
pub(super) struct Neon;

impl Vectors for Neon {
    // Not measured: it has run under emulation only. These are AVX2's, which does the same in steps of
    // as many rows.
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

/// In each half of a register, a bit for every byte.
#[target_feature(enable = "neon")]
fn own_bits() -> uint8x16_t {
    vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201))
}

/// Of 64 bytes, each all ones or all zeros, a bit each.
#[target_feature(enable = "neon")]
fn bit_of_each(bytes: [uint8x16_t; 4]) -> u64 {
    let own = own_bits();
    // Bits of neighbours are disjoint, so that sums join them.
    let [a, b, c, d] = bytes.map(|bytes| vandq_u8(bytes, own));
    let fours = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)))
}

#[target_feature(enable = "neon")]
unsafe fn rank<const MISSING_RIGHT: bool>(
    values: &Values,
    rows: usize,
    tree: &[f32],
    ranks: &mut Planes,
) {
    let Some(numbers) = search::ranks::<MISSING_RIGHT>(values, rows, tree) else { return };
    for (word, numbers) in numbers.as_chunks::<64>().0.iter().enumerate().take(rows.div_ceil(64)) {
        // SAFETY: four times 16 bytes are read.
        let numbers: [uint8x16_t; 4] =
            std::array::from_fn(|part| unsafe { vld1q_u8(numbers.as_ptr().add(16 * part)) });
        let mut bit = vdupq_n_u8(0x80);
        for plane in ranks.iter_mut() {
            plane.0[word] = bit_of_each(numbers.map(|numbers| vtstq_u8(numbers, bit)));
            bit = vshrq_n_u8::<1>(bit);
        }
    }
}

/// `greater | equal & rest`: whether a number is at least another, by what holds of their high and
/// of their low parts. Of the two, greater is the rarer, so that one choice does.
#[target_feature(enable = "neon")]
fn joined(greater: uint64x2_t, equal: uint64x2_t, rest: uint64x2_t) -> uint64x2_t {
    vbslq_u64(rest, equal, greater)
}

/// Of numbers of two bits, whether they are at least 0, 1, ... 4.
#[target_feature(enable = "neon")]
fn at_least_of_two(high: uint64x2_t, low: uint64x2_t) -> [uint64x2_t; 5] {
    let either = vorrq_u64(high, low);
    [vdupq_n_u64(u64::MAX), either, high, vandq_u64(high, low), vdupq_n_u64(0)]
}

/// Of numbers of four bits, whether they are at least 0, 1, ... 16.
#[target_feature(enable = "neon")]
fn at_least_of_four(bits: [uint64x2_t; 4]) -> [uint64x2_t; 17] {
    let high = at_least_of_two(bits[0], bits[1]);
    let low = at_least_of_two(bits[2], bits[3]);
    let mut all = [vdupq_n_u64(0); 17];
    for (number, mask) in all.iter_mut().enumerate().take(16) {
        *mask = joined(high[number / 4 + 1], high[number / 4], low[number % 4]);
    }
    all
}

#[target_feature(enable = "neon")]
unsafe fn compare_ranks(ranks: &Planes, operands: &[u8], masks: &mut [Mask]) {
    for word in (0..WORDS).step_by(2) {
        // SAFETY: two words from an even one on are within a mask.
        let bits: [uint64x2_t; RANK_BITS] =
            std::array::from_fn(|bit| unsafe { vld1q_u64(ranks[bit].0.as_ptr().add(word)) });
        let high = at_least_of_four([bits[0], bits[1], bits[2], bits[3]]);
        let low = at_least_of_four([bits[4], bits[5], bits[6], bits[7]]);
        for (operand, mask) in operands.iter().zip(masks.iter_mut()) {
            let (quotient, remainder) = (usize::from(operand >> 4), usize::from(operand & 15));
            let answer = joined(high[quotient + 1], high[quotient], low[remainder]);
            // SAFETY: as above.
            unsafe { vst1q_u64(mask.0.as_mut_ptr().add(word), answer) };
        }
    }
}

#[target_feature(enable = "neon")]
unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]) {
    let words = rows.div_ceil(64).min(WORDS);
    for (table, mask) in tables.iter().zip(masks) {
        // SAFETY: a table is 64 bytes.
        let table = unsafe { vld1q_u8_x4(table.0.as_ptr()) };
        for (word, answers) in mask.0.iter_mut().enumerate().take(words) {
            *answers = bit_of_each(std::array::from_fn(|part| {
                let first = 64 * word + 16 * part;
                // SAFETY: there are eight words of 64 codes.
                let (bytes, bits) = unsafe {
                    (
                        vld1q_u8(codes.bytes.as_ptr().add(first)),
                        vld1q_u8(codes.bits.as_ptr().add(first)),
                    )
                };
                vtstq_u8(vqtbl4q_u8(table, bytes), bits)
            }));
        }
    }
}

#[target_feature(enable = "neon")]
unsafe fn walk<const LEVELS: u32>(nodes: &[u16], masks: &[Mask], rows: usize, ways: &mut Ways) {
    // SAFETY: the caller's promise.
    unsafe { choose::walk::<Half, LEVELS>(nodes.as_ptr(), masks.as_ptr(), rows, ways) }
}

/// The numbers of 64 rows' ways.
#[target_feature(enable = "neon")]
fn numbers(ways: &Ways, word: usize, levels: usize) -> [uint8x16_t; 4] {
    // To each byte the byte of the 64 bits that has its own.
    let first = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    let spread: [uint8x16_t; 4] =
        std::array::from_fn(|part| vaddq_u8(first, vdupq_n_u8(2 * part as u8)));
    let own = own_bits();
    let mut numbers = [vdupq_n_u8(0); 4];
    for way in ways.iter().take(levels) {
        let bits = vreinterpretq_u8_u64(vdupq_n_u64(way.0.get(word).copied().unwrap_or(0)));
        for (numbers, spread) in numbers.iter_mut().zip(spread) {
            let set = vtstq_u8(vqtbl1q_u8(bits, spread), own);
            // All ones are -1: twice the number so far, and one more where the bit is set.
            *numbers = vsubq_u8(vaddq_u8(*numbers, *numbers), set);
        }
    }
    numbers
}

/// Puts the numbers of 64 rows' ways into bytes.
#[target_feature(enable = "neon")]
fn store_numbers(ways: &Ways, word: usize, levels: usize, out: &mut [u8; 64]) {
    let parts = out.as_chunks_mut::<16>().0.iter_mut();
    for (out, numbers) in parts.zip(numbers(ways, word, levels)) {
        // SAFETY: 16 bytes are written.
        unsafe { vst1q_u8(out.as_mut_ptr(), numbers) };
    }
}

#[target_feature(enable = "neon")]
unsafe fn number(ways: &Ways, rows: usize, levels: usize, out: &mut [u8; BLOCK]) {
    for (word, out) in out.as_chunks_mut::<64>().0.iter_mut().enumerate().take(rows.div_ceil(64)) {
        store_numbers(ways, word, levels, out);
    }
}

/// Adds leaves to sums, looking them up one by one.
#[target_feature(enable = "neon")]
unsafe fn add(ways: &Ways, rows: usize, levels: usize, leaves: &[f32], sums: &mut Values) {
    let words = sums.0.as_chunks_mut::<64>().0.iter_mut();
    for (word, sums) in words.enumerate().take(rows.div_ceil(64)) {
        let mut numbers = [0u8; 64];
        store_numbers(ways, word, levels, &mut numbers);
        for (sum, number) in sums.iter_mut().zip(numbers) {
            // SAFETY: the caller's promise: a number of `levels` bits is below the number of leaves.
            *sum += unsafe { *leaves.get_unchecked(usize::from(number)) };
        }
    }
}
