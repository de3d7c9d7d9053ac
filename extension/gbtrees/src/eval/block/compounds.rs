//! Compounds of recoded trees: conditions joined by AND and OR, one mask each.

use crate::compiled::tiles::CompoundRun;
use crate::eval::block::instructions::Instructions;
use crate::eval::block::types::{Mask, WORDS, parts_in_use};

/// Implements [`crate::eval::block::types::BlockKernel::compounds`].
///
/// # Safety
/// The processor has the instructions of `I`. `words` are the run's, with indices of masks at `masks`;
/// there is room for `count` masks at `out`.
#[inline(always)]
pub(super) unsafe fn evaluate<I: Instructions>(
    length: usize,
    words: &[u16],
    rows: usize,
    masks: *const Mask,
    out: *mut Mask,
) {
    let (ops, chains) = words.split_at(CompoundRun::op_words(length));
    let ops = ops.iter().fold(0, |_, ops| *ops);
    for part in 0..parts_in_use(rows, I::PARTS) {
        // SAFETY: as for this function.
        unsafe {
            match (length, ops & 3) {
                (1, 0) => chains_of_one::<I, false>(chains, masks, out, part),
                (1, _) => chains_of_one::<I, true>(chains, masks, out, part),
                (2, 0) => chains_of_two::<I, false, false>(chains, masks, out, part),
                (2, 1) => chains_of_two::<I, true, false>(chains, masks, out, part),
                (2, 2) => chains_of_two::<I, false, true>(chains, masks, out, part),
                (2, _) => chains_of_two::<I, true, true>(chains, masks, out, part),
                _ => {
                    for (index, chain) in chains.chunks_exact(length + 1).enumerate() {
                        any_chain::<I>(chain, masks, part).store(out.add(index), part);
                    }
                }
            }
        }
    }
}

/// # Safety
/// See [`evaluate`].
#[inline(always)]
unsafe fn join<I: Instructions, const OR: bool>(a: I, b: I) -> I {
    // SAFETY: the processor has the instructions of `I`.
    unsafe { if OR { a.either(b) } else { a.both(b) } }
}

/// # Safety
/// See [`evaluate`].
#[inline(always)]
unsafe fn chains_of_one<I: Instructions, const OR: bool>(
    chains: &[u16],
    masks: *const Mask,
    out: *mut Mask,
    part: usize,
) {
    for (index, chain) in chains.as_chunks::<2>().0.iter().enumerate() {
        // SAFETY: the chain's indices are of masks.
        unsafe {
            let [a, b] = chain.map(|mask| I::load(masks.add(usize::from(mask)), part));
            join::<I, OR>(a, b).store(out.add(index), part);
        }
    }
}

/// # Safety
/// See [`evaluate`].
#[inline(always)]
unsafe fn chains_of_two<I: Instructions, const FIRST: bool, const SECOND: bool>(
    chains: &[u16],
    masks: *const Mask,
    out: *mut Mask,
    part: usize,
) {
    for (index, chain) in chains.as_chunks::<3>().0.iter().enumerate() {
        // SAFETY: the chain's indices are of masks.
        unsafe {
            let [a, b, c] = chain.map(|mask| I::load(masks.add(usize::from(mask)), part));
            let inner = join::<I, FIRST>(a, b);
            join::<I, SECOND>(inner, c).store(out.add(index), part);
        }
    }
}

/// Evaluates a chain whose words include its operations.
///
/// # Safety
/// See [`evaluate`].
#[inline(always)]
unsafe fn any_chain<I: Instructions>(chain: &[u16], masks: *const Mask, part: usize) -> I {
    // The majority with all zeros is AND, with all ones OR. Operations vary between chains, so a branch
    // would be unpredictable.
    static BY: [Mask; 2] = [Mask([0; WORDS]), Mask([u64::MAX; WORDS])];
    // SAFETY: the chain's indices are of masks, at least three.
    unsafe {
        let mut joined = I::load(masks.add(usize::from(chain[0])), part);
        for word in &chain[1..] {
            let other = I::load(masks.add(usize::from(word & !CompoundRun::OR)), part);
            let by = I::load(&raw const BY[usize::from(word / CompoundRun::OR)], part);
            joined = joined.majority(other, by);
        }
        joined
    }
}
