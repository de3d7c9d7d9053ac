//! How good a model is: what the aggregates of metrics, `evaluate_model` and `compare_models` compute.
//!
//! `sums` and `curve` are the states of the aggregates; `evaluate_model` uses the same.
//! `rows` runs the source once, with the caller's privileges, and hands over each row with its target and
//! prediction. `target` says what can be measured of a model, reads what it should have predicted, and numbers
//! the values of `slice_by`. What needs an order of the rows, `curve`, goes through a sorter, which keeps to
//! `work_mem` and else writes temporary files. Nothing here writes the database, so all of it runs on a
//! standby.

pub(crate) mod comparison;
pub(crate) mod curve;
pub(crate) mod metrics;
pub(crate) mod predictions;
pub(crate) mod rows;
pub(crate) mod sums;
pub(crate) mod target;
