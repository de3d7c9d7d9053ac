//! The tables by which PostgreSQL calls the node: when its plan is started, and while it runs.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use pgrx::pg_guard;
use pgrx::pg_sys::{self, CustomExecMethods, CustomScan, CustomScanMethods, Node, NodeTag};

use super::exec::{self, State};
use super::paths::NAME;
use super::{exec_init, explain};

/// A table of functions, which is never written to.
pub(super) struct Methods<T>(pub T);

// SAFETY: the tables hold pointers to functions and literals only.
unsafe impl<T> Sync for Methods<T> {}

static SCAN: Methods<CustomScanMethods> =
    Methods(CustomScanMethods { CustomName: NAME.as_ptr(), CreateCustomScanState: Some(create) });

static EXEC: Methods<CustomExecMethods> = Methods(CustomExecMethods {
    CustomName: NAME.as_ptr(),
    BeginCustomScan: Some(exec_init::begin),
    ExecCustomScan: Some(exec::next),
    EndCustomScan: Some(exec::end),
    ReScanCustomScan: Some(exec::rescan),
    MarkPosCustomScan: None,
    RestrPosCustomScan: None,
    EstimateDSMCustomScan: None,
    InitializeDSMCustomScan: None,
    ReInitializeDSMCustomScan: None,
    InitializeWorkerCustomScan: None,
    ShutdownCustomScan: None,
    ExplainCustomScan: Some(explain::explain),
});

pub(super) fn scan() -> *const CustomScanMethods {
    &raw const SCAN.0
}

/// Tells PostgreSQL of the node, so that a parallel worker knows it by its name.
pub(crate) fn register() {
    // SAFETY: the table lives for ever.
    unsafe { pg_sys::RegisterCustomScanMethods(scan()) }
}

/// # Safety
/// PostgreSQL calls it with a plan that `make_plan` made.
#[pg_guard]
unsafe extern "C-unwind" fn create(_plan: *mut CustomScan) -> *mut Node {
    // SAFETY: a node of zeros but for its tag is what makeNode returns.
    unsafe {
        let state: *mut State = pg_sys::palloc0(size_of::<State>()).cast();
        (*state).scan.ss.ps.type_ = NodeTag::T_CustomScanState;
        (*state).scan.methods = &raw const EXEC.0;
        state.cast()
    }
}
