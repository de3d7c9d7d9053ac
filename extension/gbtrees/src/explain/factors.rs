//! Factors of a tree's splits at quadrature points, shared by all rows of a batch.
//!
//! For a split whose feature has the product `r` of shares on the path, `tau = q / (r + q (1 - r))` and
//! `omega = r / (r + q (1 - r))^2`. For few rows they take a large part of a walk's time.

#![allow(unsafe_code, reason = "the same is compiled for the instructions that the processor has")]
#![allow(clippy::needless_range_loop, reason = "loops over points become vectors")]

use std::ops::Range;

use crate::compiled::records::SplitRecord;
use crate::explain::lanes::Level;
use crate::memory::{allocated, refill};
use crate::quadrature::{MAX_POINTS, Points};
use crate::{Cancel, Result};

/// Lower bound of products of shares.
const LEAST: f32 = 1e-30;

/// Splits between two polls for cancellation.
const SPLITS_PER_CHECK: usize = 1 << 12;

/// Returns `tau` and `omega` at a point, rounded alike for all instructions.
#[inline(always)]
pub(super) fn factors(r: f32, q: f32) -> (f32, f32) {
    let inverse = 1.0 / (r + q * (1.0 - r));
    (q * inverse, r * inverse * inverse)
}

/// The factors of a tree's splits; lists may be longer.
#[derive(Default)]
pub(super) struct SplitFactors {
    /// Per split, `tau` at every point, then `omega`.
    pub(super) numbers: Vec<f32>,
    /// For interactions, per split and point the `(1 - r) / g` of rows that take its left side, then
    /// its right side.
    pub(super) excess: Vec<f32>,
}

impl SplitFactors {
    pub(super) fn bytes(&self) -> usize {
        allocated(&self.numbers) + allocated(&self.excess)
    }

    /// Computes the factors of a tree's splits.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`].
    pub(super) fn set(
        &mut self,
        level: Level,
        splits: &[SplitRecord],
        points: &Points,
        has_pairs: bool,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let points = &points.points[..];
        let count = 2 * points.len() * splits.len();
        // Vector writes may extend beyond the last split.
        if self.numbers.len() < count + MAX_POINTS {
            refill(&mut self.numbers, count + MAX_POINTS, 0.0)?;
        }
        if has_pairs && self.excess.len() < count {
            refill(&mut self.excess, count, 0.0)?;
        }
        for first in (0..splits.len()).step_by(SPLITS_PER_CHECK) {
            cancel.check()?;
            let range = first..splits.len().min(first + SPLITS_PER_CHECK);
            match level {
                Level::Portable => self.fill(splits, range.clone(), points),
                // SAFETY: the processor has the level's instructions.
                #[cfg(target_arch = "x86_64")]
                _ => unsafe { self.fill_by_avx2(splits, range.clone(), points) },
            }
            if has_pairs {
                self.fill_excess(splits, range, points);
            }
        }
        Ok(())
    }

    /// [`SplitFactors::fill`] compiled for AVX2.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn fill_by_avx2(&mut self, splits: &[SplitRecord], range: Range<usize>, points: &[f32]) {
        self.fill(splits, range, points);
    }

    /// Sets the factors of a range of splits.
    #[inline(always)]
    fn fill(&mut self, splits: &[SplitRecord], range: Range<usize>, points: &[f32]) {
        if points.len() <= MAX_POINTS / 2 {
            self.fill_vectors::<{ MAX_POINTS / 2 }>(splits, range, points);
        } else {
            self.fill_vectors::<MAX_POINTS>(splits, range, points);
        }
    }

    /// Handles up to `P` points.
    #[inline(always)]
    fn fill_vectors<const P: usize>(
        &mut self,
        splits: &[SplitRecord],
        range: Range<usize>,
        points: &[f32],
    ) {
        let q: [f32; P] = std::array::from_fn(|p| points.get(p).copied().unwrap_or(0.5));
        let mut start = 2 * points.len() * range.start;
        for split in &splits[range] {
            let (mut tau, mut omega) = ([0.0; P], [0.0; P]);
            for p in 0..P {
                (tau[p], omega[p]) = factors(split.product, q[p]);
            }
            for numbers in [tau, omega] {
                self.numbers[start..start + P].copy_from_slice(&numbers);
                start += points.len();
            }
        }
    }

    fn fill_excess(&mut self, splits: &[SplitRecord], range: Range<usize>, points: &[f32]) {
        let excess = self.excess.chunks_exact_mut(points.len()).skip(2 * range.start);
        let shares = splits[range].iter().flat_map(|split| {
            [split.share, 1.0 - split.share].map(|share| (split.product * share).max(LEAST))
        });
        for (r, excess) in shares.zip(excess) {
            for (q, excess) in points.iter().zip(excess) {
                *excess = (1.0 - r) * (1.0 / (r + q * (1.0 - r)));
            }
        }
    }
}
