//! The SQL surface, a file per verb. The SQL that declares these functions is in `pgboost_train.sql`.

mod train;
mod xgboost_predict;

use crate::error::{Error, Result};

/// An argument that must be given.
fn required<T>(value: Option<T>, argument: &'static str) -> Result<T> {
    value.ok_or(Error::NullArgument { argument })
}
