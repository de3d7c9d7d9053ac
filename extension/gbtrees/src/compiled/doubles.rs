//! Doubles in rows, for linear leaves.
//!
//! Splits test a row's f32 as in any model, while coefficients multiply doubles
//! ([`crate::ensemble::linear`]). So rows of a model with linear leaves have three cells per feature:
//! after the f32 of all features come the bits of the doubles, two cells each, lower half first.

use crate::ensemble::linear::factor;

/// Cells of a row per feature.
pub(crate) const CELLS: usize = 3;

/// Writes a feature's double into a row.
#[inline]
pub(crate) fn set_double(row: &mut [f32], num_features: usize, feature: usize, value: f64) {
    let bits = factor(value).to_bits();
    let first = first_cell(num_features, feature);
    let halves = [bits as u32, (bits >> u32::BITS) as u32];
    row[first..first + 2].copy_from_slice(&halves.map(f32::from_bits));
}

/// Returns the first of the two cells of a feature's double.
#[inline]
pub(crate) fn first_cell(num_features: usize, feature: usize) -> usize {
    num_features + 2 * feature
}

/// Returns the double in two cells.
#[inline(always)]
pub(crate) fn double_of(cells: [f32; 2]) -> f64 {
    let [low, high] = cells.map(|cell| u64::from(cell.to_bits()));
    f64::from_bits(high << u32::BITS | low)
}
