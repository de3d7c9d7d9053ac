//! Comparisons of ranks with thresholds: masks of the bits of ranks become a mask per threshold.

use crate::eval::block::instructions::Instructions;
use crate::eval::block::types::{Mask, RANK_BITS, Ranks, parts_in_use};

/// Returns whether two-bit numbers are at least 0, 1, ... 4.
///
/// # Safety
/// The processor has the instructions of `I`.
#[inline(always)]
unsafe fn at_least_of_two<I: Instructions>(high: I, low: I) -> [I; 5] {
    // SAFETY: as for the trait.
    unsafe { [I::fill(true), high.choose(high, low), high, high.choose(low, high), I::fill(false)] }
}

/// Returns whether four-bit numbers are at least 0, 1, ... 16.
///
/// # Safety
/// The processor has the instructions of `I`; there are four bits.
#[inline(always)]
unsafe fn at_least_of_four<I: Instructions>(bits: &[I]) -> [I; 17] {
    // SAFETY: as for the trait.
    unsafe {
        let [a, b, c, d] = [bits[0], bits[1], bits[2], bits[3]];
        let (high, low) = (at_least_of_two(a, b), at_least_of_two(c, d));
        let mut all = [I::fill(false); 17];
        for (number, mask) in all.iter_mut().enumerate().take(16) {
            *mask = I::joined(high[number / 4 + 1], high[number / 4], low[number % 4]);
        }
        all
    }
}

/// Implements [`crate::eval::block::types::BlockKernel::compare`].
///
/// # Safety
/// The processor has the instructions of `I`.
#[inline(always)]
pub(super) unsafe fn compare<I: Instructions>(
    ranks: &Ranks,
    rows: usize,
    thresholds: &[u8],
    masks: &mut [Mask],
) {
    for part in 0..parts_in_use(rows, I::PARTS) {
        // SAFETY: the processor has the instructions, and the mask the parts.
        unsafe {
            let mut bits = [I::fill(false); RANK_BITS];
            bits.iter_mut().zip(ranks).for_each(|(bits, mask)| *bits = I::load(mask, part));
            let (high, low) = (at_least_of_four(&bits[..4]), at_least_of_four(&bits[4..]));
            for (threshold, mask) in thresholds.iter().zip(masks.iter_mut()) {
                let (of_high, of_low) = (usize::from(threshold >> 4), usize::from(threshold & 15));
                I::joined(high[of_high + 1], high[of_high], low[of_low]).store(mask, part);
            }
        }
    }
}
