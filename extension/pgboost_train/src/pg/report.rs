//! Raises the extension's errors as PostgreSQL's, and tells the client how a training goes.

use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

use crate::error::{Error, SqlState};

impl From<Error> for ErrorReport {
    fn from(error: Error) -> Self {
        let mut report = ErrorReport::new(code(error.sqlstate()), error.message(), "pgboost_train");
        if let Some(detail) = error.detail() {
            report = report.set_detail(detail);
        }
        if let Some(hint) = error.hint() {
            report = report.set_hint(hint);
        }
        report
    }
}

/// Packs the five characters as PostgreSQL does: six bits each, the first lowest.
fn code(state: SqlState) -> PgSqlErrorCode {
    let packed = state.0.bytes().enumerate().fold(0, |packed, (place, byte)| {
        packed | i32::from(byte.wrapping_sub(b'0') & 0x3f) << (6 * place)
    });
    PgSqlErrorCode::from(packed)
}

/// Sees to it that errors carry no backtrace, whatever the server's environment says: pgrx would
/// send it to the client as the error's detail, with the paths of the machine that built this.
pub fn without_backtraces() {
    const VARIABLES: [&str; 2] = ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"];
    let before = VARIABLES.map(std::env::var_os);
    // SAFETY: the process has one thread when it loads this library, which is what may load others.
    unsafe {
        VARIABLES.iter().for_each(|variable| std::env::remove_var(variable));
        // The first capture decides for all that follow.
        let _ = std::backtrace::Backtrace::capture();
        for (variable, value) in VARIABLES.iter().zip(before) {
            if let Some(value) = value {
                std::env::set_var(variable, value);
            }
        }
    }
}

/// Checks whether the statement was cancelled or the backend is to end; raises the error if so.
pub fn check_for_interrupts() {
    pgrx::check_for_interrupts!();
}

/// Whether the statement was cancelled or the backend is to end. Raises nothing, so it may be asked
/// while libxgboost waits for an answer: ending the process there would run C++ destructors under
/// its feet.
pub fn is_ending() -> bool {
    // SAFETY: flags that signal handlers of this thread set.
    unsafe {
        (&raw const pg_sys::QueryCancelPending).read_volatile() != 0
            || (&raw const pg_sys::ProcDiePending).read_volatile() != 0
    }
}

/// Tells the client.
pub fn notice(message: &str) {
    pgrx::ereport!(
        PgLogLevel::NOTICE,
        PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
        message.to_owned()
    );
}
