//! The kernels of x86-64.

use std::arch::x86_64::*;

use super::{BLOCK, Entries, Keys, Looked, Mask, TableKernel, WORDS, add, bits_of, entries_of};
use crate::explain::tables::layout::{CHUNK_GROUPS, Record};

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
unsafe fn entries_avx2(masks: &[Mask], record: &Record, words: usize, out: &mut Entries) {
    entries_of(masks, record, words, out);
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

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni")]
unsafe fn entries_avx512(masks: &[Mask], record: &Record, words: usize, out: &mut Entries) {
    let bits = bits_of(masks, record);
    // SAFETY: 64 bytes are read of each array, and written.
    unsafe {
        let turn = _mm512_loadu_si512(TURN.as_ptr().cast());
        let look_up =
            |part: usize| _mm512_loadu_si512(record.look_up.as_ptr().add(64 * part).cast());
        let (a, b, c, d) = (look_up(0), look_up(1), look_up(2), look_up(3));
        let unit = _mm512_set1_epi64(0x8040_2010_0804_0201u64.cast_signed());
        let of_words = _mm512_setr_epi64(0, 8, 16, 24, 32, 40, 48, 56);
        for word in 0..words.min(WORDS) {
            let first = bits.as_ptr().cast::<i64>().add(word);
            let eight = _mm512_i64gather_epi64::<8>(of_words, first);
            let turned = _mm512_permutexvar_epi8(turn, eight);
            let codes = _mm512_gf2p8affine_epi64_epi8::<0>(unit, turned);
            let low = _mm512_permutex2var_epi8(a, codes, b);
            let high = _mm512_permutex2var_epi8(c, codes, d);
            let found = _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high);
            _mm512_store_si512(out.0.as_mut_ptr().add(64 * word).cast(), found);
        }
    }
}
