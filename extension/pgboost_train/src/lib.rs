//! pgboost_train: trains gradient-boosted trees inside PostgreSQL, by libxgboost.
//!
//! A training goes through these modules in order: `functions` takes the call, `params` checks what the
//! user asked for, `source` turns the rows of the source into records in a temporary file, `training`
//! has them trained on by a separate process, `pgboost_trainer`, and the model is stored by
//! pgboost's SQL function `load_model`.
//!
//! libxgboost's own predictions come from such a process too, by `trainer::predictor`. Nothing of
//! libxgboost is ever in a backend: this library starts no thread and maps no C++, so that a server may
//! preload it.

mod error;
mod guc;
mod params;
mod registry;
mod trainer;
mod training;

/// From rows of a source to records of numbers in a temporary file.
///
/// The source is read once. libxgboost wants the rows four times and in the same order each time;
/// reading them back costs far less than running the query again, and a query that returns
/// other rows the second time does no harm. A record is four bytes per value, and lies on disk, not in
/// memory.
mod source {
    pub(crate) mod columns;
    pub(crate) mod dictionary;
    pub(crate) mod record_file;
}

/// The SQL surface, a file per verb. The SQL that declares these functions is in `pgboost_train.sql`.
mod functions {
    mod train;
    mod xgboost_predict;

    use crate::error::{Error, Result};

    /// An argument that must be given.
    fn required<T>(value: Option<T>, argument: &'static str) -> Result<T> {
        value.ok_or(Error::NullArgument { argument })
    }
}

::pgrx::pg_module_magic!();

/// Defines the settings. Starts nothing and loads nothing.
#[allow(non_snake_case, reason = "PostgreSQL looks for this name")]
#[::pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    pg_interface::report::without_backtraces();
    guc::define();
}
