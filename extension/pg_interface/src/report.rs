//! Errors and messages as PostgreSQL's, and whether the statement is to end.
//!
//! An extension's error unwinds as a Rust panic to the entry point, so every value on the way is
//! dropped, and only there becomes an `ereport`.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

use crate::Report;

/// The error as pgrx raises it. `raised_by` is the extension's name.
pub fn error_report(raised_by: &'static str, error: Report) -> ErrorReport {
    let mut report = ErrorReport::new(error.sqlstate, error.message, raised_by);
    if let Some(detail) = error.detail {
        report = report.set_detail(detail);
    }
    if let Some(hint) = error.hint {
        report = report.set_hint(hint);
    }
    report
}

/// Ends the statement with the error.
#[expect(
    clippy::unreachable,
    reason = "pgrx's report has no type for a level that does not return"
)]
pub fn raise(error: impl Into<ErrorReport>) -> ! {
    error.into().report(PgLogLevel::ERROR);
    unreachable!("an ERROR does not return")
}

/// Makes errors carry no backtrace, whatever the server's environment says: pgrx would send it to the
/// client as the error's detail, with the paths of the machine that built this.
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

/// Tells the client what it must not miss: programs show warnings that drop notices.
pub fn warning_with(message: &str, detail: &str, hint: &str) {
    let report = ErrorReport::new(PgSqlErrorCode::ERRCODE_WARNING, message.to_owned(), "pgboost");
    report.set_detail(detail).set_hint(hint).report(PgLogLevel::WARNING);
}

/// Tells the client, with a detail and a hint where there are such.
pub fn notice_with(message: &str, detail: Option<&str>, hint: Option<&str>) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    let mut report = ErrorReport::new(code, message.to_owned(), "pgboost");
    if let Some(detail) = detail {
        report = report.set_detail(detail);
    }
    if let Some(hint) = hint {
        report = report.set_hint(hint);
    }
    report.report(PgLogLevel::NOTICE);
}

/// Tells the client.
pub fn notice(message: &str) {
    notice_with(message, None, None);
}
