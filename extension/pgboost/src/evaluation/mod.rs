//! Metrics of models, for the aggregates, `evaluate_model` and `compare_models`, and the effects of features on
//! predictions and metrics, `partial_dependence` and `permutation_importance`.
//!
//! `sums` and `curve` are the states of the aggregates; `evaluate_model` uses the same. `rows` runs the source
//! once, with the caller's privileges, and passes on each row with its target and prediction. `target` determines
//! the metrics' task, reads targets, and numbers the values of `slice_by`. `curve` needs the rows in order and
//! uses a sorter, which writes temporary files beyond `work_mem`. `dependence`, over the values of `grid`, and
//! `permutation` keep the rows, and evaluate them many times. Nothing here writes to the database, so all of
//! it runs on a standby.

pub(crate) mod comparison;
pub(crate) mod curve;
pub(crate) mod dependence;
pub(crate) mod grid;
pub(crate) mod metrics;
pub(crate) mod permutation;
pub(crate) mod predictions;
pub(crate) mod rows;
pub(crate) mod sums;
pub(crate) mod target;
mod time_label;
