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

mod ask;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::group::BITS;
use super::layout::{Bits, CHUNK_GROUPS, Chunk, Class, LookUp};
use super::{Line, Tables, WIDTH, numbers_of, numbers_of_mut};
use crate::eval::Kernel;
use crate::forest::sections::Sections;

pub(in crate::explain) const BLOCK: usize = 512;
pub(super) const WORDS: usize = BLOCK / 64;

/// Blocks that share the passage of the tables through the cache, and their rows.
const BLOCKS: usize = 4;
pub(in crate::explain) const BATCH_ROWS: usize = BLOCKS * BLOCK;

/// What the masks of a literal take.
pub(super) const MASK_BYTES: usize = BLOCKS * size_of::<Mask>();

/// One bit per row of a block.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Mask(pub(super) [u64; WORDS]);

/// The keys of a slot, one per row, ordered as signed numbers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Keys([i32; BLOCK]);

/// The entry of each row in a group's table.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(in crate::explain) struct Entries(pub(in crate::explain) [u8; BLOCK]);

/// Several tables, and the entries of rows in each.
#[derive(Clone, Copy)]
struct Looked<'a> {
    tables: [*const f32; CHUNK_GROUPS],
    /// Of as many tables as there are.
    entries: &'a [Entries],
    /// Lines that are asked for meanwhile, since they are read next.
    ahead: &'a [Line],
}

/// Where tables begin, of as many as there are.
fn tables_at(lines: &[Line], first: impl Iterator<Item = usize>) -> [*const f32; CHUNK_GROUPS] {
    let numbers = numbers_of(lines);
    let mut tables = [numbers.as_ptr(); CHUNK_GROUPS];
    for (table, first) in tables.iter_mut().zip(first) {
        *table = numbers[first..].as_ptr();
    }
    tables
}

/// How a group's entries are found.
type Group<'a> = (&'a Bits, &'a LookUp);

type Add = unsafe fn(Looked<'_>, sums: &mut [f32]);

/// What one instruction set does.
///
/// # Safety
/// Every function needs a processor that has the instructions.
pub(in crate::explain) struct TableKernel {
    /// The mask of keys below one.
    below: unsafe fn(&Keys, i32) -> Mask,
    /// The entries of the rows of a group: see [`entries_of`].
    entries: unsafe fn(&[Mask], Group<'_>, words: usize, &mut Entries),
    /// Adds the entries of a chunk to the sums of each row, by the numbers of an entry, 8, 16 or 32: see
    /// [`add`].
    add: [Add; 3],
}

static PORTABLE: TableKernel = TableKernel {
    below: |keys, key| below(keys, key),
    entries: |masks, group, words, out| entries_of(masks, group, words, out),
    add: [add_portable::<8>, add_portable::<16>, add_portable::<32>],
};

/// # Safety
/// See [`add`].
unsafe fn add_portable<const NUMBERS: usize>(looked: Looked<'_>, sums: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe {
        let (pairs, last) = sums.split_at_mut(sums.len() / (2 * NUMBERS) * 2 * NUMBERS);
        let done = pairs.len() / NUMBERS;
        add::<2, NUMBERS>(looked, 0, pairs);
        add::<1, NUMBERS>(looked, done, last);
    }
}

impl TableKernel {
    /// Adds to the rows of a block a line each of at most [`CHUNK_GROUPS`] tables, which begin at these
    /// lines, by the entries in each.
    ///
    /// # Safety
    /// Every entry is below the number of lines that its table has.
    pub(in crate::explain) unsafe fn add_lines(
        &self,
        lines: &[Line],
        first: &[u32],
        entries: &[Entries],
        sums: &mut [Line],
    ) {
        let tables = tables_at(lines, first.iter().map(|first| WIDTH * *first as usize));
        let looked = Looked { tables, entries: &entries[..first.len()], ahead: &[] };
        // SAFETY: there is no such kernel where the processor lacks the instructions; the caller's promise.
        unsafe { (self.add[1])(looked, numbers_of_mut(sums)) };
    }

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
    masks: Vec<Vec<Mask>>,
    entries: Vec<Entries>,
    sums: Vec<Line>,
}

impl Tables {
    /// Adds the entries of at most [`BATCH_ROWS`] rows to `out`, in the order of the classes' targets.
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
            self.ask(kernel, block, &mut masks, check_interrupts);
            buffers.masks[at] = masks;
        }
        buffers.entries.resize(CHUNK_GROUPS, Entries([0; BLOCK]));
        for class in &self.classes {
            buffers.sums.clear();
            buffers.sums.resize((count * class.numbers).div_ceil(WIDTH), Line([0.0; WIDTH]));
            for (at, chunk) in class.chunks.iter().enumerate() {
                check_interrupts();
                let next = class.chunks.get(at + 1).map_or(0..0, |next| next.lines.clone());
                self.add_chunk(kernel, class, chunk, &self.lines[next], count, buffers);
            }
            let sums = numbers_of(&buffers.sums).chunks_exact(class.numbers);
            for (sums, out) in sums.zip(out.chunks_exact_mut(per_row)) {
                class.add_to(sums, out);
            }
        }
    }

    fn add_chunk(
        &self,
        kernel: &TableKernel,
        class: &Class,
        chunk: &Chunk,
        ahead: &[Line],
        rows: usize,
        buffers: &mut Blocks,
    ) {
        let numbers = class.numbers;
        let sums = numbers_of_mut(&mut buffers.sums);
        let sums = &mut sums[..rows * numbers];
        let tables = &class.groups.tables[chunk.groups.clone()];
        let bits = &class.groups.bits[chunk.groups.clone()];
        let look_ups = &class.groups.look_ups[chunk.groups.clone()];
        let tables = tables_at(&self.lines, tables.iter().copied());
        let mut ahead = ahead.chunks(ahead.len().div_ceil(rows.div_ceil(BLOCK)).max(1));
        for (sums, masks) in sums.chunks_mut(BLOCK * numbers).zip(&buffers.masks) {
            let words = (sums.len() / numbers).div_ceil(64);
            for (group, entries) in bits.iter().zip(look_ups).zip(&mut buffers.entries) {
                // SAFETY: there is no such kernel where the processor lacks the instructions.
                unsafe { (kernel.entries)(masks, group, words, entries) };
            }
            // SAFETY: as above; the layout gives every code an entry within its table.
            unsafe {
                let entries = &buffers.entries[..chunk.groups.len()];
                // Behind the last chunk there is nothing to ask for.
                let looked = Looked { tables, entries, ahead: ahead.next().unwrap_or_default() };
                (kernel.add[numbers / 16])(looked, sums);
            }
        }
    }
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
fn bits_of(masks: &[Mask], literals: &Bits) -> [Mask; BITS] {
    let mut bits = [Mask([0; WORDS]); BITS];
    for bit in 0..BITS {
        bits[bit] = both(masks, literals.0[bit]);
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
fn entries_of(masks: &[Mask], (literals, look_up): Group<'_>, words: usize, out: &mut Entries) {
    let bits = bits_of(masks, literals);
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
                out.0[64 * word + 8 * byte + row] = look_up.0[usize::from(eight[row])];
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
unsafe fn add<const ROWS: usize, const NUMBERS: usize>(
    looked: Looked<'_>,
    first: usize,
    sums: &mut [f32],
) {
    let Looked { tables, entries, .. } = looked;
    let tables = &tables[..entries.len()];
    let rows = sums.as_chunks_mut::<NUMBERS>().0.as_chunks_mut::<ROWS>().0;
    for (at, sums) in rows.iter_mut().enumerate() {
        let mut part = [[0.0f32; NUMBERS]; ROWS];
        for group in 0..tables.len() {
            for row in 0..ROWS {
                // SAFETY: the caller's promise; there are at most BLOCK rows.
                let entry = unsafe {
                    let entry = *entries[group].0.get_unchecked(first + ROWS * at + row);
                    &*tables[group].add(NUMBERS * usize::from(entry)).cast::<[f32; NUMBERS]>()
                };
                for lane in 0..NUMBERS {
                    part[row][lane] += entry[lane];
                }
            }
        }
        for row in 0..ROWS {
            for lane in 0..NUMBERS {
                sums[row][lane] += part[row][lane];
            }
        }
    }
}
