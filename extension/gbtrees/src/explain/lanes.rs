//! Numbers of f32 that are computed with together, as arrays or by instructions: one per row of a block
//! ([`Lanes`]), or one per point of one row ([`PointLanes`]).
//!
//! Nothing is contracted: a product is rounded before it is added to, so all instructions give the same bits.
//! A fused operation would save a tenth of the time, and give others.

#![allow(clippy::needless_range_loop, reason = "loops over lanes become vectors")]
#![allow(unsafe_code, reason = "vector instructions")]

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::Quad;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::Quad;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// # Safety
/// All functions need a processor that has the instructions.
pub(super) trait Lanes: Copy {
    /// What is true in some lanes.
    type Mask: Copy;

    const WIDTH: usize;
    /// Whether a split of two leaves is computed within the one above: there are as many registers.
    const INLINES: bool;

    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn splat(number: f32) -> Self;

    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn plus(self, other: Self) -> Self;
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn minus(self, other: Self) -> Self;
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn times(self, other: Self) -> Self;

    /// The numbers where the mask is true, elsewhere 0.
    ///
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn only(self, mask: Self::Mask) -> Self;

    /// `self` where the mask is true, elsewhere the others.
    ///
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn or_else(self, mask: Self::Mask, other: Self) -> Self;

    /// Where the keys, moved up by so many bits, are below the key.
    ///
    /// # Safety
    /// There are as many keys as lanes.
    unsafe fn below(keys: *const u32, shift: u32, key: u32) -> Self::Mask;

    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn none() -> Self::Mask;
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn all() -> Self::Mask;

    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn both(one: Self::Mask, other: Self::Mask) -> Self::Mask;

    /// Where the first is true and the other is not.
    ///
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn but_not(one: Self::Mask, other: Self::Mask) -> Self::Mask;
}

/// Lanes of arrays, which compilers make vectors of.
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
    /// All bits or none.
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
        // SAFETY: the caller's promise.
        let keys = unsafe { keys.cast::<Self::Mask>().read_unaligned() };
        each_mask(|lane| u32::from(keys[lane] << shift < key).wrapping_neg())
    }

    #[inline(always)]
    unsafe fn none() -> Self::Mask {
        [0; PORTABLE]
    }

    #[inline(always)]
    unsafe fn all() -> Self::Mask {
        [u32::MAX; PORTABLE]
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

/// By AVX2's instructions.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Ymm(__m256);

#[cfg(target_arch = "x86_64")]
impl Lanes for Ymm {
    /// All bits or none.
    type Mask = __m256;

    const WIDTH: usize = 8;
    const INLINES: bool = true;

    #[inline(always)]
    unsafe fn splat(number: f32) -> Self {
        // SAFETY: as for all functions here, the caller's promise.
        Ymm(unsafe { _mm256_set1_ps(number) })
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Ymm(unsafe { _mm256_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Ymm(unsafe { _mm256_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Ymm(unsafe { _mm256_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn only(self, mask: __m256) -> Self {
        // SAFETY: the caller's promise.
        Ymm(unsafe { _mm256_and_ps(self.0, mask) })
    }

    #[inline(always)]
    unsafe fn or_else(self, mask: __m256, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Ymm(unsafe { _mm256_blendv_ps(other.0, self.0, mask) })
    }

    #[inline(always)]
    unsafe fn below(keys: *const u32, shift: u32, key: u32) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe {
            let shift = _mm_cvtsi32_si128(shift.cast_signed());
            let keys = _mm256_sll_epi32(_mm256_loadu_si256(keys.cast()), shift);
            // Numbers without a sign are ordered as those with one whose highest bit is the other.
            let keys = _mm256_xor_si256(keys, _mm256_set1_epi32(i32::MIN));
            let key = _mm256_set1_epi32((key ^ 1 << 31).cast_signed());
            _mm256_castsi256_ps(_mm256_cmpgt_epi32(key, keys))
        }
    }

    #[inline(always)]
    unsafe fn none() -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn all() -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_castsi256_ps(_mm256_set1_epi32(-1)) }
    }

    #[inline(always)]
    unsafe fn both(one: __m256, other: __m256) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_and_ps(one, other) }
    }

    #[inline(always)]
    unsafe fn but_not(one: __m256, other: __m256) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_andnot_ps(other, one) }
    }
}

/// By AVX-512's instructions.
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
        // SAFETY: as for all functions here, the caller's promise.
        Zmm(unsafe { _mm512_set1_ps(number) })
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Zmm(unsafe { _mm512_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Zmm(unsafe { _mm512_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Zmm(unsafe { _mm512_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn only(self, mask: __mmask16) -> Self {
        // SAFETY: the caller's promise.
        Zmm(unsafe { _mm512_maskz_mov_ps(mask, self.0) })
    }

    #[inline(always)]
    unsafe fn or_else(self, mask: __mmask16, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Zmm(unsafe { _mm512_mask_blend_ps(mask, other.0, self.0) })
    }

    #[inline(always)]
    unsafe fn below(keys: *const u32, shift: u32, key: u32) -> __mmask16 {
        // SAFETY: the caller's promise.
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
    unsafe fn all() -> __mmask16 {
        u16::MAX
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

/// Points of one row, as many as a register has or more.
///
/// # Safety
/// All functions need a processor that has the instructions.
pub(super) trait PointLanes: Copy {
    const ZERO: Self;

    /// The first numbers, and another where there are fewer.
    fn of(numbers: &[f32], other: f32) -> Self;

    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn splat(number: f32) -> Self;
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn plus(self, other: Self) -> Self;
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn minus(self, other: Self) -> Self;
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn times(self, other: Self) -> Self;
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn over(self, other: Self) -> Self;

    /// The sum of all, in the order of a walk's.
    ///
    /// # Safety
    /// The processor has the instructions that the function is compiled for.
    unsafe fn total(self) -> f32;
}

impl<const QUADS: usize> PointLanes for [Quad; QUADS] {
    const ZERO: Self = [Quad::ZERO; QUADS];

    fn of(numbers: &[f32], other: f32) -> Self {
        std::array::from_fn(|quad| {
            let lane = |lane: usize| numbers.get(4 * quad + lane).copied().unwrap_or(other);
            Quad::of(std::array::from_fn(lane))
        })
    }

    #[inline(always)]
    unsafe fn splat(number: f32) -> Self {
        [Quad::splat(number); QUADS]
    }

    #[inline(always)]
    unsafe fn plus(mut self, other: Self) -> Self {
        for quad in 0..QUADS {
            self[quad] = self[quad].plus(other[quad]);
        }
        self
    }

    #[inline(always)]
    unsafe fn minus(mut self, other: Self) -> Self {
        for quad in 0..QUADS {
            self[quad] = self[quad].minus(other[quad]);
        }
        self
    }

    #[inline(always)]
    unsafe fn times(mut self, other: Self) -> Self {
        for quad in 0..QUADS {
            self[quad] = self[quad].times(other[quad]);
        }
        self
    }

    #[inline(always)]
    unsafe fn over(mut self, other: Self) -> Self {
        for quad in 0..QUADS {
            self[quad] = self[quad].over(other[quad]);
        }
        self
    }

    #[inline(always)]
    unsafe fn total(self) -> f32 {
        Quad::total(self)
    }
}

#[cfg(target_arch = "x86_64")]
impl PointLanes for Ymm {
    const ZERO: Self =
        // SAFETY: both are 32 bytes, of which any are right.
        unsafe { std::mem::transmute::<[f32; 8], Ymm>([0.0; 8]) };

    fn of(numbers: &[f32], other: f32) -> Self {
        let lane = |lane: usize| numbers.get(lane).copied().unwrap_or(other);
        // SAFETY: as above.
        unsafe { std::mem::transmute::<[f32; 8], Ymm>(std::array::from_fn(lane)) }
    }

    #[inline(always)]
    unsafe fn splat(number: f32) -> Self {
        // SAFETY: the caller's promise.
        unsafe { <Self as Lanes>::splat(number) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Lanes::plus(self, other) }
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Lanes::minus(self, other) }
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Lanes::times(self, other) }
    }

    #[inline(always)]
    unsafe fn over(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Ymm(unsafe { _mm256_div_ps(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn total(self) -> f32 {
        // SAFETY: the caller's promise.
        unsafe {
            let quads = [_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0)];
            Quad::total(quads.map(Quad::from))
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub(in crate::explain) struct Quad(__m128);

    impl From<__m128> for Quad {
        #[inline(always)]
        fn from(numbers: __m128) -> Quad {
            Quad(numbers)
        }
    }

    // SAFETY of all functions: SSE2 is part of the architecture.
    impl Quad {
        pub(in crate::explain) const ZERO: Quad =
            // SAFETY: both are sixteen bytes, of which any are right.
            unsafe { std::mem::transmute::<[f32; 4], Quad>([0.0; 4]) };

        #[inline(always)]
        pub(in crate::explain) fn of([a, b, c, d]: [f32; 4]) -> Quad {
            // SAFETY: SSE2 is part of the architecture.
            Quad(unsafe { _mm_setr_ps(a, b, c, d) })
        }

        #[inline(always)]
        pub(in crate::explain) fn splat(number: f32) -> Quad {
            // SAFETY: as above.
            Quad(unsafe { _mm_set1_ps(number) })
        }

        #[inline(always)]
        pub(in crate::explain) fn plus(self, other: Quad) -> Quad {
            // SAFETY: as above.
            Quad(unsafe { _mm_add_ps(self.0, other.0) })
        }

        #[inline(always)]
        pub(in crate::explain) fn minus(self, other: Quad) -> Quad {
            // SAFETY: as above.
            Quad(unsafe { _mm_sub_ps(self.0, other.0) })
        }

        #[inline(always)]
        pub(in crate::explain) fn times(self, other: Quad) -> Quad {
            // SAFETY: as above.
            Quad(unsafe { _mm_mul_ps(self.0, other.0) })
        }

        #[inline(always)]
        pub(in crate::explain) fn over(self, other: Quad) -> Quad {
            // SAFETY: as above.
            Quad(unsafe { _mm_div_ps(self.0, other.0) })
        }

        /// The sum of all, in the order of a walk's.
        #[inline(always)]
        pub(in crate::explain) fn total<const QUADS: usize>(quads: [Quad; QUADS]) -> f32 {
            let four = quads.into_iter().reduce(Quad::plus).unwrap_or(Quad::ZERO).0;
            // SAFETY: as above.
            unsafe {
                let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod portable {
    #[derive(Clone, Copy)]
    pub(in crate::explain) struct Quad([f32; 4]);

    impl Quad {
        pub(in crate::explain) const ZERO: Quad = Quad([0.0; 4]);

        pub(in crate::explain) fn of(numbers: [f32; 4]) -> Quad {
            Quad(numbers)
        }

        #[inline(always)]
        pub(in crate::explain) fn splat(number: f32) -> Quad {
            Quad([number; 4])
        }

        #[inline(always)]
        fn each(self, other: Quad, of: impl Fn(f32, f32) -> f32) -> Quad {
            Quad(std::array::from_fn(|lane| of(self.0[lane], other.0[lane])))
        }

        #[inline(always)]
        pub(in crate::explain) fn plus(self, other: Quad) -> Quad {
            self.each(other, |a, b| a + b)
        }

        #[inline(always)]
        pub(in crate::explain) fn minus(self, other: Quad) -> Quad {
            self.each(other, |a, b| a - b)
        }

        #[inline(always)]
        pub(in crate::explain) fn times(self, other: Quad) -> Quad {
            self.each(other, |a, b| a * b)
        }

        #[inline(always)]
        pub(in crate::explain) fn over(self, other: Quad) -> Quad {
            self.each(other, |a, b| a / b)
        }

        /// The sum of all, in the order of a walk's.
        #[inline(always)]
        pub(in crate::explain) fn total<const QUADS: usize>(quads: [Quad; QUADS]) -> f32 {
            let [a, b, c, d] = quads.into_iter().reduce(Quad::plus).unwrap_or(Quad::ZERO).0;
            (a + c) + (b + d)
        }
    }
}
