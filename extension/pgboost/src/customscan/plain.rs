//! The node's output and conditions with the calls in them, to be evaluated as by a plan without this node.
//!
//! They evaluate the rows that no batch has scored, and so raise every error. They are made for the first such
//! row, since most statements have none.

use pg_interface::nodes;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{
    self, CustomScan, CustomScanState, ExprState, Plan, ProjectionInfo, TupleTableSlot,
};

use super::arguments::referred;
use super::plan_data::TupleColumn;
use super::shape::Shape;

#[derive(Clone, Copy)]
pub(super) struct Plain {
    /// A slot for a row as the plan below has it, over which both are.
    pub(super) row: *mut TupleTableSlot,
    pub(super) projection: *mut ProjectionInfo,
    /// Null if the node has none.
    pub(super) conditions: *mut ExprState,
}

/// Makes both; `None` for a plan without one below it.
///
/// # Safety
/// The node has begun, and this is its shape; PostgreSQL's memory may be allocated.
pub(super) unsafe fn plain(scan: *mut CustomScanState, shape: &Shape) -> Option<Plain> {
    // SAFETY: the state's slots and contexts were made before the node began, and live as long as the query.
    unsafe {
        let state = &raw mut (*scan).ss.ps;
        let plan = (*state).plan;
        let below = nodes::list_nth::<Plan>((*plan.cast::<CustomScan>()).custom_plans, 0)?;
        let columns = (*below).targetlist;
        let statement = (*state).state;
        let mut memory = PgMemoryContexts::For((*statement).es_query_cxt);
        memory.switch_to(|_| {
            let row = pg_sys::ExecInitExtraTupleSlot(
                statement,
                pg_sys::ExecTypeFromTL(columns),
                &raw const pg_sys::TTSOpsVirtual,
            );
            let mut with = WithCalls { tuple: &shape.tuple, calls: Vec::new() };
            let calls = shape.calls.iter();
            with.calls = calls
                .map(|call| call.if_needed(columns, with.put_into(call.condition())))
                .collect();
            Some(Plain {
                row,
                projection: pg_sys::ExecBuildProjectionInfo(
                    with.put_into((*plan).targetlist),
                    (*state).ps_ExprContext,
                    (*state).ps_ResultTupleSlot,
                    state,
                    (*row).tts_tupleDescriptor,
                ),
                conditions: pg_sys::ExecInitQual(with.put_into((*plan).qual), state),
            })
        })
    }
}

/// The calls to put into expressions over the scan tuple, which then are over the rows of the plan below.
struct WithCalls<'a> {
    tuple: &'a [TupleColumn],
    calls: Vec<*mut pg_sys::Node>,
}

impl WithCalls<'_> {
    /// Returns a copy of an expression, or of a list of them, with the calls in it.
    ///
    /// # Safety
    /// It is over the scan tuple, and valid.
    unsafe fn put_into<T>(&self, expression: *mut T) -> *mut T {
        // SAFETY: guaranteed by the caller; `with_calls` only reads the context.
        unsafe { with_calls(expression.cast(), std::ptr::from_ref(self).cast_mut().cast()).cast() }
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
        let with = &*context.cast::<WithCalls<'_>>();
        let place = referred(node).and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        match place.and_then(|place| with.tuple.get(place)) {
            Some(TupleColumn::Call(index)) => with.calls.get(*index).copied().unwrap_or(node),
            Some(TupleColumn::Below(number)) => {
                let copy: *mut pg_sys::Var =
                    pg_sys::copyObjectImpl(node.cast_const().cast()).cast();
                (*copy).varattno = *number as i16;
                copy.cast()
            }
            None => mutated(node, context),
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
