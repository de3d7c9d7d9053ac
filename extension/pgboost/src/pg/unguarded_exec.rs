//! PostgreSQL's functions as they are called from frames that hold nothing to drop.
//!
//! They may raise an error, which then jumps over the frame that called them: so every function
//! here, and every function that calls one of them, must own nothing whose `drop` matters, and must
//! itself be called from PostgreSQL without a guard of pgrx in between. In return there is neither
//! a `sigsetjmp` a call, nor does an error lose its context on the way. What PostgreSQL writes as
//! inline functions is written here again.

use pgrx::pg_sys::{
    CurrentMemoryContext, ExprContext, ExprState, MemoryContext, PlanState, ProjectionInfo,
    QueryDesc, ScanDirection, TupleTableSlot, varlena,
};

unsafe extern "C-unwind" {
    fn ExecReScan(node: *mut PlanState);
    fn slot_getsomeattrs_int(slot: *mut TupleTableSlot, attnum: i32);
    /// Frees what a memory context holds (mcxt.c).
    pub fn MemoryContextReset(context: MemoryContext);
    /// Allocates in a memory context (mcxt.c).
    pub fn MemoryContextAlloc(context: MemoryContext, size: usize) -> *mut std::ffi::c_void;
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
    // SAFETY: the caller says so; what ExecProcNode does.
    unsafe {
        if !(*plan).chgParam.is_null() {
            ExecReScan(plan);
        }
        let Some(next) = (*plan).ExecProcNode else { return std::ptr::null_mut() };
        let slot = next(plan);
        if slot.is_null() || (*slot).tts_flags & EMPTY != 0 { std::ptr::null_mut() } else { slot }
    }
}

/// # Safety
/// The slot holds a row with that many columns; see the module's header.
#[inline]
pub unsafe fn take_apart(slot: *mut TupleTableSlot, columns: i32) {
    // SAFETY: the caller says so.
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
    // SAFETY: the caller says so.
    unsafe {
        if (*slot).tts_flags & OWNS_MEMORY != 0
            && let Some(clear) = (*(*slot).tts_ops).clear
        {
            clear(slot);
        }
    }
}

/// Says that all columns of a slot are set.
///
/// # Safety
/// They are, and the slot is a virtual one that owns no memory of its own.
#[inline]
pub unsafe fn mark_filled(slot: *mut TupleTableSlot) {
    // SAFETY: the caller says so.
    unsafe {
        (*slot).tts_flags &= !EMPTY;
        (*slot).tts_nvalid = (*(*slot).tts_tupleDescriptor).natts as i16;
    }
}

/// Lets go of what the expressions of the last row have allocated.
///
/// # Safety
/// Nothing of it is used any more; see the module's header.
#[inline]
pub unsafe fn forget_last_row(context: *mut ExprContext) {
    // SAFETY: the caller says so.
    unsafe { MemoryContextReset((*context).ecxt_per_tuple_memory) }
}

/// # Safety
/// The slots that they read are filled; see the module's header.
#[inline]
pub unsafe fn are_met(conditions: *mut ExprState, context: *mut ExprContext) -> bool {
    // SAFETY: the caller says so; what ExecQual does. NULL counts as false there.
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
    // SAFETY: the caller says so; what ExecProject does. The result's slot is a virtual one.
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
