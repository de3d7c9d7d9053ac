//! The kernels of x86-64.

use std::arch::x86_64::*;

use super::{BLOCK, Entries, Keys, Mask, TableKernel, WORDS, add, bits_of, entries_of};
use crate::explain::tables::layout::CHUNK_GROUPS;
use crate::explain::tables::layout::Record;
use crate::explain::tables::{Line, WIDTH};

pub(super) static AVX2: TableKernel =
    TableKernel { below: below_avx2, entries: entries_avx2, add: add_avx2 };

pub(super) static AVX512: TableKernel =
    TableKernel { below: below_avx512, entries: entries_avx512, add: add_avx512 };

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

/// Adds entries four rows at a time, whose indices are one word, and leaves what remains to [`add`].
macro_rules! add_four_rows {
    ($lines:expr, $records:expr, $entries:expr, $sums:expr, $parts:literal, $zero:path, $load:path, $add:path, $store:path) => {{
        let mut tables = [$lines.as_ptr(); CHUNK_GROUPS];
        for (table, record) in tables.iter_mut().zip($records) {
            *table = $lines.as_ptr().add(record.table);
        }
        let groups = $records.len().min(CHUNK_GROUPS).min($entries.len());
        let (whole, last) = $sums.as_chunks_mut::<4>();
        for (at, sums) in whole.iter_mut().enumerate() {
            let mut part = [[$zero(); $parts]; 4];
            for group in 0..groups {
                let four = $entries[group].0.as_ptr().add(4 * at).cast::<u32>().read_unaligned();
                let indices = four.to_le_bytes();
                macro_rules! row {
                    ($row:literal) => {
                        let line = tables[group].add(usize::from(indices[$row]));
                        let line = line.cast::<f32>();
                        for (at, sum) in part[$row].iter_mut().enumerate() {
                            *sum = $add(*sum, $load(line.add(at * (WIDTH / $parts))));
                        }
                    };
                }
                row!(0);
                row!(1);
                row!(2);
                row!(3);
            }
            for (sums, part) in sums.iter_mut().zip(part) {
                for (at, part) in part.into_iter().enumerate() {
                    let sum = sums.0.as_mut_ptr().add(at * (WIDTH / $parts));
                    $store(sum, $add($load(sum.cast_const()), part));
                }
            }
        }
        let done = 4 * whole.len();
        add::<1>($lines, $records, $entries, done, last);
    }};
}

#[target_feature(enable = "avx2")]
unsafe fn add_avx2(lines: &[Line], records: &[Record], entries: &[Entries], sums: &mut [Line]) {
    // SAFETY: the caller's promise: entries are those of their tables. There are as many entries as
    // rows of a block.
    unsafe {
        add_four_rows!(
            lines,
            records,
            entries,
            sums,
            2,
            _mm256_setzero_ps,
            _mm256_loadu_ps,
            _mm256_add_ps,
            _mm256_storeu_ps
        );
    }
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

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
unsafe fn add_avx512(lines: &[Line], records: &[Record], entries: &[Entries], sums: &mut [Line]) {
    // SAFETY: as above.
    unsafe {
        add_four_rows!(
            lines,
            records,
            entries,
            sums,
            1,
            _mm512_setzero_ps,
            _mm512_loadu_ps,
            _mm512_add_ps,
            _mm512_storeu_ps
        );
    }
}
