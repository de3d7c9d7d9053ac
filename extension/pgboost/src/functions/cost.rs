//! What a prediction costs, in PostgreSQL's unit: the evaluation of one operator.
//!
//! The planner then tests cheap conditions first and knows when a parallel plan pays. One split of
//! one tree takes about a tenth of the time of an operator, and reading the features about as long
//! as one operator each; these figures are in docs/decisions.md.

use pg_interface::Oid;

use crate::cache::{self, ModelImage};
use crate::predictor::explanation::Explanation;

const CALL: f64 = 2.0;
const FEATURE: f64 = 0.3;
const SPLIT: f64 = 0.03;
/// How many times as long as predicting it takes to go through the trees for an explanation.
const CONTRIBUTIONS_TIMES: f64 = 100.0;
const INTERACTIONS_TIMES: f64 = 400.0;

/// The cost of one prediction with that model, or nothing if the model cannot be used: then the error is
/// left for the execution.
pub fn prediction(model: &str, function: Oid) -> Option<f64> {
    of(model, function, |image| SPLIT * image.total_depth() as f64)
}

/// The cost of one explanation; nothing as above.
pub fn explanation(model: &str, function: Oid, explanation: Option<Explanation>) -> Option<f64> {
    let times = match explanation {
        Some(Explanation::Contributions) | None => CONTRIBUTIONS_TIMES,
        Some(Explanation::Interactions) => INTERACTIONS_TIMES,
    };
    of(model, function, |image| times * SPLIT * image.total_depth() as f64)
}

fn of(model: &str, function: Oid, trees: impl Fn(&ModelImage) -> f64) -> Option<f64> {
    let resolved = cache::resolve(model, function).ok()?;
    let image = resolved.image.model();
    Some(CALL + FEATURE * image.num_features() as f64 + trees(image))
}
