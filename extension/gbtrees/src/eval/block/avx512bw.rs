//! Blocks of rows with AVX-512BW but without VBMI: Skylake-SP to Cascade Lake.
//!
//! Leaves are looked up as numbers: 32 of them per instruction for 16 rows, or 16 for 8 rows.

use std::arch::x86_64::*;

use crate::compiled::tiles::CodeTable;
use crate::eval::block::instructions::{LookUp, add_eights, block_kernel};
use crate::eval::block::mask_avx512::{Whole, indices};
use crate::eval::block::types::{Codes, Mask, PathBits, Sums, WORDS};

block_kernel! {
    Numbers, #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")],
    min_rows: 24,
    min_sharing: 12,
    min_by_row: 128,
    costs: Costs { level: 100, node: 450, condition: 1200 },
    lanes: IN_ORDER,
    lanes_double: IN_ORDER,
}

struct Numbers;

impl LookUp for Numbers {
    type Masks = Whole;
    const IN_ORDER: bool = true;

    #[inline(always)]
    unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]) {
        let words = rows.div_ceil(64).min(WORDS);
        for (table, mask) in tables.iter().zip(masks) {
            // SAFETY: the processor has AVX-512BW; a table is four times 16 bytes, and codes are 8
            // words of 64 bytes, aligned to that.
            unsafe {
                let quarters = [0, 1, 2, 3].map(|quarter| {
                    let bytes = _mm_load_si128(table.0.as_ptr().add(16 * quarter).cast());
                    _mm512_broadcast_i32x4(bytes)
                });
                for (word, outcome) in mask.0.iter_mut().enumerate().take(words) {
                    let bytes = _mm512_load_si512(codes.bytes.as_ptr().add(64 * word).cast());
                    let bits = _mm512_load_si512(codes.bits.as_ptr().add(64 * word).cast());
                    let at = _mm512_and_si512(bytes, _mm512_set1_epi8(15));
                    let [a, b, c, d] = quarters.map(|quarter| _mm512_shuffle_epi8(quarter, at));
                    // The fifth and sixth bit of a byte's index select the quarter.
                    let odd = _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(16));
                    let upper = _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(32));
                    let low = _mm512_mask_blend_epi8(odd, a, b);
                    let high = _mm512_mask_blend_epi8(odd, c, d);
                    *outcome =
                        _mm512_test_epi8_mask(_mm512_mask_blend_epi8(upper, low, high), bits);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn add<const LEVELS: u32>(
        path: &PathBits,
        rows: usize,
        leaves: &[f32],
        sums: &mut Sums<f32>,
    ) {
        const { assert!(LEVELS <= 8) };
        let registers = (1usize << LEVELS).div_ceil(16);
        let sums = sums.0.as_mut_ptr();
        // SAFETY: the processor has AVX-512BW; a tile has at least 16 leaves, and 2^LEVELS. There are
        // eight words of four registers of sums, aligned to 64 bytes.
        unsafe {
            let mut table = [_mm512_setzero_ps(); 16];
            for (register, floats) in table.iter_mut().enumerate().take(registers) {
                *floats = _mm512_loadu_ps(leaves.as_ptr().add(16 * register));
            }
            for word in 0..rows.div_ceil(64).min(WORDS) {
                let mut at = [0u8; 64];
                _mm512_storeu_si512(at.as_mut_ptr().cast(), indices(path, word, LEVELS));
                for (part, at) in at.as_chunks::<16>().0.iter().enumerate() {
                    let at = _mm512_cvtepu8_epi32(_mm_loadu_si128(at.as_ptr().cast()));
                    let sum = sums.add(64 * word + 16 * part);
                    let new = _mm512_add_ps(_mm512_load_ps(sum), floats_at::<LEVELS>(&table, at));
                    _mm512_store_ps(sum, new);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn add_double<const LEVELS: u32>(
        path: &PathBits,
        rows: usize,
        leaves: &[f64],
        sums: &mut Sums<f64>,
    ) {
        const { assert!(LEVELS <= 8) };
        if LEVELS > MAX_LEVELS_OF_DOUBLES {
            // SAFETY: as for this function.
            return unsafe { add_eights::<Whole, f64, LEVELS>(path, rows, leaves, sums) };
        }
        let registers = (1usize << LEVELS).div_ceil(8);
        let sums = sums.0.as_mut_ptr();
        // SAFETY: the processor has AVX-512BW; a tile has at least 16 leaves, and 2^LEVELS. There are
        // eight words of eight registers of sums, aligned to 64 bytes.
        unsafe {
            let mut table = [_mm512_setzero_pd(); 8];
            for (register, doubles) in table.iter_mut().enumerate().take(registers) {
                *doubles = _mm512_loadu_pd(leaves.as_ptr().add(8 * register));
            }
            for word in 0..rows.div_ceil(64).min(WORDS) {
                let mut at = [0u8; 64];
                _mm512_storeu_si512(at.as_mut_ptr().cast(), indices(path, word, LEVELS));
                for (part, at) in at.as_chunks::<8>().0.iter().enumerate() {
                    let at = _mm512_cvtepu8_epi64(_mm_loadl_epi64(at.as_ptr().cast()));
                    let sum = sums.add(64 * word + 8 * part);
                    let new = _mm512_add_pd(_mm512_load_pd(sum), doubles_at::<LEVELS>(&table, at));
                    _mm512_store_pd(sum, new);
                }
            }
        }
    }
}

/// Leaves of more levels do not fit in registers.
const MAX_LEVELS_OF_DOUBLES: u32 = 6;

/// Returns 16 of 2^LEVELS floats, by position; `table` has 16 per register.
///
/// # Safety
/// The processor has AVX-512.
#[inline(always)]
unsafe fn floats_at<const LEVELS: u32>(table: &[__m512; 16], at: __m512i) -> __m512 {
    // SAFETY: the processor has AVX-512.
    unsafe {
        if LEVELS <= 4 {
            return _mm512_permutexvar_ps(at, table[0]);
        }
        let mut found = [_mm512_setzero_ps(); 8];
        let pairs = table.as_chunks::<2>().0.iter();
        for (found, [low, high]) in found.iter_mut().zip(pairs).take(1 << (LEVELS - 5)) {
            *found = _mm512_permutex2var_ps(*low, at, *high);
        }
        for bit in 5..LEVELS {
            let set = _mm512_test_epi32_mask(at, _mm512_set1_epi32(1 << bit));
            for pair in 0..1 << (LEVELS - 1 - bit) {
                found[pair] = _mm512_mask_blend_ps(set, found[2 * pair], found[2 * pair + 1]);
            }
        }
        found[0]
    }
}

/// Returns 8 of 2^LEVELS doubles, by position; `table` has 8 per register.
///
/// # Safety
/// The processor has AVX-512.
#[inline(always)]
unsafe fn doubles_at<const LEVELS: u32>(table: &[__m512d; 8], at: __m512i) -> __m512d {
    // SAFETY: the processor has AVX-512.
    unsafe {
        let mut found = [_mm512_setzero_pd(); 4];
        let pairs = table.as_chunks::<2>().0.iter();
        for (found, [low, high]) in found.iter_mut().zip(pairs).take(1 << LEVELS.saturating_sub(4))
        {
            *found = _mm512_permutex2var_pd(*low, at, *high);
        }
        for bit in 4..LEVELS {
            let set = _mm512_test_epi64_mask(at, _mm512_set1_epi64(1 << bit));
            for pair in 0..1 << (LEVELS - 1 - bit) {
                found[pair] = _mm512_mask_blend_pd(set, found[2 * pair], found[2 * pair + 1]);
            }
        }
        found[0]
    }
}
