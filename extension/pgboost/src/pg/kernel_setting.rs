//! The setting that chooses the engine's kernel, and PostgreSQL's hooks for it.
//!
//! The check hook refuses a kernel that the processor lacks. PostgreSQL makes an error of that for
//! SET, and a warning where the value comes from a configuration file, a role or a database, so that
//! no connection fails for it. The assign hook tells every value, also those that a rollback brings
//! back.

use std::ffi::{CStr, CString, c_char, c_void};

use pgrx::guc::GucEnum;
use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_guard, pg_sys};

use crate::error::Error;
use crate::settings::{self, KernelChoice};

/// Makes the setting known to PostgreSQL.
pub fn define(
    name: &'static CStr,
    description: &'static CStr,
    more: &'static CStr,
    setting: &'static GucSetting<KernelChoice>,
) {
    // SAFETY: the hooks are functions of this library, which is never unloaded; the one that could
    // raise an error is guarded.
    unsafe {
        GucRegistry::define_enum_guc_with_hooks(
            name,
            description,
            more,
            setting,
            GucContext::Userset,
            GucFlags::default(),
            Some(check),
            Some(assign),
            None,
        );
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn check(
    value: *mut i32,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    // SAFETY: PostgreSQL passes one of the values that were defined.
    let choice = KernelChoice::from_ordinal(unsafe { *value });
    settings::check_kernel(choice).map_err(refuse).is_ok()
}

unsafe extern "C-unwind" fn assign(value: i32, _extra: *mut c_void) {
    settings::choose_kernel(value);
}

/// Leaves the error's texts where PostgreSQL reports a refused value from.
fn refuse(error: Error) {
    let detail = error.detail().map_or(std::ptr::null_mut(), copied);
    let hint = error.hint().map_or(std::ptr::null_mut(), |hint| copied(hint.to_owned()));
    // SAFETY: variables of the backend, which a check hook may set.
    unsafe {
        pg_sys::GUC_check_errcode(error.sqlstate().packed());
        pg_sys::GUC_check_errmsg_string = copied(error.message());
        pg_sys::GUC_check_errdetail_string = detail;
        pg_sys::GUC_check_errhint_string = hint;
    }
}

/// A copy of a text in PostgreSQL's memory.
fn copied(text: String) -> *mut c_char {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: the text ends in a NUL.
    unsafe { pg_sys::pstrdup(text.as_ptr()) }
}
