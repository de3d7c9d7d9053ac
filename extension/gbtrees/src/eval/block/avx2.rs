//! Blocks of rows with AVX2: half a mask per register.

use std::arch::x86_64::*;

use crate::compiled::tiles::CodeTable;
use crate::eval::block::instructions::{Instructions, LookUp, block_kernel};
use crate::eval::block::rank_avx2;
use crate::eval::block::sse2;
use crate::eval::block::types::{BLOCK, BlockValues, Codes, Mask, RANK_BITS, WORDS};

block_kernel! {
    Half, #[target_feature(enable = "avx2")],
    min_rows: 64,
    min_sharing: 8,
    min_by_row: 128,
    costs: Costs { level: 350, node: 650, condition: 2600 },
    lanes: IN_ORDER,
    lanes_double: IN_ORDER,
}

/// Levels from which transposing takes fewer instructions than level by level.
const MIN_TRANSPOSED: u32 = 5;

#[derive(Clone, Copy)]
struct Half(__m256i);

impl Instructions for Half {
    const PARTS: usize = 2;

    #[inline(always)]
    unsafe fn load(mask: *const Mask, part: usize) -> Self {
        // SAFETY: the processor has AVX2, and the mask the part.
        unsafe { Half(_mm256_load_si256(mask.cast::<__m256i>().add(part))) }
    }

    #[inline(always)]
    unsafe fn store(self, mask: *mut Mask, part: usize) {
        // SAFETY: the processor has AVX2, and the mask the part.
        unsafe { _mm256_store_si256(mask.cast::<__m256i>().add(part), self.0) }
    }

    #[inline(always)]
    unsafe fn fill(bit: bool) -> Self {
        // SAFETY: the processor has AVX2.
        unsafe { Half(_mm256_set1_epi64x(-i64::from(bit))) }
    }

    #[inline(always)]
    unsafe fn choose(self, right: Self, left: Self) -> Self {
        // SAFETY: the processor has AVX2.
        unsafe {
            let right = _mm256_and_si256(self.0, right.0);
            Half(_mm256_or_si256(right, _mm256_andnot_si256(self.0, left.0)))
        }
    }

    #[inline(always)]
    unsafe fn both(self, other: Self) -> Self {
        // SAFETY: the processor has AVX2.
        unsafe { Half(_mm256_and_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn either(self, other: Self) -> Self {
        // SAFETY: the processor has AVX2.
        unsafe { Half(_mm256_or_si256(self.0, other.0)) }
    }

    // One instruction less than a choice.
    #[inline(always)]
    unsafe fn joined(greater: Self, equal: Self, rest: Self) -> Self {
        // SAFETY: the processor has AVX2.
        unsafe { Half(_mm256_or_si256(greater.0, _mm256_and_si256(equal.0, rest.0))) }
    }

    #[inline(always)]
    unsafe fn bits_of_bytes(bytes: &[u8; 64]) -> [u64; RANK_BITS] {
        // SAFETY: the processor has AVX2; two times 32 bytes are read.
        unsafe {
            let mut low = _mm256_loadu_si256(bytes.as_ptr().cast());
            let mut high = _mm256_loadu_si256(bytes.as_ptr().add(32).cast());
            let mut bits = [0; RANK_BITS];
            for word in &mut bits {
                let [a, b] = [low, high].map(|half| _mm256_movemask_epi8(half).cast_unsigned());
                *word = u64::from(a) | u64::from(b) << 32;
                [low, high] = [low, high].map(|half| _mm256_add_epi8(half, half));
            }
            bits
        }
    }

    #[inline(always)]
    unsafe fn leaf_indices(path: &[Mask], word: usize, levels: u32) -> [u8; 64] {
        let mut indices = [0; 64];
        if levels >= MIN_TRANSPOSED {
            let [a, b, c, d] = sse2::matrices(path, word, levels);
            // SAFETY: the processor has AVX2; two times 32 bytes are written.
            unsafe {
                let halves = [_mm256_set_m128i(b, a), _mm256_set_m128i(d, c)];
                for (half, indices) in
                    halves.into_iter().zip(indices.as_chunks_mut::<32>().0.iter_mut())
                {
                    let bytes = exchanged::<7>(half, sse2::LOWER_1);
                    let bytes = exchanged::<14>(bytes, sse2::LOWER_2);
                    let bytes = exchanged::<28>(bytes, sse2::LOWER_4);
                    _mm256_storeu_si256(indices.as_mut_ptr().cast(), bytes);
                }
            }
            return indices;
        }
        // SAFETY: the processor has AVX2; two times 32 bytes are written.
        unsafe {
            // Copies to each byte the one of the 32 bits that includes its bit.
            let [a, b, c, d] = [0, 1, 2, 3].map(|byte| 0x0101_0101_0101_0101 * byte);
            let spread = _mm256_set_epi64x(d, c, b, a);
            let own = _mm256_set1_epi64x(0x8040_2010_0804_0201u64.cast_signed());
            for (half, indices) in indices.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                let mut numbers = _mm256_setzero_si256();
                for mask in path.iter().take(levels as usize) {
                    let bits = mask.0[word] >> (32 * half);
                    let bits = _mm256_shuffle_epi8(_mm256_set1_epi32(bits as i32), spread);
                    let set = _mm256_cmpeq_epi8(_mm256_and_si256(bits, own), own);
                    // All ones is -1, so this doubles the number and adds the bit.
                    numbers = _mm256_sub_epi8(_mm256_add_epi8(numbers, numbers), set);
                }
                _mm256_storeu_si256(indices.as_mut_ptr().cast(), numbers);
            }
        }
        indices
    }

    #[inline(always)]
    unsafe fn ranks(
        values: &BlockValues,
        rows: usize,
        tree: &[f32],
        missing_right: bool,
    ) -> [u8; BLOCK] {
        // SAFETY: the processor has AVX2.
        unsafe {
            if missing_right {
                rank_avx2::ranks::<_CMP_NLT_UQ>(values, rows, tree)
            } else {
                rank_avx2::ranks::<_CMP_GE_OQ>(values, rows, tree)
            }
        }
    }
}

impl LookUp for Half {
    type Masks = Self;
    const IN_ORDER: bool = true;

    #[inline(always)]
    unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]) {
        let words = rows.div_ceil(64).min(WORDS);
        for (table, mask) in tables.iter().zip(masks) {
            // SAFETY: the processor has AVX2; a table is four times 16 bytes, aligned to 64, and codes
            // are eight words of 64.
            unsafe {
                let quarter = |quarter: usize| {
                    let bytes = _mm_load_si128(table.0.as_ptr().add(16 * quarter).cast());
                    _mm256_broadcastsi128_si256(bytes)
                };
                let quarters = [quarter(0), quarter(1), quarter(2), quarter(3)];
                for (word, outcomes) in mask.0.iter_mut().enumerate().take(words) {
                    let low = look_up_32(codes, 64 * word, quarters);
                    let high = look_up_32(codes, 64 * word + 32, quarters);
                    *outcomes = u64::from(low) | u64::from(high) << 32;
                }
            }
        }
    }
}

/// Exchanges bits with those at a distance; `lower` has the lower ones.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn exchanged<const DISTANCE: i32>(bits: __m256i, lower: i64) -> __m256i {
    // SAFETY: the processor has AVX2.
    unsafe {
        let other = _mm256_xor_si256(bits, _mm256_srli_epi64::<DISTANCE>(bits));
        let moved = _mm256_and_si256(other, _mm256_set1_epi64x(lower));
        _mm256_xor_si256(bits, _mm256_xor_si256(moved, _mm256_slli_epi64::<DISTANCE>(moved)))
    }
}

/// Looks up the codes of 32 rows in a table of four quarters.
///
/// # Safety
/// The processor has AVX2; the rows are in the block.
#[inline(always)]
unsafe fn look_up_32(codes: &Codes, first: usize, quarters: [__m256i; 4]) -> u32 {
    // SAFETY: the processor has AVX2, and the rows are in the block.
    unsafe {
        let bytes = _mm256_load_si256(codes.bytes.as_ptr().add(first).cast());
        let bits = _mm256_load_si256(codes.bits.as_ptr().add(first).cast());
        let at = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
        let [a, b, c, d] = quarters.map(|quarter| _mm256_shuffle_epi8(quarter, at));
        // The fifth and sixth bit of a byte's index select the quarter.
        let odd = _mm256_slli_epi16::<3>(bytes);
        let left = _mm256_blendv_epi8(a, b, odd);
        let right = _mm256_blendv_epi8(c, d, odd);
        let found = _mm256_blendv_epi8(left, right, _mm256_slli_epi16::<2>(bytes));
        let none = _mm256_cmpeq_epi8(_mm256_and_si256(found, bits), _mm256_setzero_si256());
        !_mm256_movemask_epi8(none).cast_unsigned()
    }
}
