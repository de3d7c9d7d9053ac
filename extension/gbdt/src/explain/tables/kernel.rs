//! Blocks of rows, by the tables.
//!
//! A block is 512 rows, and a literal's answers for it are a mask of one bit per row. A group's code is
//! eight masks turned into a byte per row; a look-up makes it the index of an entry, and entries of
//! several groups are added for a row before it is written. The same Rust is compiled for each
//! instruction set; what compilers do not find is written with instructions (`x86`).
#![allow(
    clippy::needless_range_loop,
    reason = "loops over lanes become vectors; iterators of arrays do so only in some builds"
)]
#![allow(unsafe_code, reason = "vector instructions, and look-ups that the layout has vouched for")]

#[cfg(target_arch = "x86_64")]
mod x86;

use super::group::BITS;
use super::layout::{CHUNK_GROUPS, Chunk, Record};
use super::literals::Source;
use super::rest::Answers;
use super::trees::Question;
use super::{Line, Tables, WIDTH};
use crate::eval::Kernel;
use crate::eval::interleaved::NodeSections;
use crate::eval::row_keys::RowKeys;
use crate::forest::sections::Sections;

const BLOCK: usize = 512;
const WORDS: usize = BLOCK / 64;

/// Blocks that share the passage of the tables through the cache, and their rows.
const BLOCKS: usize = 4;
pub(in crate::explain) const BATCH_ROWS: usize = BLOCKS * BLOCK;

/// What the masks of a literal take.
pub(super) const MASK_BYTES: usize = BLOCKS * size_of::<Mask>();

/// One bit per row of a block.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Mask([u64; WORDS]);

/// The keys of a slot, one per row, ordered as signed numbers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Keys([i32; BLOCK]);

/// The entry of each row in a group's table.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Entries([u8; BLOCK]);

type Add = unsafe fn(&[Line], &[Record], &[Entries], sums: &mut [Line]);

/// What one instruction set does.
///
/// # Safety
/// Every function needs a processor that has the instructions.
pub(in crate::explain) struct TableKernel {
    /// The mask of keys below one.
    below: unsafe fn(&Keys, i32) -> Mask,
    /// The entries of the rows of a group: see [`entries_of`].
    entries: unsafe fn(&[Mask], &Record, words: usize, &mut Entries),
    /// Adds the entries of a chunk to the sums of each row: see [`add`].
    add: Add,
}

static PORTABLE: TableKernel = TableKernel {
    below: |keys, key| below(keys, key),
    entries: |masks, record, words, out| entries_of(masks, record, words, out),
    add: |lines, records, entries, sums| {
        // SAFETY: the safety of the field's type is that of the function.
        unsafe {
            let (pairs, last) = sums.split_at_mut(sums.len() & !1);
            add::<2>(lines, records, entries, 0, pairs);
            add::<1>(lines, records, entries, pairs.len(), last);
        }
    },
};

impl TableKernel {
    /// That of the kernel's instructions.
    pub(in crate::explain) fn of(kernel: Kernel) -> &'static TableKernel {
        match kernel.name() {
            #[cfg(target_arch = "x86_64")]
            "avx512" if is_x86_feature_detected!("gfni") => &x86::AVX512,
            #[cfg(target_arch = "x86_64")]
            "avx512" | "avx512bw" | "avx2" => &x86::AVX2,
            _ => &PORTABLE,
        }
    }
}

/// Rows of an image: `rows.len() == n * num_features`.
#[derive(Clone, Copy)]
pub(in crate::explain) struct Batch<'a> {
    pub(in crate::explain) image: Sections<'a>,
    pub(in crate::explain) rows: &'a [f32],
    pub(in crate::explain) num_features: usize,
}

/// Buffers for blocks of rows.
#[derive(Default)]
pub(in crate::explain) struct Blocks {
    keys: Vec<Keys>,
    row_keys: Option<RowKeys>,
    /// Per slot, where its keys are among `keys`, plus 1.
    columns: Vec<u32>,
    masks: Vec<Vec<Mask>>,
    entries: Vec<Entries>,
    sums: Vec<Line>,
}

impl Tables {
    /// Adds the entries of at most [`BATCH_ROWS`] rows to `out`: per row and output `num_features + 1`
    /// numbers.
    pub(in crate::explain) fn add_rows(
        &self,
        kernel: &TableKernel,
        buffers: &mut Blocks,
        batch: Batch<'_>,
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) {
        let Batch { image, rows, num_features } = batch;
        let count = rows.len() / num_features;
        if count == 0 {
            return;
        }
        let per_row = out.len() / count;
        buffers.masks.resize(BLOCKS, Vec::new());
        for (at, rows) in rows.chunks(BLOCK * num_features).take(BLOCKS).enumerate() {
            let mut masks = std::mem::take(&mut buffers.masks[at]);
            let block = Batch { image, rows, num_features };
            self.ask(kernel, buffers, block, &mut masks, check_interrupts);
            buffers.masks[at] = masks;
        }
        buffers.entries.resize(CHUNK_GROUPS, Entries([0; BLOCK]));
        for class in &self.classes {
            buffers.sums.clear();
            buffers.sums.resize(count, Line([0.0; WIDTH]));
            for chunk in &class.chunks {
                check_interrupts();
                self.add_chunk(kernel, chunk, buffers);
            }
            let first = class.output * (num_features + 1);
            for (sums, out) in buffers.sums.iter().zip(out.chunks_exact_mut(per_row)) {
                let own = out.get_mut(first..).unwrap_or_default();
                for (feature, sum) in class.features.iter().zip(sums.0) {
                    if let Some(out) = own.get_mut(*feature as usize) {
                        *out += sum;
                    }
                }
            }
        }
    }

    fn add_chunk(&self, kernel: &TableKernel, chunk: &Chunk, buffers: &mut Blocks) {
        for (sums, masks) in buffers.sums.chunks_mut(BLOCK).zip(&buffers.masks) {
            let words = sums.len().div_ceil(64);
            for (record, entries) in chunk.records.iter().zip(&mut buffers.entries) {
                debug_assert!(record.is_sound(self.lines.len()), "entries");
                // SAFETY: there is no such kernel where the processor lacks the instructions.
                unsafe { (kernel.entries)(masks, record, words, entries) };
            }
            // SAFETY: as above; the layout gives every code an entry within its table.
            unsafe { (kernel.add)(&self.lines, &chunk.records, &buffers.entries, sums) };
        }
    }

    /// Answers every literal for a block of rows.
    fn ask(
        &self,
        kernel: &TableKernel,
        buffers: &mut Blocks,
        batch: Batch<'_>,
        masks: &mut Vec<Mask>,
        check_interrupts: &mut dyn FnMut(),
    ) {
        let Batch { image, rows, num_features } = batch;
        self.transpose(buffers, rows, num_features);
        let nodes = NodeSections::of(image);
        masks.clear();
        for (at, source) in self.literals.sources.iter().enumerate() {
            if at.is_multiple_of(1 << 12) {
                check_interrupts();
            }
            let mask = match *source {
                Source::True => Mask([u64::MAX; WORDS]),
                Source::Both(one, other) => both(masks, [one, other]),
                Source::Asked(Question::Below { slot, key }) => {
                    let column = buffers.columns.get(slot as usize).copied().unwrap_or(0);
                    match buffers.keys.get((column as usize).wrapping_sub(1)) {
                        // SAFETY: there is no such kernel where the processor lacks the instructions.
                        Some(keys) => unsafe { (kernel.below)(keys, ordered(key)) },
                        None => Mask([0; WORDS]),
                    }
                }
                Source::Asked(question @ Question::NotIn { .. }) => {
                    let mut mask = Mask([0; WORDS]);
                    for (row, features) in rows.chunks_exact(num_features).enumerate() {
                        let answers = Answers { keys: &[], features, nodes };
                        mask.0[row / 64] |= u64::from(answers.of(question)) << (row % 64);
                    }
                    mask
                }
            };
            masks.push(mask);
        }
    }

    /// The keys of the slots that are asked about, slot by slot.
    fn transpose(&self, buffers: &mut Blocks, rows: &[f32], num_features: usize) {
        if buffers.columns.is_empty() {
            buffers.columns.resize(2 * num_features, 0);
            let mut used = 0;
            for source in &self.literals.sources {
                if let Source::Asked(Question::Below { slot, .. }) = source
                    && let Some(column) = buffers.columns.get_mut(*slot as usize)
                    && *column == 0
                {
                    used += 1;
                    *column = used;
                }
            }
            buffers.keys.resize(used as usize, Keys([0; BLOCK]));
        }
        let row_keys = buffers.row_keys.get_or_insert_with(|| RowKeys::new(num_features));
        for (row, features) in rows.chunks_exact(num_features).enumerate() {
            row_keys.set(num_features, features);
            for (key, column) in row_keys.as_slice().iter().zip(&buffers.columns) {
                if let Some(keys) = buffers.keys.get_mut((*column as usize).wrapping_sub(1)) {
                    keys.0[row] = ordered(*key);
                }
            }
        }
    }
}

/// A key as a signed number, in the same order.
#[inline(always)]
fn ordered(key: u32) -> i32 {
    (key ^ 0x8000_0000).cast_signed()
}

/// The rows for which both literals hold.
#[inline(always)]
fn both(masks: &[Mask], [one, other]: [u32; 2]) -> Mask {
    let mut mask = masks[one as usize / 2];
    let more = &masks[other as usize / 2];
    let (invert_one, invert_other) =
        (u64::from(one & 1).wrapping_neg(), u64::from(other & 1).wrapping_neg());
    for word in 0..WORDS {
        mask.0[word] = (mask.0[word] ^ invert_one) & (more.0[word] ^ invert_other);
    }
    mask
}

/// The rows for which each bit of a group's code is set.
#[inline(always)]
fn bits_of(masks: &[Mask], record: &Record) -> [Mask; BITS] {
    let mut bits = [Mask([0; WORDS]); BITS];
    for bit in 0..BITS {
        bits[bit] = both(masks, record.bits[bit]);
    }
    bits
}

#[inline(always)]
fn below(keys: &Keys, key: i32) -> Mask {
    let mut mask = Mask([0; WORDS]);
    for (word, keys) in mask.0.iter_mut().zip(keys.0.as_chunks::<64>().0) {
        let mut bytes = [0u8; 64];
        for row in 0..64 {
            bytes[row] = u8::from(keys[row] < key);
        }
        for (byte, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
            // Gathers the lowest bit of each byte in the highest byte.
            let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            *word |= bits << (8 * byte);
        }
    }
    mask
}

/// The entry of each row of so many words, by its code: bit `k` is whether both literals of bit `k` hold.
#[inline(always)]
fn entries_of(masks: &[Mask], record: &Record, words: usize, out: &mut Entries) {
    let bits = bits_of(masks, record);
    for word in 0..words.min(WORDS) {
        // Eight rows each.
        let mut codes = [0u64; 8];
        for bit in 0..BITS {
            for byte in 0..8 {
                codes[byte] |= (bits[bit].0[word] >> (8 * byte) & 0xff) << (8 * bit);
            }
        }
        for byte in 0..8 {
            let eight = transposed(codes[byte]).to_le_bytes();
            for row in 0..8 {
                out.0[64 * word + 8 * byte + row] = record.look_up[usize::from(eight[row])];
            }
        }
    }
}

/// Bit `i` of byte `k` becomes bit `k` of byte `i` (Warren, Hacker's Delight, 7-3).
#[inline(always)]
fn transposed(mut bits: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swapped = (bits ^ bits >> shift) & mask;
        bits ^= swapped ^ swapped << shift;
    }
    bits
}

/// Adds the entries of all groups to the sums of rows from `first` on, of `ROWS` rows at a time; what remains
/// of them is left.
///
/// # Safety
/// Every entry is one of the group's table, and there are as many as rows.
#[inline(always)]
unsafe fn add<const ROWS: usize>(
    lines: &[Line],
    records: &[Record],
    entries: &[Entries],
    first: usize,
    sums: &mut [Line],
) {
    let mut tables = [lines.as_ptr(); CHUNK_GROUPS];
    for (table, record) in tables.iter_mut().zip(records) {
        // SAFETY: a table begins within the lines.
        *table = unsafe { lines.as_ptr().add(record.table) };
    }
    let (tables, entries) = (&tables[..records.len()], &entries[..records.len()]);
    for (at, sums) in sums.as_chunks_mut::<ROWS>().0.iter_mut().enumerate() {
        let mut part = [[0.0f32; WIDTH]; ROWS];
        for group in 0..tables.len() {
            for row in 0..ROWS {
                // SAFETY: the caller's promise; there are at most BLOCK rows.
                let line = unsafe {
                    let entry = *entries[group].0.get_unchecked(first + ROWS * at + row);
                    &(*tables[group].add(usize::from(entry))).0
                };
                for lane in 0..WIDTH {
                    part[row][lane] += line[lane];
                }
            }
        }
        for row in 0..ROWS {
            for lane in 0..WIDTH {
                sums[row].0[lane] += part[row][lane];
            }
        }
    }
}
