//! Blocks of rows with AVX-512 and VBMI: codes and leaves of 64 rows are looked up byte by byte.
//!
//! Sums are in the order of unpacked bytes.

use std::arch::x86_64::*;

use crate::compiled::tiles::CodeTable;
use crate::eval::block::instructions::{LookUp, block_kernel};
use crate::eval::block::mask_avx512::{Whole, indices};
use crate::eval::block::types::{BLOCK, Codes, Mask, PathBits, Sums, WORDS};

block_kernel! {
    Bytes, #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")],
    min_rows: 24,
    min_sharing: 12,
    min_by_row: usize::MAX,
    costs: Costs { level: 100, node: 400, condition: 1200 },
    lanes: UNPACKED,
    lanes_double: UNPACKED_DOUBLE,
}

/// Within 64 rows, a lane's 16 come in fours, one from each of four registers.
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

/// For f64, a lane's 16 come in twos, one from each of eight registers.
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

struct Bytes;

impl LookUp for Bytes {
    type Masks = Whole;
    const IN_ORDER: bool = false;

    #[inline(always)]
    unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]) {
        let words = rows.div_ceil(64).min(WORDS);
        for (table, mask) in tables.iter().zip(masks) {
            // SAFETY: the processor has VBMI; tables and codes are aligned to 64 bytes, and codes are 8
            // words of 64 bytes.
            unsafe {
                let table = _mm512_load_si512(table.0.as_ptr().cast());
                for (word, outcome) in mask.0.iter_mut().enumerate().take(words) {
                    let bytes = _mm512_load_si512(codes.bytes.as_ptr().add(64 * word).cast());
                    let bits = _mm512_load_si512(codes.bits.as_ptr().add(64 * word).cast());
                    *outcome = _mm512_test_epi8_mask(_mm512_permutexvar_epi8(bytes, table), bits);
                }
            }
        }
    }

    /// Looks up each byte of the leaves of 64 rows, and combines the bytes.
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
        // SAFETY: the processor has VBMI; a tile has at least 16 leaves, and 2^LEVELS. There are eight
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

    /// The f64 version, with eight bytes per leaf.
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
        // SAFETY: the processor has VBMI; a tile has at least 16 leaves, and 2^LEVELS. There are eight
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

/// Returns byte `byte` of 64 floats, in order.
///
/// # Safety
/// The processor has AVX-512 and VBMI.
#[inline(always)]
pub(super) unsafe fn every_fourth_byte(floats: [__m512i; 4], byte: i8) -> __m512i {
    /// Every fourth byte of two registers, twice.
    static EVERY_FOURTH: [u8; 64] = {
        let mut bytes = [0; 64];
        let mut index = 0;
        while index < 64 {
            bytes[index] = (4 * (index % 32)) as u8;
            index += 1;
        }
        bytes
    };
    // SAFETY: the processor has VBMI; 64 bytes are read.
    unsafe {
        let every = _mm512_loadu_si512(EVERY_FOURTH.as_ptr().cast());
        let every = _mm512_add_epi8(every, _mm512_set1_epi8(byte));
        let low = _mm512_permutex2var_epi8(floats[0], every, floats[1]);
        let high = _mm512_permutex2var_epi8(floats[2], every, floats[3]);
        _mm512_inserti64x4::<1>(low, _mm512_castsi512_si256(high))
    }
}

/// Returns the first bytes of up to 64 doubles in order, then the second bytes, and so on.
///
/// # Safety
/// The processor has AVX-512 and VBMI; `doubles` has `registers` times 8 doubles.
#[inline(always)]
pub(super) unsafe fn bytes_of_doubles(doubles: *const f64, registers: usize) -> [__m512i; 8] {
    /// Byte `8 * b + i` is byte `b` of double `i`.
    static BYTE_BY_BYTE: [u8; 64] = {
        let mut bytes = [0; 64];
        let mut index = 0;
        while index < 64 {
            bytes[index] = (index / 8 + 8 * (index % 8)) as u8;
            index += 1;
        }
        bytes
    };
    // SAFETY: the processor has VBMI; the doubles are there, and 64 bytes are read.
    unsafe {
        let zero = _mm512_setzero_si512();
        let order = _mm512_loadu_si512(BYTE_BY_BYTE.as_ptr().cast());
        let mut eights = [zero; 8];
        for (register, eight) in eights.iter_mut().enumerate().take(registers) {
            let doubles = _mm512_loadu_si512(doubles.add(8 * register).cast());
            *eight = _mm512_permutexvar_epi8(order, doubles);
        }
        // Transposes a matrix of eight by eight words: first pairs, then pairs of pairs by lanes.
        let mut bytes = [zero; 8];
        for odd in 0..2 {
            let mut pairs = [zero; 4];
            for (pair, both) in pairs.iter_mut().zip(eights.as_chunks::<2>().0) {
                *pair = if odd == 0 {
                    _mm512_unpacklo_epi64(both[0], both[1])
                } else {
                    _mm512_unpackhi_epi64(both[0], both[1])
                };
            }
            let [a, b, c, d] = pairs;
            let (ab, cd) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d));
            bytes[odd] = _mm512_shuffle_i64x2::<0x88>(ab, cd);
            bytes[odd + 4] = _mm512_shuffle_i64x2::<0xdd>(ab, cd);
            let (ab, cd) = (_mm512_shuffle_i64x2::<0xdd>(a, b), _mm512_shuffle_i64x2::<0xdd>(c, d));
            bytes[odd + 2] = _mm512_shuffle_i64x2::<0x88>(ab, cd);
            bytes[odd + 6] = _mm512_shuffle_i64x2::<0xdd>(ab, cd);
        }
        bytes
    }
}

/// Combines bytes into doubles, in the order of `UNPACKED_DOUBLE`.
///
/// # Safety
/// The processor has AVX-512.
#[inline(always)]
pub(super) unsafe fn doubles_of_bytes(bytes: [__m512i; 8]) -> [__m512i; 8] {
    // SAFETY: the processor has AVX-512.
    unsafe {
        let mut doubles = bytes;
        for high in 0..2 {
            let mut twos = bytes;
            for (two, both) in twos.iter_mut().zip(bytes.as_chunks::<2>().0) {
                *two = if high == 0 {
                    _mm512_unpacklo_epi8(both[0], both[1])
                } else {
                    _mm512_unpackhi_epi8(both[0], both[1])
                };
            }
            let fours = [
                [_mm512_unpacklo_epi16(twos[0], twos[1]), _mm512_unpacklo_epi16(twos[2], twos[3])],
                [_mm512_unpackhi_epi16(twos[0], twos[1]), _mm512_unpackhi_epi16(twos[2], twos[3])],
            ];
            for (half, [low, upper]) in fours.into_iter().enumerate() {
                doubles[4 * high + 2 * half] = _mm512_unpacklo_epi32(low, upper);
                doubles[4 * high + 2 * half + 1] = _mm512_unpackhi_epi32(low, upper);
            }
        }
        doubles
    }
}
