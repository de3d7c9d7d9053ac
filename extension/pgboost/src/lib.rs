//! pgboost: gradient-boosted trees inside PostgreSQL.
//!
//! A prediction goes through these modules in order: `functions` takes the call, `predictor` has the
//! state of a statement, `cache` finds the model's image by its name (or reads it from
//! `registry`), `features` makes a row of f32 of the arguments, and the engine, crate `gbtrees`, walks
//! the trees. `evaluation` compares predictions with targets, `feature_drift` the features with their
//! baseline, and `statistics` counts predictions. `customscan` is the plan node that predicts for
//! many rows. `guc` and `error` have a table each.
//!
//! `unsafe` is in the crate `pg_interface`, and where PostgreSQL calls in or nodes of its planner and
//! executor are handled: `functions::entry`, `guc`'s hooks, and the node of `customscan`. `cache` maps files.

#[allow(unsafe_code, reason = "nodes and callbacks of PostgreSQL's planner and executor")]
mod customscan;
mod error;
mod feature_drift;
mod features;
mod functions;
#[allow(unsafe_code, reason = "the hooks of a setting")]
mod guc;
mod registry;
#[allow(unsafe_code, reason = "maps a file that all backends write; see the module's header")]
mod statistics;

/// What predicts: for one row per call (`statement_state`), or for the rows of a batch (`batch`;
/// `many_models` where each row names its model), with the same reading of features and the same making of
/// results (`output`): values, and what the features contributed to a row's margins.
mod predictor {
    pub(crate) mod batch;
    pub(crate) mod many_models;
    pub(crate) mod output;
    pub(crate) mod statement_state;
}

/// How good a model is: what the aggregates of metrics, `evaluate_model` and `compare_models` compute.
///
/// `sums` and `curve` are the states of the aggregates; `evaluate_model` uses the same.
/// `rows` runs the source once, with the caller's privileges, and hands over each row with its target and
/// prediction. `target` says what can be measured of a model, reads what it should have predicted, and
/// numbers the values of `slice_by`. What needs an order of the rows, `curve`, goes through a sorter, which
/// keeps to `work_mem` and else writes temporary files. Nothing here writes the database, so all of it runs
/// on a standby.
mod evaluation {
    pub(crate) mod comparison;
    pub(crate) mod curve;
    pub(crate) mod metrics;
    pub(crate) mod predictions;
    pub(crate) mod rows;
    pub(crate) mod sums;
    pub(crate) mod target;
}

/// What a backend keeps between statements: which image a name means, and the images themselves.
///
/// `resolve` answers from here while nothing it depends on has changed, and reads the registry
/// otherwise. `images` holds the opened images, the least recently used of which are let go when
/// they exceed `pgboost.cache_size`. `image_file` shares each image between all backends as one file, and
/// removes the files that nobody needs.
mod cache {
    #[allow(unsafe_code, reason = "opens what a record says was checked; see the file's header")]
    pub(crate) mod image_file;
    pub(crate) mod images;
    pub(crate) mod resolve;

    pub(crate) use image_file::ModelImage;
    pub(crate) use images::CachedImage;
    pub(crate) use resolve::{NameMap, Resolved, fetch_ahead, resolve};
}

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
