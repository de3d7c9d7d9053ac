//! Vectors of f32 with one lane per row of a block: arrays, AVX2 or AVX-512.
//!
//! Products are rounded before additions, so all instructions give the same bits. Fused operations
//! would save a tenth of the time and change the bits.

#![allow(clippy::needless_range_loop, reason = "loops over lanes become vectors")]
#![allow(unsafe_code, reason = "vector instructions")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use crate::eval::{Kernel, Vectors};

/// Registers per block of rows.
pub(super) const REGISTERS: usize = 2;

/// The instructions of a walk; results do not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// One register, for few rows, as [`Level::Avx512Narrow`].
    #[cfg(target_arch = "x86_64")]
    Avx2Narrow,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx512Narrow,
}

impl Level {
    /// Returns the level of a kernel.
    pub(super) fn of(kernel: Kernel) -> Level {
        match kernel.explanations() {
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512 => Level::Avx512,
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2 => Level::Avx2,
            Vectors::Portable => Level::Portable,
        }
    }

    /// Returns the level for a block of `rows`, with the fewest lanes that they fit in.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables, reason = "there is one"))]
    pub(super) fn for_rows(self, rows: usize) -> Level {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 if rows <= Ymm::WIDTH => Level::Avx2Narrow,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if rows <= Zmm::WIDTH => Level::Avx512Narrow,
            level => level,
        }
    }

    /// Returns the number of rows from which blocks are faster than single rows.
    pub(super) fn min_rows(self) -> usize {
        if self == Level::Portable { 4 } else { 3 }
    }

    /// Returns the rows per block.
    pub(super) fn rows(self) -> usize {
        match self {
            Level::Portable => PORTABLE * REGISTERS,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Ymm::WIDTH * REGISTERS,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2Narrow => Ymm::WIDTH,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Zmm::WIDTH * REGISTERS,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Narrow => Zmm::WIDTH,
        }
    }
}

/// One register of lanes.
///
/// # Safety
/// All functions require a processor with the instructions of the implementation.
pub(super) trait Lanes: Copy {
    /// Lanes selected by a condition: all lanes if all bits are set.
    type Mask: Copy;

    const WIDTH: usize;
    /// Whether splits of two leaves are computed within their parent, given enough registers.
    const INLINES: bool;

    /// # Safety
    /// See [`Lanes`].
    unsafe fn splat(number: f32) -> Self;

    /// # Safety
    /// See [`Lanes`].
    unsafe fn plus(self, other: Self) -> Self;
    /// # Safety
    /// See [`Lanes`].
    unsafe fn minus(self, other: Self) -> Self;
    /// # Safety
    /// See [`Lanes`].
    unsafe fn times(self, other: Self) -> Self;

    /// Returns the selected lanes, 0 elsewhere.
    ///
    /// # Safety
    /// See [`Lanes`].
    unsafe fn only(self, mask: Self::Mask) -> Self;

    /// Returns the selected lanes of `self`, and of `other` elsewhere.
    ///
    /// # Safety
    /// See [`Lanes`].
    unsafe fn or_else(self, mask: Self::Mask, other: Self) -> Self;

    /// Selects the lanes whose keys, shifted left by `shift`, are below `key`.
    ///
    /// # Safety
    /// See [`Lanes`]; `keys` points to one key per lane.
    unsafe fn below(keys: *const u32, shift: u32, key: u32) -> Self::Mask;

    /// # Safety
    /// See [`Lanes`].
    unsafe fn none() -> Self::Mask;

    /// # Safety
    /// See [`Lanes`].
    unsafe fn both(one: Self::Mask, other: Self::Mask) -> Self::Mask;

    /// Selects the lanes in `one` but not in `other`.
    ///
    /// # Safety
    /// See [`Lanes`].
    unsafe fn but_not(one: Self::Mask, other: Self::Mask) -> Self::Mask;
}

/// Arrays, which compilers vectorize.
pub(super) const PORTABLE: usize = 8;
type Array = [f32; PORTABLE];

#[inline(always)]
fn each(mut one: Array, other: Array, of: impl Fn(f32, f32) -> f32) -> Array {
    for lane in 0..PORTABLE {
        one[lane] = of(one[lane], other[lane]);
    }
    one
}

#[inline(always)]
fn each_mask(of: impl Fn(usize) -> u32) -> [u32; PORTABLE] {
    let mut masks = [0; PORTABLE];
    for lane in 0..PORTABLE {
        masks[lane] = of(lane);
    }
    masks
}

impl Lanes for Array {
    /// All bits of a lane are set, or none.
    type Mask = [u32; PORTABLE];

    const WIDTH: usize = PORTABLE;
    const INLINES: bool = false;

    #[inline(always)]
    unsafe fn splat(number: f32) -> Self {
        [number; PORTABLE]
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        each(self, other, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        each(self, other, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        each(self, other, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn only(self, mask: Self::Mask) -> Self {
        let mut only = self;
        for lane in 0..PORTABLE {
            only[lane] = f32::from_bits(self[lane].to_bits() & mask[lane]);
        }
        only
    }

    #[inline(always)]
    unsafe fn or_else(self, mask: Self::Mask, other: Self) -> Self {
        let mut either = self;
        for lane in 0..PORTABLE {
            let (one, other) = (self[lane].to_bits(), other[lane].to_bits());
            either[lane] = f32::from_bits(one & mask[lane] | other & !mask[lane]);
        }
        either
    }

    #[inline(always)]
    unsafe fn below(keys: *const u32, shift: u32, key: u32) -> Self::Mask {
        // SAFETY: the caller passes one key per lane.
        let keys = unsafe { keys.cast::<Self::Mask>().read_unaligned() };
        // The borrow of the difference. Compilers turn masks that a comparison makes into branches, lane by lane.
        each_mask(|lane| {
            let own = keys[lane] << shift;
            let borrow = !own & key | (!own | key) & own.wrapping_sub(key);
            (borrow.cast_signed() >> 31).cast_unsigned()
        })
    }

    #[inline(always)]
    unsafe fn none() -> Self::Mask {
        [0; PORTABLE]
    }

    #[inline(always)]
    unsafe fn both(one: Self::Mask, other: Self::Mask) -> Self::Mask {
        each_mask(|lane| one[lane] & other[lane])
    }

    #[inline(always)]
    unsafe fn but_not(one: Self::Mask, other: Self::Mask) -> Self::Mask {
        each_mask(|lane| one[lane] & !other[lane])
    }
}

/// AVX2 lanes.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Ymm(__m256);

#[cfg(target_arch = "x86_64")]
impl Lanes for Ymm {
    /// All bits of a lane are set, or none.
    type Mask = __m256;

    const WIDTH: usize = 8;
    const INLINES: bool = true;

    #[inline(always)]
    unsafe fn splat(number: f32) -> Self {
        // SAFETY: as in all functions here, the processor has AVX2.
        Ymm(unsafe { _mm256_set1_ps(number) })
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the processor has AVX2.
        Ymm(unsafe { _mm256_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        // SAFETY: the processor has AVX2.
        Ymm(unsafe { _mm256_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: the processor has AVX2.
        Ymm(unsafe { _mm256_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn only(self, mask: __m256) -> Self {
        // SAFETY: the processor has AVX2.
        Ymm(unsafe { _mm256_and_ps(self.0, mask) })
    }

    #[inline(always)]
    unsafe fn or_else(self, mask: __m256, other: Self) -> Self {
        // SAFETY: the processor has AVX2.
        Ymm(unsafe { _mm256_blendv_ps(other.0, self.0, mask) })
    }

    #[inline(always)]
    unsafe fn below(keys: *const u32, shift: u32, key: u32) -> __m256 {
        // SAFETY: the processor has AVX2, and there are eight keys.
        unsafe {
            let shift = _mm_cvtsi32_si128(shift.cast_signed());
            let keys = _mm256_sll_epi32(_mm256_loadu_si256(keys.cast()), shift);
            // Flipping the highest bits turns the signed comparison into an unsigned one.
            let keys = _mm256_xor_si256(keys, _mm256_set1_epi32(i32::MIN));
            let key = _mm256_set1_epi32((key ^ 1 << 31).cast_signed());
            _mm256_castsi256_ps(_mm256_cmpgt_epi32(key, keys))
        }
    }

    #[inline(always)]
    unsafe fn none() -> __m256 {
        // SAFETY: the processor has AVX2.
        unsafe { _mm256_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn both(one: __m256, other: __m256) -> __m256 {
        // SAFETY: the processor has AVX2.
        unsafe { _mm256_and_ps(one, other) }
    }

    #[inline(always)]
    unsafe fn but_not(one: __m256, other: __m256) -> __m256 {
        // SAFETY: the processor has AVX2.
        unsafe { _mm256_andnot_ps(other, one) }
    }
}

/// AVX-512 lanes.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Zmm(__m512);

#[cfg(target_arch = "x86_64")]
impl Lanes for Zmm {
    type Mask = __mmask16;

    const WIDTH: usize = 16;
    const INLINES: bool = true;

    #[inline(always)]
    unsafe fn splat(number: f32) -> Self {
        // SAFETY: as in all functions here, the processor has AVX-512.
        Zmm(unsafe { _mm512_set1_ps(number) })
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512.
        Zmm(unsafe { _mm512_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512.
        Zmm(unsafe { _mm512_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512.
        Zmm(unsafe { _mm512_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn only(self, mask: __mmask16) -> Self {
        // SAFETY: the processor has AVX-512.
        Zmm(unsafe { _mm512_maskz_mov_ps(mask, self.0) })
    }

    #[inline(always)]
    unsafe fn or_else(self, mask: __mmask16, other: Self) -> Self {
        // SAFETY: the processor has AVX-512.
        Zmm(unsafe { _mm512_mask_blend_ps(mask, other.0, self.0) })
    }

    #[inline(always)]
    unsafe fn below(keys: *const u32, shift: u32, key: u32) -> __mmask16 {
        // SAFETY: the processor has AVX-512, and there are sixteen keys.
        unsafe {
            let shift = _mm_cvtsi32_si128(shift.cast_signed());
            let keys = _mm512_sll_epi32(_mm512_loadu_si512(keys.cast()), shift);
            _mm512_cmplt_epu32_mask(keys, _mm512_set1_epi32(key.cast_signed()))
        }
    }

    #[inline(always)]
    unsafe fn none() -> __mmask16 {
        0
    }

    #[inline(always)]
    unsafe fn both(one: __mmask16, other: __mmask16) -> __mmask16 {
        one & other
    }

    #[inline(always)]
    unsafe fn but_not(one: __mmask16, other: __mmask16) -> __mmask16 {
        one & !other
    }
}
