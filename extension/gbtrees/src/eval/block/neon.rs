//! Blocks of rows with NEON: half a mask per pair of 128-bit registers.
//!
//! A pair shares the reads of nodes, and 32 registers suffice for a tile of eight levels. A table of
//! codes is four registers, in which one instruction looks up bytes.

use std::arch::aarch64::*;

use crate::compiled::tiles::CodeTable;
use crate::eval::block::instructions::{Instructions, LookUp, block_kernel};
use crate::eval::block::types::{Codes, Mask, RANK_BITS, WORDS};

block_kernel! {
    Half, #[target_feature(enable = "neon")],
    // Not measured, since it has only run under emulation. These are AVX2's, which has registers for as
    // many rows.
    min_rows: 64,
    min_sharing: 8,
    min_by_row: 128,
    costs: Costs { level: 350, node: 650, condition: 2600 },
    lanes: IN_ORDER,
    lanes_double: IN_ORDER,
}

#[derive(Clone, Copy)]
struct Half([uint64x2_t; 2]);

impl Instructions for Half {
    const PARTS: usize = 2;

    #[inline(always)]
    unsafe fn load(mask: *const Mask, part: usize) -> Self {
        // SAFETY: the processor has NEON, and the mask the part.
        unsafe {
            let words = mask.cast::<u64>().add(4 * part);
            Half([vld1q_u64(words), vld1q_u64(words.add(2))])
        }
    }

    #[inline(always)]
    unsafe fn store(self, mask: *mut Mask, part: usize) {
        // SAFETY: the processor has NEON, and the mask the part.
        unsafe {
            let words = mask.cast::<u64>().add(4 * part);
            vst1q_u64(words, self.0[0]);
            vst1q_u64(words.add(2), self.0[1]);
        }
    }

    #[inline(always)]
    unsafe fn fill(bit: bool) -> Self {
        // SAFETY: the processor has NEON.
        unsafe { Half([vdupq_n_u64(u64::from(bit).wrapping_neg()); 2]) }
    }

    #[inline(always)]
    unsafe fn choose(self, right: Self, left: Self) -> Self {
        // SAFETY: the processor has NEON.
        unsafe {
            Half([
                vbslq_u64(self.0[0], right.0[0], left.0[0]),
                vbslq_u64(self.0[1], right.0[1], left.0[1]),
            ])
        }
    }

    #[inline(always)]
    unsafe fn both(self, other: Self) -> Self {
        // SAFETY: the processor has NEON.
        unsafe { Half([vandq_u64(self.0[0], other.0[0]), vandq_u64(self.0[1], other.0[1])]) }
    }

    #[inline(always)]
    unsafe fn either(self, other: Self) -> Self {
        // SAFETY: the processor has NEON.
        unsafe { Half([vorrq_u64(self.0[0], other.0[0]), vorrq_u64(self.0[1], other.0[1])]) }
    }

    #[inline(always)]
    unsafe fn bits_of_bytes(bytes: &[u8; 64]) -> [u64; RANK_BITS] {
        // SAFETY: the processor has NEON; four times 16 bytes are read.
        unsafe {
            let mut parts = [vdupq_n_u8(0); 4];
            for (part, bytes) in parts.iter_mut().zip(bytes.as_chunks::<16>().0) {
                *part = vld1q_u8(bytes.as_ptr());
            }
            let mut bit = vdupq_n_u8(0x80);
            let mut bits = [0; RANK_BITS];
            for word in &mut bits {
                *word = bit_of_each(parts.map(|part| vtstq_u8(part, bit)));
                bit = vshrq_n_u8::<1>(bit);
            }
            bits
        }
    }

    #[inline(always)]
    unsafe fn leaf_indices(path: &[Mask], word: usize, levels: u32) -> [u8; 64] {
        let mut out = [0; 64];
        // SAFETY: the processor has NEON; four times 16 bytes are written.
        unsafe {
            let own = own_bits();
            // Copies to each byte the one of the 64 bits that includes its bit.
            let mut spread = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
            for out in out.as_chunks_mut::<16>().0 {
                let mut indices = vdupq_n_u8(0);
                for mask in path.iter().take(levels as usize) {
                    let bits = vdupq_n_u64(mask.0[word]);
                    let bits = vqtbl1q_u8(vreinterpretq_u8_u64(bits), spread);
                    // All ones is -1, so this doubles the index and adds the bit.
                    indices = vsubq_u8(vaddq_u8(indices, indices), vtstq_u8(bits, own));
                }
                vst1q_u8(out.as_mut_ptr(), indices);
                spread = vaddq_u8(spread, vdupq_n_u8(2));
            }
        }
        out
    }
}

impl LookUp for Half {
    type Masks = Self;
    const IN_ORDER: bool = true;

    #[inline(always)]
    unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]) {
        let words = rows.div_ceil(64).min(WORDS);
        for (table, mask) in tables.iter().zip(masks) {
            // SAFETY: the processor has NEON; a table is 64 bytes, and codes are eight words of 64.
            unsafe {
                let table = vld1q_u8_x4(table.0.as_ptr());
                for (word, outcomes) in mask.0.iter_mut().enumerate().take(words) {
                    let mut found = [vdupq_n_u8(0); 4];
                    for (part, found) in found.iter_mut().enumerate() {
                        let first = 64 * word + 16 * part;
                        let bytes = vld1q_u8(codes.bytes.as_ptr().add(first));
                        let bits = vld1q_u8(codes.bits.as_ptr().add(first));
                        *found = vtstq_u8(vqtbl4q_u8(table, bytes), bits);
                    }
                    *outcomes = bit_of_each(found);
                }
            }
        }
    }
}

/// Returns, in each half of a register, a distinct bit per byte.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn own_bits() -> uint8x16_t {
    // SAFETY: the processor has NEON.
    unsafe { vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201)) }
}

/// Returns a bit for each of 64 bytes, which are all ones or all zeros.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn bit_of_each(bytes: [uint8x16_t; 4]) -> u64 {
    // SAFETY: the processor has NEON.
    unsafe {
        let own = own_bits();
        // Bits of neighbours are disjoint, so sums combine them.
        let [a, b, c, d] = bytes.map(|bytes| vandq_u8(bytes, own));
        let fours = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)))
    }
}
