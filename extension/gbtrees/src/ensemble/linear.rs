//! Linear models in leaves: LightGBM's `linear_tree`.
//!
//! A leaf's output is its constant plus the products of features and coefficients, in file order and in
//! f64; or its plain value if one of these features is missing (`Tree::Predict` in
//! include/LightGBM/tree.h). Features are the row's own f64 numbers, not the f32 narrowed for splits.

use crate::ensemble::MissingRule;

/// The linear model of a leaf. Numbers are finite and features in range.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearLeaf {
    pub(crate) constant: f64,
    /// Features and their coefficients.
    pub(crate) terms: Vec<(u32, f64)>,
}

impl LinearLeaf {
    /// Returns the leaf's output for a row, or `None` if one of its features is missing.
    pub fn output(&self, row: &[f64]) -> Option<f64> {
        self.terms.iter().try_fold(self.constant, |sum, (feature, coefficient)| {
            let value = factor(row[*feature as usize]);
            (!value.is_nan()).then(|| sum + coefficient * value)
        })
    }
}

/// Returns the factor of a coefficient. LightGBM takes values near zero as 0 before any tree
/// (`RowPairFunctionFromDenseRows` in src/c_api.cpp leaves them out of the row).
pub(crate) fn factor(value: f64) -> f64 {
    if value.abs() <= f64::from(MissingRule::ZERO) { 0.0 } else { value }
}
