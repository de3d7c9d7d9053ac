//! The doubles of a row, which linear leaves multiply.
//!
//! Splits decide the f32 of a row as they do for any model, and coefficients multiply doubles
//! ([`crate::ensemble::linear`]). So rows of a model with linear leaves have three cells for each feature:
//! behind the f32 of all features lie the bits of their doubles, each in two cells, lower half first.

use crate::ensemble::linear::factor;

/// Cells of a row for each feature.
pub(crate) const CELLS: usize = 3;

/// Puts the double of a feature into a row of so many features.
#[inline]
pub(crate) fn set_double(row: &mut [f32], num_features: usize, feature: usize, value: f64) {
    let bits = factor(value).to_bits();
    let first = num_features + 2 * feature;
    let halves = [bits as u32, (bits >> u32::BITS) as u32];
    row[first..first + 2].copy_from_slice(&halves.map(f32::from_bits));
}

/// The double that is in two cells.
#[inline(always)]
pub(crate) fn double_of(cells: [f32; 2]) -> f64 {
    let [low, high] = cells.map(|cell| u64::from(cell.to_bits()));
    f64::from_bits(high << u32::BITS | low)
}
