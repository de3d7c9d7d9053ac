//! How many rows the caller of the executor asks a statement for: all, or so many of a cursor's, of a
//! fetch by the protocol, or of `SELECT INTO` in PL/pgSQL. The plan does not say it, and neither does the
//! executor's state, so the executor's hook notes it while a statement runs.

use pgrx::pg_sys::{self, EState, QueryDesc, ScanDirection};

use pg_interface::unguarded;

/// A statement that runs, and how many rows it was asked for; 0 stands for all.
#[derive(Clone, Copy)]
struct Run {
    statement: *mut EState,
    count: u64,
}

static mut RUNNING: Run = Run { statement: std::ptr::null_mut(), count: 1 };
static mut PREVIOUS: pg_sys::ExecutorRun_hook_type = None;

/// Notes from now on how many rows are asked for.
pub(crate) fn install() {
    // SAFETY: called once, while the library loads; a backend has one thread.
    unsafe {
        PREVIOUS = pg_sys::ExecutorRun_hook;
        pg_sys::ExecutorRun_hook = Some(run);
    }
}

/// How many more rows the statement's caller wants; nothing if it wants all. Of a statement that is not
/// the one that runs now, as after an error within it, one row is wanted.
///
/// # Safety
/// The state is that of a statement.
pub(crate) unsafe fn rows_wanted(statement: *mut EState) -> Option<usize> {
    // SAFETY: a backend has one thread; the caller says so.
    unsafe {
        let running = RUNNING;
        if running.statement != statement {
            return Some(1);
        }
        let left = running.count.saturating_sub((*statement).es_processed);
        (running.count > 0).then_some(usize::try_from(left).unwrap_or(usize::MAX))
    }
}

/// Called by PostgreSQL.
///
/// # Safety
/// The query has begun.
#[cfg(not(any(feature = "pg18", feature = "pg19")))]
unsafe extern "C-unwind" fn run(
    query: *mut QueryDesc,
    direction: ScanDirection::Type,
    count: u64,
    once: bool,
) {
    // SAFETY: PostgreSQL passes a query that has begun; errors pass through here as through C.
    unsafe {
        let before = RUNNING;
        RUNNING = Run { statement: (*query).estate, count };
        match PREVIOUS {
            Some(previous) => previous(query, direction, count, once),
            None => unguarded::standard_ExecutorRun(query, direction, count, once),
        }
        RUNNING = before;
    }
}

/// Called by PostgreSQL.
///
/// # Safety
/// The query has begun.
#[cfg(any(feature = "pg18", feature = "pg19"))]
unsafe extern "C-unwind" fn run(query: *mut QueryDesc, direction: ScanDirection::Type, count: u64) {
    // SAFETY: as for the other.
    unsafe {
        let before = RUNNING;
        RUNNING = Run { statement: (*query).estate, count };
        match PREVIOUS {
            Some(previous) => previous(query, direction, count),
            None => unguarded::standard_ExecutorRun(query, direction, count),
        }
        RUNNING = before;
    }
}
