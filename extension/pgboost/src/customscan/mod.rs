//! The plan node that computes predictions in batches, `Custom Scan (BatchPredict)`: its placement by the planner,
//! its plan, and its execution.
//!
//! A query goes through these files in order. The hook is called with a `level` whose `paths` are finished.
//! `placement` decides, by the predictions that `calls` finds and the evaluations that `error_safety` permits.
//! `batch_path` is the path that it places, and `plan` the plan that PostgreSQL makes of it, by the tables of
//! `methods`; `plan_data` is the data of both. A plan's `shape` and the `call_shape` of each call are derived from it
//! once. `exec_init` starts the node, and `exec` runs it, reading as many rows ahead as `read_ahead` allows: `rows`
//! holds the rows of a batch, `batched_call` is one call of predict in it, `row_output` builds a row's output, and
//! `explain` describes the node.
//!
//! The node runs on two kinds of frames. The code that reads and returns rows runs for every row, and holds no
//! value that needs dropping: there PostgreSQL's functions are called without a guard, and an error of theirs
//! jumps over these frames as over C. The code that predicts for a batch is ordinary guarded Rust. The three files
//! that decide (`placement`, `calls`, `error_safety`) have no `unsafe`.
//!
//! The hook is the one for upper paths, not `planner_hook`: PostgreSQL reads `planner_hook` before it begins to
//! plan, and the planning of a connection's first prediction loads this library. The hook for upper paths is read
//! later, when the paths of a level are complete, so the first query is planned as all others. PostgreSQL's own
//! code makes the plan from the path, numbers its references, checks parameters and caches it.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

mod arguments;
mod batch_path;
mod batched_call;
mod call_shape;
#[deny(unsafe_code)]
mod calls;
mod copies;
mod cursor;
#[deny(unsafe_code)]
mod error_safety;
mod exec;
mod exec_init;
mod explain;
mod late_memory;
mod level;
mod methods;
mod paths;
#[deny(unsafe_code)]
mod placement;
mod plain;
mod plan;
mod plan_data;
mod read_ahead;
#[deny(unsafe_code)]
mod reasons;
mod row_output;
mod rows;
mod shape;

use pgrx::pg_guard;
use pgrx::pg_sys::{self, PlannerInfo, RelOptInfo, UpperRelationKind};

use level::QueryLevel;
pub(crate) use methods::register;

static mut PREVIOUS: pg_sys::create_upper_paths_hook_type = None;

/// Installs the hooks that receive the finished paths of every query level, and the number of rows that
/// the executor's caller wants.
pub(crate) fn install_hook() {
    // SAFETY: called once, while the library loads; a backend has one thread.
    unsafe {
        PREVIOUS = pg_sys::create_upper_paths_hook;
        pg_sys::create_upper_paths_hook = Some(upper_paths);
    }
    read_ahead::install();
}

/// Calls the previous hook, whose errors pass through here as through C.
///
/// # Safety
/// PostgreSQL calls it with a query level that is planned.
unsafe extern "C-unwind" fn upper_paths(
    root: *mut PlannerInfo,
    stage: UpperRelationKind::Type,
    input: *mut RelOptInfo,
    output: *mut RelOptInfo,
    extra: *mut std::ffi::c_void,
) {
    // SAFETY: PostgreSQL passes what such a hook takes.
    unsafe {
        if let Some(previous) = PREVIOUS {
            previous(root, stage, input, output, extra);
        }
        if stage == UpperRelationKind::UPPERREL_FINAL {
            level_is_planned(root, output);
        }
    }
}

/// # Safety
/// Both are valid, as PostgreSQL passed them to the hook.
#[pg_guard]
unsafe extern "C-unwind" fn level_is_planned(root: *mut PlannerInfo, result: *mut RelOptInfo) {
    // SAFETY: PostgreSQL plans the level until this returns.
    placement::place(&unsafe { QueryLevel::new(root, result) });
}
