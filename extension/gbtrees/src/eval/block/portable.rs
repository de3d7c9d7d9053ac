//! Blocks of rows in portable code: a quarter of a mask at a time, in an SSE2 register on x86-64.

use crate::compiled::tiles::CodeTable;
use crate::eval::block::code_masks;
use crate::eval::block::instructions::{Instructions, LookUp, block_kernel};
use crate::eval::block::types::{Codes, Mask, RANK_BITS, WORDS};
#[cfg(target_arch = "x86_64")]
use crate::eval::block::{
    rank_sse2, sse2,
    types::{BLOCK, BlockValues},
};

block_kernel! {
    Quarter,
    min_rows: 64,
    min_sharing: 8,
    min_by_row: 128,
    costs: Costs { level: 350, node: 1300, condition: 5200 },
    lanes: IN_ORDER,
    lanes_double: IN_ORDER,
}

/// Two words in an SSE2 register; every x86-64 has SSE2.
#[cfg(target_arch = "x86_64")]
mod register {
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub(super) struct Register(__m128i);

    impl Register {
        /// # Safety
        /// `words` is valid for 16 aligned bytes.
        #[inline(always)]
        pub(super) unsafe fn load(words: *const u64) -> Self {
            // SAFETY: the caller passes 16 aligned bytes.
            Register(unsafe { _mm_load_si128(words.cast()) })
        }

        /// # Safety
        /// `words` is valid for 16 aligned bytes.
        #[inline(always)]
        pub(super) unsafe fn store(self, words: *mut u64) {
            // SAFETY: the caller passes 16 aligned bytes.
            unsafe { _mm_store_si128(words.cast(), self.0) };
        }

        #[inline(always)]
        pub(super) fn fill(word: u64) -> Self {
            // SAFETY: the processor has SSE2, here and below.
            Register(unsafe { _mm_set1_epi64x(word.cast_signed()) })
        }

        #[inline(always)]
        pub(super) fn and(self, other: Self) -> Self {
            // SAFETY: see above.
            Register(unsafe { _mm_and_si128(self.0, other.0) })
        }

        #[inline(always)]
        pub(super) fn or(self, other: Self) -> Self {
            // SAFETY: see above.
            Register(unsafe { _mm_or_si128(self.0, other.0) })
        }

        /// Returns the bits of `other` that are not in `self`.
        #[inline(always)]
        pub(super) fn not_in(self, other: Self) -> Self {
            // SAFETY: see above.
            Register(unsafe { _mm_andnot_si128(self.0, other.0) })
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod register {
    #[derive(Clone, Copy)]
    pub(super) struct Register([u64; 2]);

    impl Register {
        /// # Safety
        /// `words` points to two words.
        #[inline(always)]
        pub(super) unsafe fn load(words: *const u64) -> Self {
            // SAFETY: the caller passes two words.
            Register(unsafe { *words.cast() })
        }

        /// # Safety
        /// `words` points to two words.
        #[inline(always)]
        pub(super) unsafe fn store(self, words: *mut u64) {
            // SAFETY: the caller passes two words.
            unsafe { *words.cast() = self.0 };
        }

        #[inline(always)]
        pub(super) fn fill(word: u64) -> Self {
            Register([word; 2])
        }

        #[inline(always)]
        pub(super) fn and(self, other: Self) -> Self {
            Register([self.0[0] & other.0[0], self.0[1] & other.0[1]])
        }

        #[inline(always)]
        pub(super) fn or(self, other: Self) -> Self {
            Register([self.0[0] | other.0[0], self.0[1] | other.0[1]])
        }

        /// Returns the bits of `other` that are not in `self`.
        #[inline(always)]
        pub(super) fn not_in(self, other: Self) -> Self {
            Register([!self.0[0] & other.0[0], !self.0[1] & other.0[1]])
        }
    }
}

use register::Register;

#[derive(Clone, Copy)]
struct Quarter(Register);

impl Instructions for Quarter {
    const PARTS: usize = WORDS / 2;

    #[inline(always)]
    unsafe fn load(mask: *const Mask, part: usize) -> Self {
        // SAFETY: the mask has the part; masks are aligned to 64 bytes.
        unsafe { Quarter(Register::load(mask.cast::<u64>().add(2 * part))) }
    }

    #[inline(always)]
    unsafe fn store(self, mask: *mut Mask, part: usize) {
        // SAFETY: the mask has the part; masks are aligned to 64 bytes.
        unsafe { self.0.store(mask.cast::<u64>().add(2 * part)) }
    }

    #[inline(always)]
    unsafe fn fill(bit: bool) -> Self {
        Quarter(Register::fill(u64::from(bit).wrapping_neg()))
    }

    #[inline(always)]
    unsafe fn choose(self, right: Self, left: Self) -> Self {
        Quarter(self.0.and(right.0).or(self.0.not_in(left.0)))
    }

    #[inline(always)]
    unsafe fn both(self, other: Self) -> Self {
        Quarter(self.0.and(other.0))
    }

    #[inline(always)]
    unsafe fn either(self, other: Self) -> Self {
        Quarter(self.0.or(other.0))
    }

    // One instruction less than a choice.
    #[inline(always)]
    unsafe fn joined(greater: Self, equal: Self, rest: Self) -> Self {
        Quarter(greater.0.or(equal.0.and(rest.0)))
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn ranks(
        values: &BlockValues,
        rows: usize,
        tree: &[f32],
        missing_right: bool,
    ) -> [u8; BLOCK] {
        if missing_right {
            rank_sse2::ranks::<true>(values, rows, tree)
        } else {
            rank_sse2::ranks::<false>(values, rows, tree)
        }
    }

    #[inline(always)]
    unsafe fn bits_of_bytes(bytes: &[u8; 64]) -> [u64; RANK_BITS] {
        #[cfg(target_arch = "x86_64")]
        {
            sse2::bits_of_bytes(bytes)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            bits_of_bytes(bytes)
        }
    }

    #[inline(always)]
    unsafe fn leaf_indices(path: &[Mask], word: usize, levels: u32) -> [u8; 64] {
        #[cfg(target_arch = "x86_64")]
        if levels >= sse2::MIN_TRANSPOSED {
            return sse2::leaf_indices(path, word, levels);
        }
        let mut out = [0; 64];
        let (rows, _) = out.as_chunks_mut::<8>();
        for mask in path.iter().take(levels as usize) {
            let bits = mask.0[word].to_le_bytes();
            for (indices, bits) in rows.iter_mut().zip(bits) {
                // Below 2^8 with the last level, so that no index overflows into the next.
                let twice = u64::from_le_bytes(*indices) << 1;
                *indices = (twice | SPREAD[usize::from(bits)]).to_le_bytes();
            }
        }
        out
    }
}

/// Each bit of a byte as a byte, lowest first.
static SPREAD: [u64; 256] = {
    let mut spread = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            spread[byte] |= ((byte as u64 >> bit) & 1) << (8 * bit);
            bit += 1;
        }
        byte += 1;
    }
    spread
};

/// Transposes 64 bytes into a word per bit, highest first.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn bits_of_bytes(bytes: &[u8; 64]) -> [u64; RANK_BITS] {
    let mut bits = [[0u8; 8]; RANK_BITS];
    for (byte, rows) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let bits_of_rows = transposed(u64::from_le_bytes(*rows)).to_be_bytes();
        for (word, bits_of_rows) in bits.iter_mut().zip(bits_of_rows) {
            word[byte] = bits_of_rows;
        }
    }
    bits.map(u64::from_le_bytes)
}

/// Transposes: bit `i` of byte `j` becomes bit `j` of byte `i`.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn transposed(mut bytes: u64) -> u64 {
    for (distance, half) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swapped = (bytes ^ bytes >> distance) & half;
        bytes ^= swapped ^ swapped << distance;
    }
    bytes
}

impl LookUp for Quarter {
    type Masks = Self;
    const IN_ORDER: bool = true;

    #[inline(always)]
    unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]) {
        if tables.len() >= MIN_TABLES {
            // SAFETY: code for the base instruction set has no requirements.
            return unsafe { code_masks::look_up::<Self>(codes, rows, tables, masks) };
        }
        let (bytes, bits) = (codes.bytes.as_chunks::<64>().0, codes.bits.as_chunks::<64>().0);
        for (table, mask) in tables.iter().zip(masks) {
            let words = mask.0.iter_mut().zip(bytes.iter().zip(bits)).take(rows.div_ceil(64));
            for (word, (bytes, bits)) in words {
                let outcomes = bytes.iter().zip(bits).enumerate();
                *word = outcomes.fold(0, |word, (row, (byte, bit))| {
                    let set = table.0[usize::from(*byte) % table.0.len()] & bit != 0;
                    word | u64::from(set) << row
                });
            }
        }
    }
}

/// For fewer tables of a column, masks cost more than a look-up per row.
const MIN_TABLES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn bits_are_transposed() {
        let mut random = Random(1);
        for _ in 0..100 {
            let bytes = random.next();
            let found = transposed(bytes).to_le_bytes();
            for (at, byte) in bytes.to_le_bytes().into_iter().enumerate() {
                for (bit, found) in found.into_iter().enumerate() {
                    assert_eq!(found >> at & 1, byte >> bit & 1);
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn sse2_gives_the_same_bits_and_indices() {
        let mut random = Random(2);
        for _ in 0..100 {
            let bytes: [u8; 64] = std::array::from_fn(|_| random.next() as u8);
            assert_eq!(sse2::bits_of_bytes(&bytes), bits_of_bytes(&bytes));
            let path: [Mask; 8] =
                std::array::from_fn(|_| Mask(std::array::from_fn(|_| random.next())));
            for levels in 0..=8 {
                let expected: [u8; 64] = std::array::from_fn(|row| {
                    let bits = path.iter().take(levels).map(|mask| mask.0[3] >> row & 1);
                    bits.fold(0, |index, bit| index << 1 | bit as u8)
                });
                assert_eq!(sse2::leaf_indices(&path, 3, levels as u32), expected);
            }
        }
    }
}
