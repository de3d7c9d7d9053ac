//! pgboost: gradient-boosted trees inside PostgreSQL.
//!
//! A prediction goes through these modules in order: `functions` takes the call, `predictor` has the
//! state of a statement, `cache` finds the model's image by its name (or reads it from
//! `registry`), `features` reads the arguments as a row of f32, and the engine, crate `gbtrees`, walks
//! the trees. `evaluation` compares predictions with targets, `feature_drift` the features with their
//! baseline, and `statistics` counts predictions. `customscan` is the plan node that predicts for
//! many rows. `guc` has the settings, and `error` the errors.
//!
//! `unsafe` is in the crate `pg_interface`, and where PostgreSQL calls in or nodes of its planner and executor
//! are handled: `functions::entry` and `support`, `guc`'s hooks, and the node of `customscan`; and in `cache`,
//! which maps files.

mod cache;
#[allow(unsafe_code, reason = "nodes and callbacks of PostgreSQL's planner and executor")]
mod customscan;
mod error;
mod evaluation;
mod feature_drift;
mod features;
mod functions;
#[allow(unsafe_code, reason = "the hooks of a setting")]
mod guc;
mod predictor;
mod registry;
mod score_trigger;
#[allow(unsafe_code, reason = "maps a file that all backends write; see the module's header")]
mod statistics;

::pgrx::pg_module_magic!();

/// Defines the settings and the plan node. Starts no process, reads no file, and cannot fail.
#[allow(non_snake_case, reason = "PostgreSQL looks for this name")]
#[::pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    pg_interface::report::without_backtraces();
    guc::define();
    customscan::register();
    customscan::install_hook();
}
