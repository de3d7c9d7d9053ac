//! What a prediction costs, in PostgreSQL's unit: the evaluation of one operator.
//!
//! The planner then tests cheap conditions first and knows when a parallel plan pays. One split of
//! one tree takes about a tenth of the time of an operator, and reading the features about as long
//! as one operator each; these figures are in docs/decisions.md.

use crate::cache;

const CALL: f64 = 2.0;
const FEATURE: f64 = 0.3;
const SPLIT: f64 = 0.03;

/// The cost of one call with that model, or nothing if the model cannot be used: then the error is
/// left for the execution.
pub fn per_row(model: &str, function: pgrx::pg_sys::Oid) -> Option<f64> {
    let resolved = cache::resolve(model, function).ok()?;
    let image = resolved.image.model();
    let splits = image.total_depth() as f64;
    Some(CALL + FEATURE * image.num_features() as f64 + SPLIT * splits)
}
