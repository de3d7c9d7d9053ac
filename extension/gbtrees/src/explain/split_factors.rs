//! The numbers of a tree's splits at points of quadrature, which all rows of a call share.
//!
//! Of a split whose feature has the product `r` of shares on the path they are `tau = q / (r + q (1 - r))`
//! and `omega = r / (r + q (1 - r))^2`.

use crate::compiled::records::SplitRecord;
use crate::{Cancel, Error, ErrorKind, Result};

/// The least product of shares.
const LEAST: f32 = 1e-30;

/// Points of quadrature, and their weights.
#[derive(Default)]
pub(super) struct Points {
    pub(super) points: Vec<f32>,
    pub(super) weights: Vec<f32>,
}

#[derive(Default)]
pub(super) struct SplitFactors {
    /// For each split its `tau` at every point, then its `omega`.
    pub(super) numbers: Vec<f32>,
    /// If there are pairs, for each split what a row that takes its left side has as `(1 - r) / g` at every
    /// point, then the same of its right side.
    pub(super) excess: Vec<f32>,
}

/// Splits between two looks for a cancel.
const SPLITS_PER_CHECK: usize = 1 << 12;

impl SplitFactors {
    /// Takes the splits of a tree.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub(super) fn set(
        &mut self,
        splits: &[SplitRecord],
        points: &Points,
        has_pairs: bool,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        self.numbers.clear();
        self.excess.clear();
        for splits in splits.chunks(SPLITS_PER_CHECK) {
            cancel.check()?;
            let count = 2 * points.points.len() * splits.len();
            self.numbers
                .try_reserve(count)
                .and_then(|()| self.excess.try_reserve(if has_pairs { count } else { 0 }))
                .map_err(|_| Error::new(ErrorKind::OutOfMemory, "out of memory for a tree"))?;
            for split in splits {
                self.add(split.product, &points.points);
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
    fn add(&mut self, product: f32, points: &[f32]) {
        if product == 1.0 {
            // What the formulas come to, without a division.
            self.numbers.extend_from_slice(points);
            self.numbers.extend(points.iter().map(|_| 1.0));
            return;
        }
        let inverse = |q: &f32| 1.0 / (product + q * (1.0 - product));
        self.numbers.extend(points.iter().map(|q| q * inverse(q)));
        self.numbers.extend(points.iter().map(|q| {
            let inverse = inverse(q);
            product * inverse * inverse
        }));
    }

    #[inline(always)]
    fn add_excess(&mut self, product: f32, points: &[f32]) {
        let excess = |q: &f32| (1.0 - product) * (1.0 / (product + q * (1.0 - product)));
        self.excess.extend(points.iter().map(excess));
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<f32>() * (self.numbers.capacity() + self.excess.capacity())
    }
}

/// Makes them so many, all of that value, or an error where there is no memory.
pub(super) fn refill<T: Clone>(values: &mut Vec<T>, count: usize, value: T) -> Result<()> {
    values.clear();
    values.try_reserve_exact(count).map_err(|_| {
        Error::new(ErrorKind::OutOfMemory, format!("out of memory for {count} contributions"))
    })?;
    values.resize(count, value);
    Ok(())
}
