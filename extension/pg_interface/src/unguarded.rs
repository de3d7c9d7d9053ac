//! PostgreSQL's functions called without pgrx's guard, which is a `sigsetjmp` per call and would cost more
//! than the calls themselves where they run for every row.
//!
//! The first block of functions cannot raise an error: they read a variable of the backend or memory that
//! they are given, or allocate in a way that returns NULL if there is no memory; the source of each was read
//! in every supported release.
//!
//! All others may raise an error, which then jumps over the frame that called them. So every function that
//! calls one of them must own nothing whose `drop` matters, and must itself be called from PostgreSQL without
//! a guard of pgrx in between. An error then keeps its context too. PostgreSQL's inline functions of the
//! executor are written here once more.

use std::ffi::{c_char, c_int, c_void};

use pgrx::pg_sys::{
    CurrentMemoryContext, ExprContext, ExprState, FunctionCallInfo, JsonbContainer, JsonbValue,
    MemoryContext, MemoryContextCallback, Oid, PlanState, ProjectionInfo, QueryDesc, ScanDirection,
    Snapshot, TupleTableSlot, varlena,
};

use crate::report::with_reserve;

// Functions that cannot raise an error.
unsafe extern "C-unwind" {
    /// The user whose rights apply now (miscinit.c).
    pub safe fn GetUserId() -> Oid;
    /// When the statement began that the client has sent, in microseconds since 2000 (xact.c).
    pub safe fn GetCurrentStatementStartTimestamp() -> i64;
    /// Whether there is an active snapshot (snapmgr.c).
    pub safe fn ActiveSnapshotSet() -> bool;
    /// The active snapshot; there must be one (snapmgr.c).
    pub fn GetActiveSnapshot() -> Snapshot;
    /// What a key of an object holds, written to a value of the caller's; null if there is no such
    /// key (jsonb_util.c).
    pub fn getKeyJsonValueFromContainer(
        object: *mut JsonbContainer,
        key: *const c_char,
        length: i32,
        value: *mut JsonbValue,
    ) -> *mut JsonbValue;
    /// Whether the call is one of an aggregate's functions, and the context that its state lives in
    /// (nodeAgg.c).
    pub fn AggCheckCallContext(call: FunctionCallInfo, context: *mut MemoryContext) -> c_int;
    /// Memory of a context: with MCXT_ALLOC_NO_OOM null if there is none, for sizes up to a gigabyte
    /// (mcxt.c).
    pub fn MemoryContextAllocExtended(
        context: MemoryContext,
        size: usize,
        flags: c_int,
    ) -> *mut c_void;
    /// Has the context call back before it frees its memory (mcxt.c).
    pub fn MemoryContextRegisterResetCallback(
        context: MemoryContext,
        callback: *mut MemoryContextCallback,
    );
}

// Functions that may raise an error.
unsafe extern "C-unwind" {
    fn ExecReScan(node: *mut PlanState);
    /// Takes that many columns from a slot's tuple (execTuples.c).
    pub fn slot_getsomeattrs_int(slot: *mut TupleTableSlot, attnum: i32);
    /// Frees what a memory context holds (mcxt.c).
    pub fn MemoryContextReset(context: MemoryContext);
    /// Allocates in a memory context (mcxt.c).
    pub fn MemoryContextAlloc(context: MemoryContext, size: usize) -> *mut c_void;
    /// A value's own bytes, wherever they are (fmgr.c).
    pub fn pg_detoast_datum_copy(datum: *mut varlena) -> *mut varlena;
    /// Runs a statement that has begun (execMain.c).
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    pub fn standard_ExecutorRun(
        query: *mut QueryDesc,
        direction: ScanDirection::Type,
        count: u64,
        once: bool,
    );
    /// The same.
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    pub fn standard_ExecutorRun(query: *mut QueryDesc, direction: ScanDirection::Type, count: u64);
}

const OWNS_MEMORY: u16 = pgrx::pg_sys::TTS_FLAG_SHOULDFREE as u16;
const EMPTY: u16 = pgrx::pg_sys::TTS_FLAG_EMPTY as u16;

/// The next row of a plan, or null if there is none.
///
/// # Safety
/// The plan is running; see the module's header.
#[inline]
pub unsafe fn next_row(plan: *mut PlanState) -> *mut TupleTableSlot {
    // SAFETY: guaranteed by the caller; what ExecProcNode does.
    unsafe {
        if !(*plan).chgParam.is_null() {
            ExecReScan(plan);
        }
        let Some(next) = (*plan).ExecProcNode else { return std::ptr::null_mut() };
        let slot = next(plan);
        if slot.is_null() || (*slot).tts_flags & EMPTY != 0 { std::ptr::null_mut() } else { slot }
    }
}

/// Takes the first columns of a slot's row from its tuple (`slot_getsomeattrs`).
///
/// # Safety
/// The slot holds a row with that many columns; see the module's header.
#[inline]
pub unsafe fn deform(slot: *mut TupleTableSlot, columns: i32) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if i32::from((*slot).tts_nvalid) < columns {
            slot_getsomeattrs_int(slot, columns);
        }
    }
}

/// Empties a slot, as must be done before it is filled again: a plan above may have made its values
/// its own.
///
/// # Safety
/// The slot is a virtual one; see the module's header.
#[inline]
pub unsafe fn clear(slot: *mut TupleTableSlot) {
    // SAFETY: guaranteed by the caller.
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
/// They are, and the slot is a virtual one that owns no memory.
#[inline]
pub unsafe fn mark_filled(slot: *mut TupleTableSlot) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        (*slot).tts_flags &= !EMPTY;
        (*slot).tts_nvalid = (*(*slot).tts_tupleDescriptor).natts as i16;
    }
}

/// Frees what the expressions of the last row have allocated (`ResetExprContext`).
///
/// # Safety
/// Nothing of it is used any more; see the module's header.
#[inline]
pub unsafe fn reset_per_tuple_memory(context: *mut ExprContext) {
    // SAFETY: guaranteed by the caller.
    unsafe { MemoryContextReset((*context).ecxt_per_tuple_memory) }
}

/// Whether a row passes the conditions (`ExecQual`).
///
/// # Safety
/// The slots that they read are filled; see the module's header.
#[inline]
pub unsafe fn are_met(conditions: *mut ExprState, context: *mut ExprContext) -> bool {
    // SAFETY: guaranteed by the caller; what ExecQual does. NULL counts as false there.
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

/// Evaluates a projection; returns its slot, filled.
///
/// # Safety
/// The slots that it reads are filled; see the module's header.
#[inline]
pub unsafe fn project(projection: *mut ProjectionInfo) -> *mut TupleTableSlot {
    // SAFETY: guaranteed by the caller; what ExecProject does. The result's slot is a virtual one.
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

/// Memory of a context; PostgreSQL's own error if there is none.
///
/// # Safety
/// The context is valid, the size at most a gigabyte.
#[inline]
pub(crate) unsafe fn allocated(context: MemoryContext, size: usize) -> *mut c_void {
    #[cold]
    fn raise(context: MemoryContext, size: usize) -> *mut c_void {
        // SAFETY: as below. It tries again, and raises PostgreSQL's own error.
        with_reserve(|| unsafe { pgrx::pg_sys::MemoryContextAlloc(context, size) })
    }
    // SAFETY: guaranteed by the caller.
    let memory = unsafe {
        let flags = pgrx::pg_sys::MCXT_ALLOC_NO_OOM.cast_signed();
        MemoryContextAllocExtended(context, size, flags)
    };
    if memory.is_null() { raise(context, size) } else { memory }
}
