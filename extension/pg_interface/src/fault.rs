//! Fault points, at which a test makes its session fail or wait for another session:
//!
//! `SET fault.place = 'load: stored'; SET fault.kind = 'panic';`
//!
//! Only libraries built with the feature `faults` read these settings (`tools/toolchain/build.sh` with
//! PGBOOST_FAULTS=1, which builds in a separate directory). In others, fault points compile to nothing.

/// Does nothing without the feature `faults`.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub fn at(_place: &'static str) {}

/// Fails here, if the session has chosen this place: with an error of the extension's, an error raised
/// in C, or a panic. Or waits here for advisory lock 1.
#[cfg(feature = "faults")]
#[allow(clippy::panic, reason = "it is what a test asks for")]
pub fn at(place: &'static str) {
    use pgrx::PgSqlErrorCode;
    use pgrx::pg_sys::{get_namespace_oid, panic::ErrorReport};

    if setting(c"fault.place") != Some(place) {
        return;
    }
    let message = format!("fault at {place}");
    match setting(c"fault.kind") {
        Some("panic") => panic!("{message}"),
        Some("postgres") => {
            // SAFETY: the name is a C string. There is no such schema, so this raises an error.
            unsafe { get_namespace_oid(c"fault".as_ptr(), false) };
        }
        Some("wait") => wait(),
        _ => crate::report::raise(ErrorReport::new(
            PgSqlErrorCode::ERRCODE_IO_ERROR,
            message,
            "fault",
        )),
    }
}

#[cfg(feature = "faults")]
fn wait() {
    use pgrx::pg_sys::{pg_advisory_lock_int8, pg_advisory_unlock_int8};
    use pgrx::{IntoDatum, direct_function_call};

    let lock = [1i64.into_datum()];
    // SAFETY: both take a bigint.
    unsafe {
        let _ = direct_function_call::<()>(pg_advisory_lock_int8, &lock);
        let _ = direct_function_call::<bool>(pg_advisory_unlock_int8, &lock);
    }
}

#[cfg(feature = "faults")]
fn setting(name: &std::ffi::CStr) -> Option<&'static str> {
    // SAFETY: the name is a C string; the value, if any, does not change before it is compared.
    unsafe {
        let value = pgrx::pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| std::ffi::CStr::from_ptr(value).to_str().ok()).flatten()
    }
}
