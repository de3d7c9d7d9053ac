//! Gauss-Legendre quadrature on the interval from 0 to 1, and the numbers of a tree's splits at its points,
//! which all rows of a call share.
//!
//! `n` points integrate polynomials of degree `2n - 1` exactly. A path with `d` features has integrands
//! of degree `d - 1`, so `d / 2` points, rounded up, are exact for it.
//!
//! Of a split whose feature has the product `r` of shares on the path they are `tau = q / (r + q (1 - r))`
//! and `omega = r / (r + q (1 - r))^2`.

use crate::compiled::records::SplitRecord;
use crate::{Cancel, Error, ErrorKind, Result};

/// The points and weights of one rule.
#[derive(Default)]
pub(crate) struct Rule {
    pub(crate) points: Vec<f64>,
    pub(crate) weights: Vec<f64>,
}

/// As many points as are exact for a path of so many features; at least one.
pub(crate) fn exact_points(features: usize) -> usize {
    features.div_ceil(2).max(1)
}

impl Rule {
    /// The rule of `count` points, by Newton's method on the Legendre polynomial.
    pub(crate) fn of(count: usize) -> Rule {
        let mut rule = Rule::default();
        let n = count as f64;
        for index in 0..count {
            // Where the root lies, nearly (Abramowitz and Stegun 22.16.6).
            let mut x = (std::f64::consts::PI * (index as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..8 {
                let (value, derivative) = legendre(count, x);
                slope = derivative;
                x -= value / derivative;
            }
            rule.points.push(0.5 * (1.0 - x));
            rule.weights.push(1.0 / ((1.0 - x * x) * slope * slope));
        }
        rule
    }
}

/// The Legendre polynomial of a degree above 0 and its derivative, by Bonnet's recursion.
fn legendre(degree: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for k in 2..=degree {
        let k = k as f64;
        let next = ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k;
        (before, value) = (value, next);
    }
    (value, degree as f64 * (x * value - before) / (x * x - 1.0))
}

/// The least product of shares.
const LEAST: f32 = 1e-30;

/// Points of quadrature, and their weights.
#[derive(Default)]
pub(crate) struct Points {
    pub(crate) points: Vec<f32>,
    pub(crate) weights: Vec<f32>,
}

#[derive(Default)]
pub(crate) struct SplitFactors {
    /// For each split its `tau` at every point, then its `omega`.
    pub(crate) numbers: Vec<f32>,
    /// If there are pairs, for each split what a row that takes its left side has as `(1 - r) / g` at every
    /// point, then the same of its right side.
    pub(crate) excess: Vec<f32>,
}

/// `tau` and `omega` of a split at a point, with one rounding everywhere.
#[inline(always)]
pub(crate) fn factors(r: f32, q: f32) -> (f32, f32) {
    let inverse = 1.0 / (r + q * (1.0 - r));
    (q * inverse, r * inverse * inverse)
}

/// Splits between two looks for a cancel.
const SPLITS_PER_CHECK: usize = 1 << 12;

/// Points that a walk has at most.
pub(crate) const MAX_POINTS: usize = 8;

impl SplitFactors {
    /// Takes the splits of a tree.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub(crate) fn set(
        &mut self,
        splits: &[SplitRecord],
        points: &Points,
        has_pairs: bool,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        self.numbers.clear();
        self.excess.clear();
        let mut q = [0.5; MAX_POINTS];
        q[..points.points.len()].copy_from_slice(&points.points);
        for splits in splits.chunks(SPLITS_PER_CHECK) {
            cancel.check()?;
            let count = 2 * points.points.len() * splits.len();
            self.numbers
                .try_reserve(count + MAX_POINTS)
                .and_then(|()| self.excess.try_reserve(if has_pairs { count } else { 0 }))
                .map_err(|_| Error::new(ErrorKind::OutOfMemory, "out of memory for a tree"))?;
            for split in splits {
                self.add(split.product, &q, points.points.len());
                if has_pairs {
                    for share in [split.share, 1.0 - split.share] {
                        self.add_excess((split.product * share).max(LEAST), &points.points);
                    }
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn add(&mut self, product: f32, q: &[f32; MAX_POINTS], points: usize) {
        // For as many points as a walk may have, of which compilers make vectors.
        let (mut tau, mut omega) = ([0.0; MAX_POINTS], [0.0; MAX_POINTS]);
        for p in 0..MAX_POINTS {
            (tau[p], omega[p]) = factors(product, q[p]);
        }
        for numbers in [tau, omega] {
            let end = self.numbers.len() + points;
            self.numbers.extend_from_slice(&numbers);
            self.numbers.truncate(end);
        }
    }

    #[inline(always)]
    fn add_excess(&mut self, product: f32, points: &[f32]) {
        let excess = |q: &f32| (1.0 - product) * (1.0 / (product + q * (1.0 - product)));
        self.excess.extend(points.iter().map(excess));
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<f32>() * (self.numbers.capacity() + self.excess.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_integrated_exactly() {
        for count in [1, 2, 3, 4, 8, 64, 256] {
            let Rule { points, weights } = Rule::of(count);
            for degree in 0..2 * count as i32 {
                let terms = points.iter().zip(&weights);
                let sum: f64 = terms.map(|(point, weight)| weight * point.powi(degree)).sum();
                let exact = 1.0 / f64::from(degree + 1);
                assert!((sum - exact).abs() < 1e-13, "{count} points, degree {degree}: {sum}");
            }
            assert!(points.iter().all(|point| (0.0..1.0).contains(point) && *point > 0.0));
        }
    }
}
