//! Prepares a node to run, from its plan.
//!
//! A statement of one row pays for all of this, so rarely needed state is made on demand: the output with the
//! calls in it (`plain`) for the first row that is evaluated without a batch, and room for rows as they are read.
//! The node's `shape` is derived once per plan.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::rc::Rc;

use pg_interface::{catalog, nodes, report};
use pgrx::pg_sys::{self, CustomScan, CustomScanState, EState};
use pgrx::{PgMemoryContexts, pg_guard};

use super::batched_call::Call;
use super::cursor::CursorRows;
use super::exec::{BatchNode, State};
use super::late_memory::{LateMemory, memory};
use super::row_output::RowOutput;
use super::rows::BatchRows;
use super::shape;
use crate::error::Error;

/// # Safety
/// PostgreSQL calls it with a state that `create` made.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn begin(
    state: *mut CustomScanState,
    executor: *mut EState,
    flags: i32,
) {
    // SAFETY: PostgreSQL passes a state made by `create`, whose plan was made by `plan`; the current
    // memory context is the query's.
    unsafe {
        let plan = (*state).ss.ps.plan.cast::<CustomScan>();
        let Some(below) = nodes::list_nth((*plan).custom_plans, 0) else {
            report::raise(Error::DamagedPlan)
        };
        let Some(shape) = shape::of(plan, (*executor).es_plannedstmt) else {
            report::raise(Error::DamagedPlan)
        };
        let is_shown =
            flags & pg_sys::EXEC_FLAG_EXPLAIN_ONLY as i32 != 0 || (*executor).es_instrument != 0;
        let below = match shape.bare_scan {
            // For JIT an output without columns would be one more function.
            Some(scan) if !is_shown && (*executor).es_jit_flags == 0 => {
                let below = pg_sys::ExecInitNode(scan, executor, flags);
                // A scan without this returns its rows as they are stored.
                (*below).ps_ProjInfo = std::ptr::null_mut();
                below
            }
            _ => pg_sys::ExecInitNode(below, executor, flags),
        };
        (*state).custom_ps = pg_sys::lappend(std::ptr::null_mut(), below.cast());
        // `plain` checks this too, but is not always made.
        shape.calls.iter().for_each(|call| catalog::require_execute(call.function()));
        let query = (*executor).es_query_cxt;
        let output = RowOutput {
            plain: None,
            scan: state,
            calls: shape.calls.iter().map(Call::new).collect(),
            rows: BatchRows::new(Rc::clone(&shape.rows), memory(c"pgboost batch", query)),
            validity: None,
            shape: Rc::clone(&shape),
        };
        let node = BatchNode {
            below,
            output,
            reading: LateMemory::new(c"pgboost features", query),
            position: 0,
            size: 0,
            expected: shape.limit,
            limit: shape.limit,
            ended: false,
            end_told: false,
            prepared: false,
            read_ahead: shape.read_ahead,
            only_needed: shape.only_needed,
            cursor: CursorRows::new(state.cast(), below),
        };
        let mut memory = PgMemoryContexts::For(query);
        (*state.cast::<State>()).node = memory.leak_and_drop_on_delete(node);
    }
}
