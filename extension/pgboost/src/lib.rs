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
//! are handled: `functions::entry`, `guc`'s hooks, and the node of `customscan`; and in `cache`, which maps files.

#[allow(unsafe_code, reason = "nodes and callbacks of PostgreSQL's planner and executor")]
mod customscan;
mod error;
mod feature_drift;
mod features;
mod functions;
#[allow(unsafe_code, reason = "the hooks of a setting")]
mod guc;
mod registry;
mod score_trigger;
#[allow(unsafe_code, reason = "maps a file that all backends write; see the module's header")]
mod statistics;

/// Predictors: for one row per call (`statement_state`), or for the rows of a batch (`batch`, or `many_models` if
/// each row names its model). Both read features and build results (`output`) by the same code: values, and
/// the contributions of features to a row's margins.
mod predictor {
    pub(crate) mod batch;
    pub(crate) mod many_models;
    pub(crate) mod matrix;
    pub(crate) mod output;
    pub(crate) mod statement_state;
}

/// Metrics of models, for the aggregates, `evaluate_model` and `compare_models`, and the effects of features on
/// predictions and metrics, `partial_dependence` and `permutation_importance`.
///
/// `sums` and `curve` are the states of the aggregates; `evaluate_model` uses the same. `rows` runs the source
/// once, with the caller's privileges, and passes on each row with its target and prediction. `target` determines
/// the metrics' task, reads targets, and numbers the values of `slice_by`. `curve` needs the rows in order and
/// uses a sorter, which writes temporary files beyond `work_mem`. `dependence`, over the values of `grid`, and
/// `permutation` keep the rows, and evaluate them many times. Nothing here writes to the database, so all of
/// it runs on a standby.
mod evaluation {
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
}

/// A backend's cache between statements: the images, and the meanings of names.
///
/// `resolve` answers from memory while nothing has changed on which an answer depends, and reads the registry
/// otherwise. `images` holds the opened images, and evicts the least recently used ones beyond
/// `pgboost.cache_size`. `image_file` shares each image between all backends as one file, and removes unused
/// files.
mod cache {
    #[allow(unsafe_code, reason = "opens what a record says was checked; see the file's header")]
    pub(crate) mod image_file;
    pub(crate) mod images;
    pub(crate) mod resolve;

    pub(crate) use image_file::ModelImage;
    pub(crate) use images::CachedImage;
    pub(crate) use resolve::{Identity, NameMap, Resolved, fetch_ahead, resolve, resolve_anew};
}

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
