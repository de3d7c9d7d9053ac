//! PostgreSQL functions that cannot raise an error, called without pgrx's guard.
//!
//! The guard is a `sigsetjmp` per call, which would cost more than the calls themselves on the path of
//! a cached model. These only read a variable of the backend; the source of each was read in every
//! supported release.

use pgrx::pg_sys::{Oid, Snapshot};

unsafe extern "C-unwind" {
    /// The user whose rights apply now (miscinit.c).
    pub safe fn GetUserId() -> Oid;
    /// Whether there is an active snapshot (snapmgr.c).
    pub safe fn ActiveSnapshotSet() -> bool;
    /// The active snapshot; there must be one (snapmgr.c).
    pub fn GetActiveSnapshot() -> Snapshot;
}
