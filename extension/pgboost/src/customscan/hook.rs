//! The planner's hook that places batches.
//!
//! It is the one for upper paths, not the planner's own: PostgreSQL reads the planner's hook before it
//! begins to plan, and so before the planning of a connection's first prediction makes this library
//! load. This one is read when the paths of a level are complete, which is after. The first query is
//! planned as all others are, and what is placed as a path is turned into a plan, numbered, checked
//! for parameters and cached by PostgreSQL's own code.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use pgrx::pg_guard;
use pgrx::pg_sys::{self, PlannerInfo, RelOptInfo, UpperRelationKind};

use super::level::QueryLevel;
use super::{placement, read_ahead};

static mut PREVIOUS: pg_sys::create_upper_paths_hook_type = None;

/// Makes PostgreSQL show the finished paths of every query level from now on, and how many rows are asked for.
pub(crate) fn install() {
    // SAFETY: called once, while the library loads; a backend has one thread.
    unsafe {
        PREVIOUS = pg_sys::create_upper_paths_hook;
        pg_sys::create_upper_paths_hook = Some(upper_paths);
    }
    read_ahead::install();
}

/// Calls the hook that was there before, whose errors pass through here as through C.
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
