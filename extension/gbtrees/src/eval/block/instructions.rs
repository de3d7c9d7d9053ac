//! Traits of instruction sets, and the functions generic over them.
//!
//! A file per instruction set implements [`Instructions`] for its registers and [`LookUp`] for looking
//! up codes and leaves, and calls [`block_kernel`], which compiles these and the generic functions
//! below with the set's features. Everything is inlined into those functions: only there do intrinsics
//! become instructions.

use crate::compiled::tiles::{CodeTable, LargestTree, MAX_LEVELS, TILE_LEVELS};
use crate::eval::block::rank_scalar;
use crate::eval::block::types::{
    BLOCK, BlockValues, Codes, Mask, PathBits, RANK_BITS, Ranks, Sums, WORDS,
};
use crate::eval::sum::Sum;

/// A part of a mask in registers, with its operations.
///
/// # Safety
/// All functions require a processor with the instructions; further conditions are documented with
/// each.
pub(super) trait Instructions: Copy {
    const PARTS: usize;

    /// Loads a part of a mask.
    ///
    /// # Safety
    /// See [`Instructions`]; `part` is below `PARTS`.
    unsafe fn load(mask: *const Mask, part: usize) -> Self;

    /// Stores a part of a mask.
    ///
    /// # Safety
    /// See [`Instructions`]; `part` is below `PARTS`.
    unsafe fn store(self, mask: *mut Mask, part: usize);

    /// Returns all bits 0, or all 1.
    ///
    /// # Safety
    /// See [`Instructions`].
    unsafe fn fill(bit: bool) -> Self;

    /// Chooses bitwise: `right` where the bit is set, otherwise `left`.
    ///
    /// # Safety
    /// See [`Instructions`].
    unsafe fn choose(self, right: Self, left: Self) -> Self;

    /// AND.
    ///
    /// # Safety
    /// See [`Instructions`].
    unsafe fn both(self, other: Self) -> Self;

    /// OR.
    ///
    /// # Safety
    /// See [`Instructions`].
    unsafe fn either(self, other: Self) -> Self;

    /// Bitwise majority of three.
    ///
    /// # Safety
    /// See [`Instructions`].
    #[inline(always)]
    unsafe fn majority(self, other: Self, third: Self) -> Self {
        // SAFETY: as for the trait.
        unsafe { self.both(other).either(third.both(self.either(other))) }
    }

    /// `greater | equal & rest`, where `greater` implies `equal`.
    ///
    /// # Safety
    /// See [`Instructions`].
    #[inline(always)]
    unsafe fn joined(greater: Self, equal: Self, rest: Self) -> Self {
        // SAFETY: as for the trait.
        unsafe { rest.choose(equal, greater) }
    }

    /// Transposes 64 bytes into a word per bit, highest first.
    ///
    /// # Safety
    /// See [`Instructions`].
    unsafe fn bits_of_bytes(bytes: &[u8; 64]) -> [u64; RANK_BITS];

    /// Returns the leaf indices of the rows of a word, below 2^`levels`.
    ///
    /// # Safety
    /// See [`Instructions`]; `word` is below [`WORDS`].
    unsafe fn leaf_indices(path: &[Mask], word: usize, levels: u32) -> [u8; 64];

    /// Returns the ranks of the first `rows` values in a search tree, by default value by value.
    ///
    /// # Safety
    /// See [`Instructions`].
    #[inline(always)]
    unsafe fn ranks(
        values: &BlockValues,
        rows: usize,
        tree: &[f32],
        missing_right: bool,
    ) -> [u8; BLOCK] {
        if missing_right {
            rank_scalar::ranks::<true>(values, rows, tree)
        } else {
            rank_scalar::ranks::<false>(values, rows, tree)
        }
    }

    /// Implements [`crate::eval::block::types::BlockKernel::rank`].
    ///
    /// # Safety
    /// See [`Instructions`].
    #[inline(always)]
    unsafe fn rank(
        values: &BlockValues,
        rows: usize,
        tree: &[f32],
        missing_right: bool,
        ranks: &mut Ranks,
    ) {
        // SAFETY: as for the trait.
        let found = unsafe { Self::ranks(values, rows, tree, missing_right) };
        for (word, bytes) in found.as_chunks::<64>().0.iter().enumerate().take(rows.div_ceil(64)) {
            // SAFETY: as for the trait.
            unsafe { Self::put_ranks(bytes, word, ranks) };
        }
    }

    /// Implements [`crate::eval::block::types::BlockKernel::missing`].
    ///
    /// # Safety
    /// See [`Instructions`].
    #[inline(always)]
    unsafe fn missing(values: &BlockValues, rows: usize, missing: &mut Mask) {
        let words = missing.0.iter_mut().zip(values.0.as_chunks::<64>().0);
        for (word, values) in words.take(rows.div_ceil(64)) {
            let bytes = values.map(|value| if value.is_nan() { 0x80 } else { 0 });
            // SAFETY: as for the trait.
            let [highest, ..] = unsafe { Self::bits_of_bytes(&bytes) };
            *word = highest;
        }
    }

    /// Implements [`crate::eval::block::types::BlockKernel::rank_wide`], by default value by value.
    ///
    /// # Safety
    /// See [`Instructions`].
    #[inline(always)]
    unsafe fn rank_wide(
        values: &BlockValues,
        rows: usize,
        trees: &[LargestTree],
        missing_right: bool,
        ranks: &mut [Ranks],
    ) {
        let found = if missing_right {
            rank_scalar::wide_ranks::<true>(values, rows, trees)
        } else {
            rank_scalar::wide_ranks::<false>(values, rows, trees)
        };
        for (column, ranks) in ranks.iter_mut().enumerate() {
            let words = found.as_chunks::<64>().0.iter().enumerate();
            for (word, wide) in words.take(rows.div_ceil(64)) {
                let bytes = wide.map(|rank| rank_scalar::rank_in(rank, column));
                // SAFETY: as for the trait.
                unsafe { Self::put_ranks(&bytes, word, ranks) };
            }
        }
    }

    /// Stores the ranks of a word's rows.
    ///
    /// # Safety
    /// See [`Instructions`].
    #[inline(always)]
    unsafe fn put_ranks(bytes: &[u8; 64], word: usize, ranks: &mut Ranks) {
        // SAFETY: as for the trait.
        let bits = unsafe { Self::bits_of_bytes(bytes) };
        ranks.iter_mut().zip(bits).for_each(|(mask, bits)| mask.0[word] = bits);
    }
}

/// Look-up of codes and leaves.
///
/// # Safety
/// All functions require a processor with the instructions; further conditions are documented with
/// each.
pub(super) trait LookUp {
    /// Operations on masks.
    type Masks: Instructions;
    /// Whether sums are in the order of rows.
    const IN_ORDER: bool;

    /// Implements [`crate::eval::block::types::BlockKernel::look_up`].
    ///
    /// # Safety
    /// See [`LookUp`].
    unsafe fn look_up(codes: &Codes, rows: usize, tables: &[CodeTable], masks: &mut [Mask]);

    /// Implements [`crate::eval::block::types::BlockKernel::add`], by default in this way.
    ///
    /// # Safety
    /// See [`LookUp`]; there are 2^LEVELS leaves.
    #[inline(always)]
    unsafe fn add<const LEVELS: u32>(
        path: &PathBits,
        rows: usize,
        leaves: &[f32],
        sums: &mut Sums<f32>,
    ) {
        // SAFETY: as for this function.
        unsafe { add_eights::<Self::Masks, f32, LEVELS>(path, rows, leaves, sums) }
    }

    /// Version for f64 sums.
    ///
    /// # Safety
    /// As for [`LookUp::add`].
    #[inline(always)]
    unsafe fn add_double<const LEVELS: u32>(
        path: &PathBits,
        rows: usize,
        leaves: &[f64],
        sums: &mut Sums<f64>,
    ) {
        // SAFETY: as for this function.
        unsafe { add_eights::<Self::Masks, f64, LEVELS>(path, rows, leaves, sums) }
    }
}

/// Adds each row's leaf, eight rows at a time, which takes fewer additions and stores.
///
/// # Safety
/// The processor has the instructions of `I`; there are 2^LEVELS leaves.
#[inline(always)]
pub(super) unsafe fn add_eights<I: Instructions, S: Sum, const LEVELS: u32>(
    path: &PathBits,
    rows: usize,
    leaves: &[S],
    sums: &mut Sums<S>,
) {
    let words = sums.0.as_chunks_mut::<64>().0.iter_mut().enumerate();
    for (word, sums) in words.take(rows.div_ceil(64)) {
        // SAFETY: the processor has the instructions; there are eight words.
        let indices = unsafe { I::leaf_indices(path, word, LEVELS) };
        let eights = sums.as_chunks_mut::<8>().0.iter_mut().zip(indices.as_chunks::<8>().0);
        for (sums, indices) in eights {
            // SAFETY: an index is below 2^LEVELS, the number of leaves.
            let found = indices.map(|index| unsafe { *leaves.get_unchecked(usize::from(index)) });
            sums.iter_mut().zip(found).for_each(|(sum, leaf)| *sum += leaf);
        }
    }
}

/// Implements [`crate::eval::block::types::BlockKernel::leaf_indices`].
///
/// # Safety
/// The processor has the instructions of `I`.
#[inline(always)]
pub(super) unsafe fn leaf_indices<I: Instructions>(
    path: &PathBits,
    rows: usize,
    levels: u32,
    out: &mut [u8; BLOCK],
) {
    let words = out.as_chunks_mut::<64>().0.iter_mut().enumerate();
    for (word, out) in words.take(rows.div_ceil(64).min(WORDS)) {
        // SAFETY: the processor has the instructions; there are eight words.
        *out = unsafe { I::leaf_indices(path, word, levels) };
    }
}

/// Expands to `$function::<0>`, `$function::<1>`, ... for every number of levels.
macro_rules! by_levels {
    ($function:ident) => {
        [
            $function::<0>,
            $function::<1>,
            $function::<2>,
            $function::<3>,
            $function::<4>,
            $function::<5>,
            $function::<6>,
            $function::<7>,
            $function::<8>,
        ]
    };
}
pub(super) use by_levels;

/// Defines the module's `KERNEL`, a [`crate::eval::block::types::BlockKernel`] of `$look_up` and its masks,
/// compiled with `$features`.
macro_rules! block_kernel {
    ($look_up:ty, $(#[$features:meta],)? $($field:ident: $value:expr),* $(,)?) => {
        pub(in crate::eval) static KERNEL: $crate::eval::block::types::BlockKernel = {
            use $crate::eval::block::instructions::{Instructions, LookUp};
            use $crate::eval::block::types::*;
            use $crate::eval::block::{compounds, instructions, mux, rank_masks, vectors};
            use $crate::compiled::tiles::{CodeTable, LargestTree};

            type Masks = <$look_up as LookUp>::Masks;

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn rank(
                values: &BlockValues,
                rows: usize,
                tree: &[f32],
                missing_right: bool,
                ranks: &mut Ranks,
            ) {
                // SAFETY: all these functions require what the trait's do.
                unsafe { Masks::rank(values, rows, tree, missing_right, ranks) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn rank_wide(
                values: &BlockValues,
                rows: usize,
                trees: &[LargestTree],
                missing_right: bool,
                ranks: &mut [Ranks],
            ) {
                // SAFETY: see above.
                unsafe { Masks::rank_wide(values, rows, trees, missing_right, ranks) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn missing(values: &BlockValues, rows: usize, missing: &mut Mask) {
                // SAFETY: see above.
                unsafe { Masks::missing(values, rows, missing) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn compare(
                ranks: &Ranks,
                rows: usize,
                thresholds: &[u8],
                masks: &mut [Mask],
            ) {
                // SAFETY: see above.
                unsafe { rank_masks::compare::<Masks>(ranks, rows, thresholds, masks) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn look_up(
                codes: &Codes,
                rows: usize,
                tables: &[CodeTable],
                masks: &mut [Mask],
            ) {
                // SAFETY: see above.
                unsafe { <$look_up>::look_up(codes, rows, tables, masks) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn compounds(
                length: usize,
                words: &[u16],
                rows: usize,
                masks: *const Mask,
                out: *mut Mask,
            ) {
                // SAFETY: see above.
                unsafe { compounds::evaluate::<Masks>(length, words, rows, masks, out) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn walk<const LEVELS: u32>(
                nodes: &[u16],
                masks: &[Mask],
                rows: usize,
                path: &mut PathBits,
            ) {
                // SAFETY: see above.
                unsafe {
                    mux::walk::<Masks, LEVELS>(nodes.as_ptr(), masks.as_ptr(), rows, path)
                }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn walk_wide(
                nodes: &[u16],
                masks: &[Mask],
                rows: usize,
                levels: u32,
                path: &mut PathBits,
            ) {
                // SAFETY: see above.
                unsafe {
                    mux::walk_wide::<Masks>(nodes.as_ptr(), masks.as_ptr(), rows, levels, path)
                }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn add<const LEVELS: u32>(
                path: &PathBits,
                rows: usize,
                leaves: &[f32],
                sums: &mut Sums<f32>,
            ) {
                // SAFETY: see above.
                unsafe { <$look_up>::add::<LEVELS>(path, rows, leaves, sums) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn add_double<const LEVELS: u32>(
                path: &PathBits,
                rows: usize,
                leaves: &[f64],
                sums: &mut Sums<f64>,
            ) {
                // SAFETY: see above.
                unsafe { <$look_up>::add_double::<LEVELS>(path, rows, leaves, sums) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn add_wide(
                path: &PathBits,
                rows: usize,
                levels: u32,
                leaves: &[f32],
                lanes: &[u16; BLOCK],
                sums: &mut Sums<f32>,
            ) {
                // SAFETY: see above.
                unsafe { instructions::add_wide::<$look_up, f32>(path, rows, levels, leaves, lanes, sums) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn add_wide_double(
                path: &PathBits,
                rows: usize,
                levels: u32,
                leaves: &[f64],
                lanes: &[u16; BLOCK],
                sums: &mut Sums<f64>,
            ) {
                // SAFETY: see above.
                unsafe { instructions::add_wide::<$look_up, f64>(path, rows, levels, leaves, lanes, sums) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn add_vectors<const COUNT: usize>(
                trees: &[VectorTree<f32>],
                width: usize,
                place: usize,
                stride: usize,
                sums: &mut [f32],
            ) {
                // SAFETY: see above.
                unsafe { vectors::add::<f32, COUNT>(trees, width, place, stride, sums) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn add_vectors_double<const COUNT: usize>(
                trees: &[VectorTree<f64>],
                width: usize,
                place: usize,
                stride: usize,
                sums: &mut [f64],
            ) {
                // SAFETY: see above.
                unsafe { vectors::add::<f64, COUNT>(trees, width, place, stride, sums) }
            }

            $(#[$features])?
            /// # Safety
            /// The processor has the instructions that the function is compiled for.
            unsafe fn leaf_indices(
                path: &PathBits,
                rows: usize,
                levels: u32,
                out: &mut [u8; BLOCK],
            ) {
                // SAFETY: see above.
                unsafe { instructions::leaf_indices::<Masks>(path, rows, levels, out) }
            }

            BlockKernel {
                rank,
                rank_wide,
                missing,
                compare,
                look_up,
                compounds,
                walk: instructions::by_levels!(walk),
                walk_wide,
                add: instructions::by_levels!(add),
                add_double: instructions::by_levels!(add_double),
                add_wide,
                add_wide_double,
                add_vectors: instructions::by_levels!(add_vectors),
                add_vectors_double: instructions::by_levels!(add_vectors_double),
                leaf_indices,
                parts: Masks::PARTS,
                $($field: $value),*
            }
        };
    };
}
pub(super) use block_kernel;

/// Implements [`crate::eval::block::types::BlockKernel::add_wide`].
///
/// # Safety
/// The processor has the instructions of `L`; there are 9 to 16 levels, and 2^levels leaves.
#[inline(always)]
pub(super) unsafe fn add_wide<L: LookUp, S: Sum>(
    path: &PathBits,
    rows: usize,
    levels: u32,
    leaves: &[S],
    lanes: &[u16; BLOCK],
    sums: &mut Sums<S>,
) {
    debug_assert!((TILE_LEVELS + 1..=MAX_LEVELS).contains(&levels), "levels");
    let upper = levels.saturating_sub(TILE_LEVELS);
    let (first, last) = path.split_at(upper as usize % path.len());
    for word in 0..rows.min(BLOCK).div_ceil(64) {
        // SAFETY: the processor has the instructions; there are eight words.
        let (high, low) = unsafe {
            let high = L::Masks::leaf_indices(first, word, upper);
            (high, L::Masks::leaf_indices(last, word, TILE_LEVELS))
        };
        for (row, (high, low)) in (64 * word..).zip(high.into_iter().zip(low)) {
            let index = usize::from(high) << TILE_LEVELS | usize::from(low);
            let lane = if L::IN_ORDER { row } else { usize::from(lanes[row]) };
            // SAFETY: an index is below 2^levels, the number of leaves.
            sums.0[lane % BLOCK] += unsafe { *leaves.get_unchecked(index) };
        }
    }
}
