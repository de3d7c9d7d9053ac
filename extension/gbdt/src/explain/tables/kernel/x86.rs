//! The kernels of x86-64.

use std::arch::x86_64::*;

use super::{BLOCK, Entries, Group, Keys, Looked, Mask, TableKernel, WORDS, add, entries_of};
use crate::explain::tables::layout::{Bits, CHUNK_GROUPS};
use crate::explain::tables::literals::Literal;

pub(super) static AVX2: TableKernel = TableKernel {
    below: below_avx2,
    entries: entries_avx2,
    add: [add_8_avx2, add_16_avx2, add_32_avx2],
};

pub(super) static AVX512: TableKernel = TableKernel {
    below: below_avx512,
    entries: entries_avx512,
    add: [add_8_avx2, add_16_avx512, add_32_avx512],
};

#[target_feature(enable = "avx2")]
unsafe fn below_avx2(keys: &Keys, key: i32) -> Mask {
    let key = _mm256_set1_epi32(key);
    let mut mask = Mask([0; WORDS]);
    for at in 0..BLOCK / 8 {
        // SAFETY: the keys are aligned, and as many.
        let eight = unsafe { _mm256_load_si256(keys.0.as_ptr().add(8 * at).cast()) };
        let less = _mm256_castsi256_ps(_mm256_cmpgt_epi32(key, eight));
        let bits = _mm256_movemask_ps(less).cast_unsigned();
        mask.0[at / 8] |= u64::from(bits) << (8 * (at % 8));
    }
    mask
}

#[target_feature(enable = "avx2")]
unsafe fn entries_avx2(masks: &[Mask], group: Group<'_>, words: usize, out: &mut Entries) {
    entries_of(masks, group, words, out);
}

/// A function that adds entries several rows at a time, whose indices are one word, and leaves what remains
/// to [`add`].
macro_rules! add_rows {
    (
        $name:ident, $features:literal, $numbers:literal numbers in $parts:literal,
        $rows:literal rows of $word:ty: [$($row:literal)*],
        $zero:path, $load:path, $add:path, $store:path
    ) => {
        #[target_feature(enable = $features)]
        unsafe fn $name(looked: Looked<'_>, sums: &mut [f32]) {
            let Looked { tables, entries, ahead } = looked;
            let groups = entries.len().min(CHUNK_GROUPS);
            let (whole, last) = sums.split_at_mut(sums.len() / ($rows * $numbers) * $rows * $numbers);
            let whole = whole.as_chunks_mut::<$numbers>().0.as_chunks_mut::<$rows>().0;
            let step = ahead.len().div_ceil(whole.len().max(1));
            let done = $rows * whole.len();
            for (at, sums) in whole.iter_mut().enumerate() {
                for line in 0..step {
                    // It reads nothing that the program sees, wherever it points.
                    _mm_prefetch::<_MM_HINT_T1>(ahead.as_ptr().wrapping_add(step * at + line).cast());
                }
                // SAFETY: the caller's promise: entries are those of their tables. There are as many
                // entries as rows of a block.
                unsafe {
                    let mut part = [[$zero(); $parts]; $rows];
                    for group in 0..groups {
                        let word = entries[group].0.as_ptr().add($rows * at).cast::<$word>();
                        let indices = word.read_unaligned().to_le_bytes();
                        $(
                            let entry = tables[group].add($numbers * usize::from(indices[$row]));
                            for (at, sum) in part[$row].iter_mut().enumerate() {
                                *sum = $add(*sum, $load(entry.add(at * ($numbers / $parts))));
                            }
                        )*
                    }
                    for (sums, part) in sums.iter_mut().zip(part) {
                        for (at, part) in part.into_iter().enumerate() {
                            let sum = sums.as_mut_ptr().add(at * ($numbers / $parts));
                            $store(sum, $add($load(sum.cast_const()), part));
                        }
                    }
                }
            }
            // SAFETY: the caller's promise.
            unsafe { add::<1, $numbers>(looked, done, last) };
        }
    };
}

add_rows! {
    add_8_avx2, "avx2", 8 numbers in 1, 8 rows of u64: [0 1 2 3 4 5 6 7],
    _mm256_setzero_ps, _mm256_loadu_ps, _mm256_add_ps, _mm256_storeu_ps
}

add_rows! {
    add_16_avx2, "avx2", 16 numbers in 2, 4 rows of u32: [0 1 2 3],
    _mm256_setzero_ps, _mm256_loadu_ps, _mm256_add_ps, _mm256_storeu_ps
}

add_rows! {
    add_32_avx2, "avx2", 32 numbers in 4, 4 rows of u32: [0 1 2 3],
    _mm256_setzero_ps, _mm256_loadu_ps, _mm256_add_ps, _mm256_storeu_ps
}

add_rows! {
    add_16_avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi", 16 numbers in 1, 8 rows of u64: [0 1 2 3 4 5 6 7],
    _mm512_setzero_ps, _mm512_loadu_ps, _mm512_add_ps, _mm512_storeu_ps
}

add_rows! {
    add_32_avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi", 32 numbers in 2, 4 rows of u32: [0 1 2 3],
    _mm512_setzero_ps, _mm512_loadu_ps, _mm512_add_ps, _mm512_storeu_ps
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn below_avx512(keys: &Keys, key: i32) -> Mask {
    let key = _mm512_set1_epi32(key);
    let mut mask = Mask([0; WORDS]);
    for (at, word) in mask.0.iter_mut().enumerate() {
        for part in 0..4 {
            // SAFETY: the keys are aligned, and as many.
            let keys =
                unsafe { _mm512_load_si512(keys.0.as_ptr().add(64 * at + 16 * part).cast()) };
            *word |= u64::from(_mm512_cmplt_epi32_mask(keys, key)) << (16 * part);
        }
    }
    mask
}

/// Byte `8j + 7 - k` is byte `8k + j`: an 8x8 transposition of bytes, the columns in reverse order.
const TURN: [u8; 64] = {
    let mut turn = [0; 64];
    let mut at = 0;
    while at < 64 {
        turn[at] = (8 * (7 - at % 8) + at / 8) as u8;
        at += 1;
    }
    turn
};

/// The rows for which each bit of a group's code is set, by word: a matrix of eight by eight words, transposed
/// by pairs, and pairs of pairs.
#[inline]
#[target_feature(enable = "avx512f")]
fn by_word(masks: &[Mask], literals: &Bits) -> [__m512i; WORDS] {
    let side = |literal: Literal| {
        // SAFETY: a mask has eight words, aligned to 64 bytes.
        let mask = unsafe { _mm512_load_si512(masks[literal as usize / 2].0.as_ptr().cast()) };
        _mm512_xor_si512(mask, _mm512_set1_epi64(-i64::from(literal & 1)))
    };
    let bits = literals.0.map(|[one, other]| _mm512_and_si512(side(one), side(other)));
    let mut words = [_mm512_setzero_si512(); WORDS];
    for odd in 0..2 {
        let [a, b, c, d] = [0, 2, 4, 6].map(|at| {
            if odd == 0 {
                _mm512_unpacklo_epi64(bits[at], bits[at + 1])
            } else {
                _mm512_unpackhi_epi64(bits[at], bits[at + 1])
            }
        });
        let (ab, cd) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d));
        words[odd] = _mm512_shuffle_i64x2::<0x88>(ab, cd);
        words[odd + 4] = _mm512_shuffle_i64x2::<0xdd>(ab, cd);
        let (ab, cd) = (_mm512_shuffle_i64x2::<0xdd>(a, b), _mm512_shuffle_i64x2::<0xdd>(c, d));
        words[odd + 2] = _mm512_shuffle_i64x2::<0x88>(ab, cd);
        words[odd + 6] = _mm512_shuffle_i64x2::<0xdd>(ab, cd);
    }
    words
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni")]
unsafe fn entries_avx512(
    masks: &[Mask],
    (literals, look_up): Group<'_>,
    words: usize,
    out: &mut Entries,
) {
    // SAFETY: 64 bytes are read of each array, and written.
    unsafe {
        let turn = _mm512_loadu_si512(TURN.as_ptr().cast());
        let look_up = |part: usize| _mm512_load_si512(look_up.0.as_ptr().add(64 * part).cast());
        let (a, b, c, d) = (look_up(0), look_up(1), look_up(2), look_up(3));
        let unit = _mm512_set1_epi64(0x8040_2010_0804_0201u64.cast_signed());
        for (word, eight) in by_word(masks, literals).into_iter().enumerate().take(words) {
            let turned = _mm512_permutexvar_epi8(turn, eight);
            let codes = _mm512_gf2p8affine_epi64_epi8::<0>(unit, turned);
            let low = _mm512_permutex2var_epi8(a, codes, b);
            let high = _mm512_permutex2var_epi8(c, codes, d);
            let found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high);
            _mm512_store_si512(out.0.as_mut_ptr().add(64 * word).cast(), found);
        }
    }
}
