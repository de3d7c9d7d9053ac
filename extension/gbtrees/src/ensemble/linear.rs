//! Linear models in the leaves of trees: LightGBM's `linear_tree`.
//!
//! Such a leaf gives its constant, to which the product of each of its features and coefficients is added, in
//! the file's order and in f64. Where one of these features is missing, it gives its value, as any leaf does
//! (`Tree::Predict` in include/LightGBM/tree.h). Features are the numbers of a row as they are, and not the
//! f32 that splits decide alike.

use crate::ensemble::MissingRule;

/// The linear model of a leaf. Numbers are finite, features in range.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearLeaf {
    pub(crate) constant: f64,
    /// Features and their coefficients.
    pub(crate) terms: Vec<(u32, f64)>,
}

impl LinearLeaf {
    /// What the leaf gives for a row, or nothing if one of its features is missing.
    pub fn output(&self, row: &[f64]) -> Option<f64> {
        self.terms.iter().try_fold(self.constant, |sum, (feature, coefficient)| {
            let value = factor(row[*feature as usize]);
            (!value.is_nan()).then(|| sum + coefficient * value)
        })
    }
}

/// What a coefficient is multiplied by for a value: LightGBM takes all values about zero for 0 before it
/// looks at a tree (`RowPairFunctionFromDenseRows` in src/c_api.cpp leaves them out of the row).
pub(crate) fn factor(value: f64) -> f64 {
    if value.abs() <= f64::from(MissingRule::ZERO) { 0.0 } else { value }
}
