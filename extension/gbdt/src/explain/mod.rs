//! What a model's predictions depend on.
//!
//! `importance` measures the whole model. Contributions explain one row: each feature's share of the
//! margin, and with interactions each pair's. They are Shapley values of the path-dependent game that
//! TreeSHAP defines: a feature that is not in a coalition sends a row down both sides of its splits,
//! weighed by their covers. `reference` computes them as they are defined and is the oracle; `paths`
//! computes them along the paths of the compiled image, by an integral that Gauss-Legendre quadrature
//! solves exactly. `tables` has what many rows share: the
//! contributions of groups of leaves, or their interactions, for every way in which a row can meet them;
//! `leaf_changes` has it for approximate ones.

mod approximate;
mod by_leaf;
mod by_tables;
mod contributions;
mod importance;
mod interactions;
mod lanes;
mod leaf_changes;
mod made;
mod nodes;
mod paths;
mod quadrature;
pub mod reference;
mod scratch;
mod tables;
#[cfg(test)]
mod tests;

pub use contributions::ContributionKind;
pub use importance::{ImportanceKind, has_importance, importance};
pub use scratch::ContributionScratch;

/// The share of a split's rows that went to a child, in f64.
///
/// XGBoost 3.4.1 takes a half where the parent has no cover, and never less than 1e-12
/// (src/predictor/interpretability/shap.cc): no share is 0, and no weight is lost.
fn share(child: f32, parent: f32) -> f64 {
    if parent <= 0.0 { 0.5 } else { (f64::from(child) / f64::from(parent)).max(1e-12) }
}
