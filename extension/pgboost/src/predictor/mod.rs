//! What predicts: for one row per call (`statement_state`), or for the rows of a batch (`batch`; `many_models` where
//! each row names its model), with the same reading of features and the same making of results (`output`).
//! `explanation` says what the features contributed to a row's margins, and `batch` computes either for many rows.

pub(crate) mod batch;
pub(crate) mod explanation;
pub(crate) mod many_models;
pub(crate) mod output;
pub(crate) mod statement_state;
