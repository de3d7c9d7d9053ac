//! What a model's predictions depend on.
//!
//! `importance` measures the whole model. Contributions explain one row: each feature's share of the
//! margin, and with interactions each pair's. They are Shapley values of the path-dependent game that
//! TreeSHAP defines: a feature that is not in a coalition sends a row down both sides of its splits,
//! weighed by their covers. `reference` computes them as they are defined and is the oracle. `walk` has
//! the formula: the derivative of a tree backwards, for blocks of rows, under an integral that
//! Gauss-Legendre quadrature solves; `row` does the same for one row. `numbers` has what rows share, `batch`
//! takes rows through the trees, and `lanes` has the instructions.

mod batch;
mod contributions;
mod importance;
mod lanes;
pub mod reference;
mod row;
mod scratch;
mod split_factors;
#[cfg(test)]
mod tests;
mod walk;

pub use crate::explain::importance::{ImportanceKind, has_importance, importance};
pub use crate::explain::scratch::ContributionScratch;
