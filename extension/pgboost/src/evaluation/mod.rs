//! How good a model is on the rows of a source: what `evaluate_model`, `confusion_matrix`,
//! `calibration_curve` and `compare_models` compute.
//!
//! `rows` runs the source once, with the caller's rights, and hands over each row with its target and
//! prediction. `task` says what can be measured of a model, `target` reads what it should have predicted,
//! and `parts` numbers the values of `by`. What needs an order of the rows, `curve` and `calibration`, goes
//! through a sorter, which keeps to `work_mem` and else writes temporary files. Nothing here writes the
//! database, so all of it runs on a standby.

pub(crate) mod calibration;
pub(crate) mod comparison;
pub(crate) mod confusion;
pub(crate) mod curve;
mod loss;
pub(crate) mod metrics;
pub(crate) mod predictions;
pub(crate) mod rows;
mod scores;
mod target;
pub(crate) mod task;
