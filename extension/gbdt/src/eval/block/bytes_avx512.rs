//! Numbers as bytes with AVX-512: a leaf is looked up byte by byte, since only bytes of 64 rows are
//! looked up at once.

use std::arch::x86_64::*;

/// Byte `byte` of 64 floats, in their order.
///
/// # Safety
/// The processor has the instructions.
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
    // SAFETY: the caller's promise; 64 bytes are read.
    unsafe {
        let every = _mm512_loadu_si512(EVERY_FOURTH.as_ptr().cast());
        let every = _mm512_add_epi8(every, _mm512_set1_epi8(byte));
        let low = _mm512_permutex2var_epi8(floats[0], every, floats[1]);
        let high = _mm512_permutex2var_epi8(floats[2], every, floats[3]);
        _mm512_inserti64x4::<1>(low, _mm512_castsi512_si256(high))
    }
}

/// Of up to 64 doubles, in as many registers as are said, the first byte of each in their order, then
/// the second, and so on.
///
/// # Safety
/// The processor has the instructions; the registers' doubles are there.
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
    // SAFETY: the caller's promise; 64 bytes are read.
    unsafe {
        let zero = _mm512_setzero_si512();
        let order = _mm512_loadu_si512(BYTE_BY_BYTE.as_ptr().cast());
        let mut eights = [zero; 8];
        for (register, eight) in eights.iter_mut().enumerate().take(registers) {
            let doubles = _mm512_loadu_si512(doubles.add(8 * register).cast());
            *eight = _mm512_permutexvar_epi8(order, doubles);
        }
        // A matrix of eight by eight words, transposed: first pairs, then pairs of pairs by lanes.
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

/// The doubles whose bytes these are, in the order of `UNPACKED_DOUBLE`.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
pub(super) unsafe fn doubles_of_bytes(bytes: [__m512i; 8]) -> [__m512i; 8] {
    // SAFETY: the caller's promise.
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
