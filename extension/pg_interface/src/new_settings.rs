//! Defines the settings of an extension while its library loads.
//!
//! PostgreSQL 15 keeps all settings in one array, which it sorts for each that a library defines: seven took
//! nine tenths of the instructions of loading pgboost. Its sort begins with a look whether all is in order,
//! which is so after a setting whose name comes last. So settings are defined there by names that come last,
//! one after another, and then get their own and their places, by one sort of two sorted runs.
//!
//! A setting may have a value before its library is loaded, under a placeholder that PostgreSQL replaces and
//! finds by the name: then all are defined by their own names. PostgreSQL 16 keeps settings in a hash table.

use std::ffi::CStr;

use crate::settings::reserve_prefix;

/// What the names of settings are written with. It comes after all letters.
const LAST: &[u8] = b"~";

/// The name by which a setting is to be defined.
pub type Naming = fn(&'static CStr) -> &'static CStr;

/// Defines the settings of a prefix, and makes PostgreSQL refuse others. The closure defines them in the
/// order of their names, which are written with `~` before the prefix.
pub fn define(prefix: &'static CStr, settings: impl FnOnce(Naming)) {
    #[cfg(feature = "pg15")]
    if !sorted::has_any(prefix) {
        settings(|name| name);
        sorted::name_and_sort(prefix);
        return reserve_prefix(prefix);
    }
    settings(own_name);
    reserve_prefix(prefix);
}

fn own_name(written: &'static CStr) -> &'static CStr {
    let own = written.to_bytes_with_nul().strip_prefix(LAST);
    own.and_then(|own| CStr::from_bytes_with_nul(own).ok()).unwrap_or(written)
}

/// PostgreSQL's array of settings, sorted by name.
#[cfg(feature = "pg15")]
mod sorted {
    use std::cmp::Ordering;
    use std::ffi::{CStr, c_char};

    use pgrx::pg_sys::{self, config_generic};

    use super::LAST;

    /// All settings.
    ///
    /// # Safety
    /// None is defined while they are borrowed.
    unsafe fn settings<'a>() -> &'a mut [*mut config_generic] {
        // SAFETY: a backend has one thread; the array has that many elements, each a setting.
        unsafe {
            let count = usize::try_from(pg_sys::GetNumConfigOptions()).unwrap_or(0);
            std::slice::from_raw_parts_mut(pg_sys::get_guc_variables(), count)
        }
    }

    fn name<'a>(setting: *mut config_generic) -> &'a [u8] {
        // SAFETY: a setting of the array, whose name lives as long as it does.
        unsafe { CStr::from_ptr((*setting).name) }.to_bytes()
    }

    fn is_of(name: &[u8], prefix: &CStr) -> bool {
        let (prefix, length) = (prefix.to_bytes(), prefix.count_bytes());
        name.get(length) == Some(&b'.') && name[..length].eq_ignore_ascii_case(prefix)
    }

    pub fn has_any(prefix: &CStr) -> bool {
        // SAFETY: nothing is defined here.
        unsafe { settings() }.iter().any(|setting| is_of(name(*setting), prefix))
    }

    pub fn name_and_sort(prefix: &CStr) {
        // SAFETY: nothing is defined here.
        let settings = unsafe { settings() };
        for setting in &mut *settings {
            let own = name(*setting).strip_prefix(LAST);
            if own.is_some_and(|own| is_of(own, prefix)) {
                // SAFETY: the name goes on after its first bytes. PostgreSQL frees it never, for a
                // setting that a library has defined stays.
                unsafe { (**setting).name = (**setting).name.add(LAST.len()) };
            }
        }
        settings.sort_by(|one, other| compare(name(*one), name(*other)));
    }

    /// By PostgreSQL's own order (guc.c, `guc_name_compare`).
    fn compare(one: &[u8], other: &[u8]) -> Ordering {
        let folded = |byte: &u8| byte.to_ascii_lowercase() as c_char;
        one.iter().map(folded).cmp(other.iter().map(folded))
    }
}
