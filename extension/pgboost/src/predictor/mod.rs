//! Predictors: for one row per call (`single_row`), or for the rows of a batch (`batch`, or `many_models` if
//! each row names its model). Both read features and build results (`output`) by the same code: values, and
//! the contributions of features to a row's margins.

pub(crate) mod batch;
pub(crate) mod many_models;
pub(crate) mod matrix;
pub(crate) mod output;
pub(crate) mod single_row;
pub(crate) mod statement_state;
