//! The node's name, and the method tables by which PostgreSQL starts and runs it.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::ffi::CStr;

use pg_interface::nodes;
use pgrx::pg_guard;
use pgrx::pg_sys::{self, CustomExecMethods, CustomScan, CustomScanMethods, NodeTag};

use super::exec::{self, State};
use super::{exec_init, explain};

/// The node's name, which EXPLAIN shows and by which a parallel worker finds the methods.
pub(crate) const NAME: &CStr = c"BatchPredict";

/// A method table, which is never written to.
pub(super) struct Methods<T>(pub(super) T);

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

/// Registers the node, so that a parallel worker finds it by its name.
pub(crate) fn register() {
    // SAFETY: the table lives for ever.
    unsafe { pg_sys::RegisterCustomScanMethods(scan()) }
}

/// # Safety
/// PostgreSQL calls it with a plan that `make_plan` made.
#[pg_guard]
unsafe extern "C-unwind" fn create(_plan: *mut CustomScan) -> *mut pg_sys::Node {
    // SAFETY: the state begins with PostgreSQL's, and so with its tag.
    unsafe {
        let state: *mut State = nodes::make(NodeTag::T_CustomScanState);
        (*state).scan.methods = &raw const EXEC.0;
        state.cast()
    }
}
