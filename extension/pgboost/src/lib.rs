//! pgboost: gradient-boosted trees inside PostgreSQL.
//!
//! A prediction goes through these rooms in order: `api` takes the call, `cache` finds the model's
//! image by its name (asking `registry` when it does not know), `features` makes a row of f32 of the
//! arguments, and the engine, crate `gbdt`, walks the trees. `planner` answers the planner's
//! questions, `settings` and `error` have a table each, and `pg` is the only room that names
//! PostgreSQL's own symbols.

mod api;
mod cache;
mod error;
mod features;
#[allow(unsafe_code, reason = "PostgreSQL's C interface; see the module's header")]
mod pg;
mod planner;
mod registry;
mod settings;

::pgrx::pg_module_magic!();

::pgrx::extension_sql_file!("../sql/registry.sql", name = "registry", bootstrap);
::pgrx::extension_sql_file!("../sql/functions.sql", name = "functions", finalize);

/// Defines the settings and the plan node. Starts nothing, reads nothing, and cannot fail.
#[allow(non_snake_case, reason = "PostgreSQL looks for this name")]
#[::pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    pg_interface::report::without_backtraces();
    settings::define();
    pg::batch::register();
    pg::query::watch_planning();
}
