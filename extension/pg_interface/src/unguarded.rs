//! PostgreSQL functions that cannot raise an error, called without pgrx's guard.
//!
//! The guard is a `sigsetjmp` per call, which would cost more than the calls themselves on the path of
//! a cached model. These only read a variable of the backend, or memory that they are given, or take
//! memory in a way that says if there is none; the source of each was read in every supported release.

use std::ffi::{c_char, c_int, c_void};

use pgrx::pg_sys::{
    FunctionCallInfo, JsonbContainer, JsonbValue, MemoryContext, MemoryContextCallback, Oid,
    Snapshot,
};

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
    /// Whether the call is one of an aggregate's functions, and the context that its state lives in (nodeAgg.c).
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
