//! PostgreSQL functions without pgrx's guard, whose `sigsetjmp` per call would cost more than the calls
//! themselves where they run for every row.
//!
//! The first block cannot raise errors: these functions read a variable or given memory, or allocate in
//! a way that returns NULL; their sources were checked in every supported release.
//!
//! All others may raise an error, which jumps over the calling frame. So each function that calls one
//! must own nothing with a `drop`, and must be called from PostgreSQL without a pgrx guard in between;
//! errors then also keep their context. The executor's inline functions are repeated here.

use std::ffi::{c_char, c_int, c_void};

use pgrx::pg_sys::{
    CurrentMemoryContext, ExprContext, ExprState, FunctionCallInfo, JsonbContainer, JsonbValue,
    MemoryContext, MemoryContextCallback, Oid, PlanState, ProjectionInfo, QueryDesc, ScanDirection,
    Snapshot, TupleTableSlot, varlena,
};

use crate::report::with_reserve;

// Functions that cannot raise an error.
unsafe extern "C-unwind" {
    /// Returns the current user (miscinit.c).
    pub safe fn GetUserId() -> Oid;
    /// Returns the start of the client's statement, in microseconds since 2000 (xact.c).
    pub safe fn GetCurrentStatementStartTimestamp() -> i64;
    /// Returns whether there is an active snapshot (snapmgr.c).
    pub safe fn ActiveSnapshotSet() -> bool;
    /// Returns the active snapshot, which must exist (snapmgr.c).
    pub fn GetActiveSnapshot() -> Snapshot;
    /// Writes the value of an object's key to the caller's value; null if there is no such key
    /// (jsonb_util.c).
    pub fn getKeyJsonValueFromContainer(
        object: *mut JsonbContainer,
        key: *const c_char,
        length: i32,
        value: *mut JsonbValue,
    ) -> *mut JsonbValue;
    /// Returns whether the call is part of an aggregate, and the context of its state (nodeAgg.c).
    pub fn AggCheckCallContext(call: FunctionCallInfo, context: *mut MemoryContext) -> c_int;
    /// Allocates up to a gigabyte in a context; null on failure with MCXT_ALLOC_NO_OOM (mcxt.c).
    pub fn MemoryContextAllocExtended(
        context: MemoryContext,
        size: usize,
        flags: c_int,
    ) -> *mut c_void;
    /// Registers a callback before the context's memory is freed (mcxt.c).
    pub fn MemoryContextRegisterResetCallback(
        context: MemoryContext,
        callback: *mut MemoryContextCallback,
    );
}

// Functions that may raise an error.
unsafe extern "C-unwind" {
    fn ExecReScan(node: *mut PlanState);
    /// Deforms columns of a slot's tuple (execTuples.c).
    pub fn slot_getsomeattrs_int(slot: *mut TupleTableSlot, attnum: i32);
    /// Frees a memory context's contents (mcxt.c).
    pub fn MemoryContextReset(context: MemoryContext);
    /// Allocates in a memory context (mcxt.c).
    pub fn MemoryContextAlloc(context: MemoryContext, size: usize) -> *mut c_void;
    /// Copies a value, detoasted (fmgr.c).
    pub fn pg_detoast_datum_copy(datum: *mut varlena) -> *mut varlena;
    /// Runs a started query (execMain.c).
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    pub fn standard_ExecutorRun(
        query: *mut QueryDesc,
        direction: ScanDirection::Type,
        count: u64,
        once: bool,
    );
    /// Runs a started query (execMain.c).
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    pub fn standard_ExecutorRun(query: *mut QueryDesc, direction: ScanDirection::Type, count: u64);
}

const OWNS_MEMORY: u16 = pgrx::pg_sys::TTS_FLAG_SHOULDFREE as u16;
const EMPTY: u16 = pgrx::pg_sys::TTS_FLAG_EMPTY as u16;

/// Returns the next row of a plan, or null at its end (`ExecProcNode`).
///
/// # Safety
/// The plan is running; see the module's header.
#[inline]
pub unsafe fn next_row(plan: *mut PlanState) -> *mut TupleTableSlot {
    // SAFETY: the plan is running.
    unsafe {
        if !(*plan).chgParam.is_null() {
            ExecReScan(plan);
        }
        let Some(next) = (*plan).ExecProcNode else { return std::ptr::null_mut() };
        let slot = next(plan);
        if slot.is_null() || (*slot).tts_flags & EMPTY != 0 { std::ptr::null_mut() } else { slot }
    }
}

/// Deforms the first columns of a slot's row (`slot_getsomeattrs`).
///
/// # Safety
/// The slot holds a row with that many columns; see the module's header.
#[inline]
pub unsafe fn deform(slot: *mut TupleTableSlot, columns: i32) {
    // SAFETY: the slot's row has the columns.
    unsafe {
        if i32::from((*slot).tts_nvalid) < columns {
            slot_getsomeattrs_int(slot, columns);
        }
    }
}

/// Empties a slot before it is refilled; a plan above may have materialized its values.
///
/// # Safety
/// The slot is virtual; see the module's header.
#[inline]
pub unsafe fn clear(slot: *mut TupleTableSlot) {
    // SAFETY: the slot is a valid virtual one.
    unsafe {
        if (*slot).tts_flags & OWNS_MEMORY != 0
            && let Some(clear) = (*(*slot).tts_ops).clear
        {
            clear(slot);
        }
    }
}

/// Marks all columns of a slot as set (`ExecStoreVirtualTuple`).
///
/// # Safety
/// All are set, and the slot is virtual and owns no memory.
#[inline]
pub unsafe fn mark_filled(slot: *mut TupleTableSlot) {
    // SAFETY: the slot is valid.
    unsafe {
        (*slot).tts_flags &= !EMPTY;
        (*slot).tts_nvalid = (*(*slot).tts_tupleDescriptor).natts as i16;
    }
}

/// Frees the per-row memory of expressions (`ResetExprContext`).
///
/// # Safety
/// No value in it is used afterwards; see the module's header.
#[inline]
pub unsafe fn reset_per_tuple_memory(context: *mut ExprContext) {
    // SAFETY: the context is valid, and its per-row memory unused.
    unsafe { MemoryContextReset((*context).ecxt_per_tuple_memory) }
}

/// Returns whether a row passes the conditions (`ExecQual`).
///
/// # Safety
/// The slots that the conditions read are filled; see the module's header.
#[inline]
pub unsafe fn are_met(conditions: *mut ExprState, context: *mut ExprContext) -> bool {
    // SAFETY: the slots are filled. As in ExecQual, NULL counts as false.
    unsafe {
        let Some(evaluate) = (*conditions).evalfunc else { return false };
        let before = CurrentMemoryContext;
        CurrentMemoryContext = (*context).ecxt_per_tuple_memory;
        let mut is_null = false;
        let met = evaluate(conditions, context, &mut is_null);
        CurrentMemoryContext = before;
        met.value() != 0
    }
}

/// Evaluates a projection; returns its filled slot (`ExecProject`).
///
/// # Safety
/// The slots that it reads are filled; see the module's header.
#[inline]
pub unsafe fn project(projection: *mut ProjectionInfo) -> *mut TupleTableSlot {
    // SAFETY: the slots are filled, and the result's slot is virtual.
    unsafe {
        let context = (*projection).pi_exprContext;
        let state = &raw mut (*projection).pi_state;
        let slot = (*state).resultslot;
        clear(slot);
        let Some(evaluate) = (*state).evalfunc else { return std::ptr::null_mut() };
        let before = CurrentMemoryContext;
        CurrentMemoryContext = (*context).ecxt_per_tuple_memory;
        let mut is_null = false;
        evaluate(state, context, &mut is_null);
        CurrentMemoryContext = before;
        mark_filled(slot);
        slot
    }
}

/// Allocates in a context; raises PostgreSQL's error on failure.
///
/// # Safety
/// The context is valid, and the size at most a gigabyte.
#[inline]
pub(crate) unsafe fn allocated(context: MemoryContext, size: usize) -> *mut c_void {
    #[cold]
    fn raise(context: MemoryContext, size: usize) -> *mut c_void {
        // SAFETY: as below. The second attempt raises PostgreSQL's error.
        with_reserve(|| unsafe { pgrx::pg_sys::MemoryContextAlloc(context, size) })
    }
    // SAFETY: the context is valid.
    let memory = unsafe {
        let flags = pgrx::pg_sys::MCXT_ALLOC_NO_OOM.cast_signed();
        MemoryContextAllocExtended(context, size, flags)
    };
    if memory.is_null() { raise(context, size) } else { memory }
}
