//! Masks with AVX-512BW: a whole mask per register.

use std::arch::x86_64::*;

use crate::eval::block::instructions::Instructions;
use crate::eval::block::types::{BLOCK, BlockValues, Mask, RANK_BITS, Ranks};

#[derive(Clone, Copy)]
pub(super) struct Whole(__m512i);

impl Instructions for Whole {
    const PARTS: usize = 1;

    #[inline(always)]
    unsafe fn load(mask: *const Mask, _: usize) -> Self {
        // SAFETY: the processor has AVX-512BW; a mask is 64 aligned bytes.
        unsafe { Whole(_mm512_load_si512(mask.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, mask: *mut Mask, _: usize) {
        // SAFETY: the processor has AVX-512BW; a mask is 64 aligned bytes.
        unsafe { _mm512_store_si512(mask.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn fill(bit: bool) -> Self {
        // SAFETY: the processor has AVX-512BW.
        unsafe { Whole(_mm512_set1_epi64(-i64::from(bit))) }
    }

    #[inline(always)]
    unsafe fn choose(self, right: Self, left: Self) -> Self {
        // SAFETY: the processor has AVX-512BW.
        unsafe { Whole(_mm512_ternarylogic_epi64::<0xCA>(self.0, right.0, left.0)) }
    }

    #[inline(always)]
    unsafe fn majority(self, other: Self, third: Self) -> Self {
        // SAFETY: the processor has AVX-512BW.
        unsafe { Whole(_mm512_ternarylogic_epi64::<0xE8>(self.0, other.0, third.0)) }
    }

    #[inline(always)]
    unsafe fn both(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512BW.
        unsafe { Whole(_mm512_and_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn either(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512BW.
        unsafe { Whole(_mm512_or_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn bits_of_bytes(bytes: &[u8; 64]) -> [u64; RANK_BITS] {
        // SAFETY: the processor has AVX-512BW; 64 bytes are read.
        unsafe {
            let mut bytes = _mm512_loadu_si512(bytes.as_ptr().cast());
            let mut bits = [0; RANK_BITS];
            for word in &mut bits {
                *word = _mm512_movepi8_mask(bytes);
                bytes = _mm512_add_epi8(bytes, bytes);
            }
            bits
        }
    }

    #[inline(always)]
    unsafe fn leaf_indices(path: &[Mask], word: usize, levels: u32) -> [u8; 64] {
        let mut out = [0; 64];
        // SAFETY: the processor has AVX-512BW; 64 bytes are written.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), indices(path, word, levels)) };
        out
    }

    #[inline(always)]
    unsafe fn rank(
        values: &BlockValues,
        rows: usize,
        tree: &[f32],
        missing_right: bool,
        ranks: &mut Ranks,
    ) {
        let groups = rows.div_ceil(16).min(BLOCK / 16);
        // SAFETY: the processor has AVX-512BW; the trees' lengths are checked.
        unsafe {
            match (tree.len(), missing_right) {
                (32, false) => search::<5, _CMP_GE_OQ>(values, groups, tree, ranks),
                (32, true) => search::<5, _CMP_NLT_UQ>(values, groups, tree, ranks),
                (64, false) => search::<6, _CMP_GE_OQ>(values, groups, tree, ranks),
                (64, true) => search::<6, _CMP_NLT_UQ>(values, groups, tree, ranks),
                (128, false) => search::<7, _CMP_GE_OQ>(values, groups, tree, ranks),
                (128, true) => search::<7, _CMP_NLT_UQ>(values, groups, tree, ranks),
                (256, false) => search::<8, _CMP_GE_OQ>(values, groups, tree, ranks),
                (256, true) => search::<8, _CMP_NLT_UQ>(values, groups, tree, ranks),
                _ => {}
            }
        }
    }
}

/// Searches a tree of `LEVELS` levels for 16 values at a time. Each register holds 32 nodes in two
/// halves; the first steps choose between registers of larger levels.
///
/// # Safety
/// The processor has AVX-512BW; `tree.len() == 1 << LEVELS`, `groups <= BLOCK / 16`.
#[inline(always)]
unsafe fn search<const LEVELS: usize, const COMPARE: i32>(
    values: &BlockValues,
    groups: usize,
    tree: &[f32],
    ranks: &mut Ranks,
) {
    let (tree, values) = (tree.as_ptr(), values.0.as_ptr());
    let masks = ranks.as_mut_ptr().cast::<u16>();
    // SAFETY: all registers read are within the tree; values and masks have room for 32 groups.
    unsafe {
        let one = _mm512_set1_epi32(1);
        for mask in 0..RANK_BITS - LEVELS {
            _mm512_store_si512(masks.add(mask * 32).cast(), _mm512_setzero_si512());
        }
        for group in 0..groups {
            let value = _mm512_load_ps(values.add(16 * group));
            let mut at = one;
            let mut steps = [0u16; LEVELS];
            for level in 0..LEVELS {
                let threshold = match level {
                    0..5 => nodes(tree, at),
                    5 => nodes(tree.add(32), at),
                    6 => {
                        let (left, right) = (nodes(tree.add(64), at), nodes(tree.add(96), at));
                        _mm512_mask_blend_ps(steps[0], left, right)
                    }
                    _ => {
                        let (a, b) = (nodes(tree.add(128), at), nodes(tree.add(160), at));
                        let (c, d) = (nodes(tree.add(192), at), nodes(tree.add(224), at));
                        let left = _mm512_mask_blend_ps(steps[1], a, b);
                        _mm512_mask_blend_ps(steps[0], left, _mm512_mask_blend_ps(steps[1], c, d))
                    }
                };
                steps[level] = _mm512_cmp_ps_mask::<COMPARE>(value, threshold);
                let twice = _mm512_add_epi32(at, at);
                at = _mm512_mask_add_epi32(twice, steps[level], twice, one);
            }
            for (level, step) in steps.into_iter().enumerate() {
                *masks.add((RANK_BITS - LEVELS + level) * 32 + group) = step;
            }
        }
    }
}

/// Returns those of 32 nodes at the last five bits of `at`.
///
/// # Safety
/// The processor has AVX-512BW; `first` points to 32 nodes.
#[inline(always)]
unsafe fn nodes(first: *const f32, at: __m512i) -> __m512 {
    // SAFETY: the processor has AVX-512BW, and there are 32 nodes.
    unsafe { _mm512_permutex2var_ps(_mm512_loadu_ps(first), at, _mm512_loadu_ps(first.add(16))) }
}

/// Returns the leaf indices of 64 rows.
///
/// # Safety
/// The processor has AVX-512BW.
#[inline(always)]
pub(super) unsafe fn indices(path: &[Mask], word: usize, levels: u32) -> __m512i {
    // SAFETY: the processor has AVX-512BW.
    unsafe {
        let mut indices = _mm512_setzero_si512();
        for (level, mask) in (0..levels).zip(path) {
            let bit = _mm512_set1_epi8(1 << (levels - 1 - level));
            let bits = mask.0[word];
            indices = _mm512_mask_add_epi8(indices, bits, indices, bit);
        }
        indices
    }
}
