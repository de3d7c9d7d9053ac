//! pgboost: gradient-boosted trees inside PostgreSQL.
//!
//! A prediction goes through these rooms in order: `functions` takes the call, `predictor` keeps what
//! a statement has found out, `cache` finds the model's image by its name (asking `registry` when it
//! does not know), `features` makes a row of f32 of the arguments, and the engine, crate `gbdt`, walks
//! the trees. `evaluation` compares predictions with what is known to be right, `drift` the features with
//! what they were, and `statistics` counts what is used. `customscan` is the plan node that predicts for
//! many rows. `guc` and `error` have a table each.
//!
//! `unsafe` is in the crate `pg_interface`, and where PostgreSQL calls in or nodes of its planner and executor are handled:
//! `functions::entry`, `guc`'s hooks, and the node of `customscan`. `cache` maps files.

mod cache;
#[allow(unsafe_code, reason = "nodes and callbacks of PostgreSQL's planner and executor")]
mod customscan;
mod drift;
mod error;
mod evaluation;
mod features;
mod functions;
#[allow(unsafe_code, reason = "the hooks of a setting")]
mod guc;
mod name_hash;
mod predictor;
mod registry;
mod statistics;

::pgrx::pg_module_magic!();

/// Defines the settings and the plan node. Starts nothing, reads nothing, and cannot fail.
#[allow(non_snake_case, reason = "PostgreSQL looks for this name")]
#[::pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    pg_interface::report::without_backtraces();
    guc::define();
    customscan::register();
    customscan::install_hook();
}
