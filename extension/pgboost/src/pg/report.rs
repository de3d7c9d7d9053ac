//! Raises the extension's errors as PostgreSQL's.
//!
//! The error unwinds as a Rust panic to the entry point, so every value on the way is dropped, and
//! only there becomes an `ereport`.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

use crate::error::{Error, SqlState};

impl From<Error> for ErrorReport {
    fn from(error: Error) -> Self {
        let mut report = ErrorReport::new(code(error.sqlstate()), error.message(), "pgboost");
        if let Some(detail) = error.detail() {
            report = report.set_detail(detail);
        }
        if let Some(hint) = error.hint() {
            report = report.set_hint(hint);
        }
        report
    }
}

/// Ends the statement with the error.
pub fn raise(error: Error) -> ! {
    ErrorReport::from(error).report(PgLogLevel::ERROR);
    unreachable!("an ERROR does not return")
}

/// Packs the five characters as PostgreSQL does: six bits each, the first lowest.
pub(super) fn code(state: SqlState) -> PgSqlErrorCode {
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
    // SAFETY: the process has one thread when it loads a library.
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

/// Tells the server log, not the client.
pub fn log(message: &str) {
    pgrx::ereport!(PgLogLevel::LOG, PgSqlErrorCode::ERRCODE_IO_ERROR, message.to_owned());
}
