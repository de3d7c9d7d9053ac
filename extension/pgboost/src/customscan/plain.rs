//! The node's output and conditions with the calls in them, to be evaluated as by a plan without this node.
//!
//! They evaluate the rows that no batch has scored, and so raise every error. They are made for the first such
//! row, since most statements have none.

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, CustomScan, CustomScanState, ExprState, List, ProjectionInfo};

use super::arguments::referred;
use super::shape::Shape;

#[derive(Clone, Copy)]
pub(super) struct Plain {
    pub(super) projection: *mut ProjectionInfo,
    /// Null if the node has none.
    pub(super) conditions: *mut ExprState,
}

/// Makes both.
///
/// # Safety
/// The node has begun, and this is its shape; PostgreSQL's memory may be allocated.
pub(super) unsafe fn plain(scan: *mut CustomScanState, shape: &Shape) -> Plain {
    // SAFETY: the state's slots and contexts were made before the node began, and live as long as the query.
    unsafe {
        let state = &raw mut (*scan).ss.ps;
        let mut memory = PgMemoryContexts::For((*(*state).state).es_query_cxt);
        memory.switch_to(|_| {
            let plan = (*state).plan;
            let tuple = (*plan.cast::<CustomScan>()).custom_scan_tlist;
            let calls = shape.calls.iter().map(|call| call.if_needed(tuple)).collect();
            let with = WithCalls { inputs: shape.inputs, calls };
            Plain {
                projection: pg_sys::ExecBuildProjectionInfo(
                    with.put_into((*plan).targetlist),
                    (*state).ps_ExprContext,
                    (*state).ps_ResultTupleSlot,
                    state,
                    (*(*scan).ss.ss_ScanTupleSlot).tts_tupleDescriptor,
                ),
                conditions: pg_sys::ExecInitQual(with.put_into((*plan).qual), state),
            }
        })
    }
}

/// The calls to put into expressions over the scan tuple, in place of references to their columns.
struct WithCalls {
    inputs: usize,
    calls: Vec<*mut pg_sys::Node>,
}

impl WithCalls {
    /// Returns a copy of a list of expressions with the calls in it.
    ///
    /// # Safety
    /// The expressions are over the scan tuple, and valid.
    unsafe fn put_into(&self, expressions: *mut List) -> *mut List {
        // SAFETY: guaranteed by the caller; `with_calls` only reads the context.
        unsafe { with_calls(expressions.cast(), std::ptr::from_ref(self).cast_mut().cast()).cast() }
    }
}

/// Returns a copy of an expression with the calls in place of the references to their columns.
///
/// # Safety
/// The list is of expressions, and valid.
unsafe extern "C-unwind" fn with_calls(
    node: *mut pg_sys::Node,
    context: *mut std::ffi::c_void,
) -> *mut pg_sys::Node {
    if node.is_null() {
        return node;
    }
    // SAFETY: PostgreSQL hands through what `put_into` passes; the node is read by its tag.
    unsafe {
        let calls = &*context.cast::<WithCalls>();
        match referred(node).and_then(|number| usize::try_from(number).ok()) {
            Some(number) if number > calls.inputs => {
                calls.calls.get(number - calls.inputs - 1).copied().unwrap_or(node)
            }
            _ => mutated(node, context),
        }
    }
}

/// Returns a copy of a node with `with_calls` applied to its parts.
///
/// # Safety
/// The node is null or valid, and the context is the one that `with_calls` passed.
unsafe fn mutated(node: *mut pg_sys::Node, context: *mut std::ffi::c_void) -> *mut pg_sys::Node {
    type Mutator =
        unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut std::ffi::c_void) -> *mut pg_sys::Node;
    // SAFETY: in PostgreSQL 15 the parameter's type does not name its arguments, which are these.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::expression_tree_mutator(
            node,
            Some(
                std::mem::transmute::<Mutator, unsafe extern "C-unwind" fn() -> *mut pg_sys::Node>(
                    with_calls,
                ),
            ),
            context,
        );
        #[cfg(not(feature = "pg15"))]
        return pg_sys::expression_tree_mutator_impl(
            node,
            Some(std::mem::transmute::<Mutator, _>(with_calls)),
            context,
        );
    }
}
