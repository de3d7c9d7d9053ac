//! pgboost_train: trains gradient-boosted trees inside PostgreSQL, by libxgboost.
//!
//! A training goes through these modules in order: `functions` takes the call, `params` checks what the
//! user asked for, `source` turns the rows of the source into records in a temporary file, `training`
//! has them trained on by a separate process, `pgboost_trainer`, and the model is stored by
//! pgboost's SQL function `load_model`.
//!
//! `xgboost` predicts with libxgboost in the backend. It is loaded when it is first needed and never
//! before: loading this library starts no thread and maps no C++, so that a server may preload it.

mod error;
mod functions;
mod guc;
#[allow(unsafe_code, reason = "it asks the loader")]
mod libxgboost;
mod params;
mod registry;
mod source;
mod training;

::pgrx::pg_module_magic!();

/// Defines the settings. Starts nothing and loads nothing.
#[allow(non_snake_case, reason = "PostgreSQL looks for this name")]
#[::pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    pg_interface::report::without_backtraces();
    guc::define();
}
