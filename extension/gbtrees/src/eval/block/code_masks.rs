//! Outcomes of a column's sets by masks, for processors without byte look-ups in tables.
//!
//! A row's code is a byte of a table and a bit in it. A table sends right the rows with a byte whose
//! bit is set in the table's byte: the mask of rows with that byte AND the mask of rows with any of
//! those bits. There are at most 256 masks of the latter kind, computed once per column and block, so a
//! table costs two masks per occurring byte instead of a look-up per row.

use crate::compiled::tiles::CodeTable;
use crate::eval::block::instructions::Instructions;
use crate::eval::block::types::{BLOCK, Codes, Mask, NO_MASK};

const TABLE_BYTES: usize = size_of::<CodeTable>();

/// Implements [`crate::eval::block::types::BlockKernel::look_up`].
///
/// # Safety
/// The processor has the instructions of `I`.
#[inline(always)]
pub(super) unsafe fn look_up<I: Instructions>(
    codes: &Codes,
    rows: usize,
    tables: &[CodeTable],
    masks: &mut [Mask],
) {
    let mut with_byte = [NO_MASK; TABLE_BYTES];
    let mut with_bit = [NO_MASK; 8];
    let mut occurs = 0u64;
    let rows = rows.min(BLOCK);
    for (row, (byte, bits)) in codes.bytes.iter().zip(&codes.bits).enumerate().take(rows) {
        let (byte, own) = (usize::from(*byte) % TABLE_BYTES, 1 << (row % 64));
        with_byte[byte].0[row / 64] |= own;
        // All bits of the byte for missing values are equal.
        with_bit[bits.trailing_zeros() as usize % 8].0[row / 64] |= own;
        occurs |= 1 << byte;
    }
    let mut with_any = [NO_MASK; 256];
    for bits in 1..with_any.len() {
        let fewer = with_any[bits & (bits - 1)];
        let one = &with_bit[bits.trailing_zeros() as usize % 8];
        with_any[bits] = Mask(std::array::from_fn(|word| fewer.0[word] | one.0[word]));
    }
    let mut bytes = [0u8; TABLE_BYTES];
    let mut count = 0;
    for byte in (0..TABLE_BYTES).filter(|byte| occurs >> byte & 1 == 1) {
        bytes[count] = byte as u8;
        count += 1;
    }
    for (table, mask) in tables.iter().zip(masks) {
        for part in 0..(rows * I::PARTS).div_ceil(BLOCK).min(I::PARTS) {
            // SAFETY: the processor has the instructions of `I`; there is a mask per value of a byte.
            unsafe {
                let mut right = I::fill(false);
                for byte in bytes[..count].iter().map(|byte| usize::from(*byte) % TABLE_BYTES) {
                    let any = I::load(&raw const with_any[usize::from(table.0[byte])], part);
                    right = right.either(any.both(I::load(&raw const with_byte[byte], part)));
                }
                right.store(mask, part);
            }
        }
    }
}
