//! Four numbers of f64 that are computed with together, as arrays or by instructions.
//!
//! Compilers make vectors of loops over arrays, but tear those apart whose lanes are added up in the end.
//! Results are the same bits, as nothing is contracted and lanes are added up in one order.

#![allow(clippy::needless_range_loop, reason = "loops over lanes become vectors")]
#![allow(unsafe_code, reason = "vector instructions")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::quadrature::POINTS as LANES;

/// # Safety
/// All functions need a processor that has the instructions.
pub(super) trait Lanes: Copy {
    unsafe fn splat(number: f64) -> Self;
    unsafe fn load(numbers: &[f64; LANES]) -> Self;
    unsafe fn array(self) -> [f64; LANES];
    unsafe fn plus(self, other: Self) -> Self;
    unsafe fn minus(self, other: Self) -> Self;
    unsafe fn times(self, other: Self) -> Self;
    unsafe fn over(self, other: Self) -> Self;
    unsafe fn sum(self) -> f64;
}

#[inline(always)]
fn each(mut one: [f64; LANES], other: [f64; LANES], of: impl Fn(f64, f64) -> f64) -> [f64; LANES] {
    for lane in 0..LANES {
        one[lane] = of(one[lane], other[lane]);
    }
    one
}

impl Lanes for [f64; LANES] {
    #[inline(always)]
    unsafe fn splat(number: f64) -> Self {
        [number; LANES]
    }

    #[inline(always)]
    unsafe fn load(numbers: &[f64; LANES]) -> Self {
        *numbers
    }

    #[inline(always)]
    unsafe fn array(self) -> [f64; LANES] {
        self
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
    unsafe fn over(self, other: Self) -> Self {
        each(self, other, |a, b| a / b)
    }

    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        (self[0] + self[1]) + (self[2] + self[3])
    }
}

/// By AVX2's instructions.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Ymm(__m256d);

#[cfg(target_arch = "x86_64")]
impl Lanes for Ymm {
    #[inline(always)]
    unsafe fn splat(number: f64) -> Self {
        // SAFETY: as for all functions here, the caller's promise.
        Ymm(unsafe { _mm256_set1_pd(number) })
    }

    #[inline(always)]
    unsafe fn load(numbers: &[f64; LANES]) -> Self {
        // SAFETY: there are four numbers.
        Ymm(unsafe { _mm256_loadu_pd(numbers.as_ptr()) })
    }

    #[inline(always)]
    unsafe fn array(self) -> [f64; LANES] {
        let mut numbers = [0.0; LANES];
        // SAFETY: there is room for four numbers.
        unsafe { _mm256_storeu_pd(numbers.as_mut_ptr(), self.0) };
        numbers
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Ymm(unsafe { _mm256_add_pd(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn minus(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Ymm(unsafe { _mm256_sub_pd(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Ymm(unsafe { _mm256_mul_pd(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn over(self, other: Self) -> Self {
        // SAFETY: the caller's promise.
        Ymm(unsafe { _mm256_div_pd(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        // SAFETY: the caller's promise.
        unsafe {
            let pairs = _mm256_hadd_pd(self.0, self.0);
            let last = _mm256_extractf128_pd::<1>(pairs);
            _mm_cvtsd_f64(_mm_add_sd(_mm256_castpd256_pd128(pairs), last))
        }
    }
}
