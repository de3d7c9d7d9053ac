//! The only place that names PostgreSQL's C symbols, and so the only place with `unsafe`.
//!
//! Each file makes one thing of PostgreSQL safe to use for the rest of the extension. Two ways of
//! calling exist. pgrx's bindings turn a PostgreSQL error into a Rust panic, which unwinds and is
//! turned back at the entry point; that costs a `sigsetjmp` a call. The few functions in
//! `unguarded` cannot raise an error and are called directly, because they run for every row.

pub mod arguments;
pub mod arrays;
pub mod batch;
pub mod catalog;
pub mod checked;
pub mod encoding;
pub mod entry;
pub mod expressions;
pub mod identity;
pub mod invalidation;
pub mod jsonb;
pub mod kernel_setting;
mod lists;
pub mod map;
mod numeric;
pub mod paths;
pub mod query;
pub mod report;
pub mod rows;
pub mod scan;
pub mod snapshot;
pub mod transaction;
pub mod types;
mod unguarded;
pub mod values;
mod varlena;

use std::ffi::CStr;

use pgrx::pg_sys;

/// Makes PostgreSQL refuse settings with this prefix that are not defined.
pub fn reserve_setting_prefix(prefix: &'static CStr) {
    // SAFETY: the prefix lives for ever and ends in a NUL; the function is called from _PG_init.
    #[cfg(not(feature = "pg14"))]
    unsafe {
        pg_sys::MarkGUCPrefixReserved(prefix.as_ptr());
    }
    // SAFETY: as above, under the name that it had in PostgreSQL 14.
    #[cfg(feature = "pg14")]
    unsafe {
        pg_sys::EmitWarningsOnPlaceholders(prefix.as_ptr());
    }
}

/// The database that this backend is connected to.
pub fn database() -> u32 {
    // SAFETY: a backend sets this once, before it runs any function.
    unsafe { pg_sys::MyDatabaseId }.to_u32()
}

/// The permissions that PostgreSQL gives files in its data directory.
pub fn file_mode() -> u32 {
    // SAFETY: set once when the postmaster starts.
    unsafe { unguarded::pg_file_create_mode as u32 }
}

/// The permissions that PostgreSQL gives folders in its data directory.
pub fn directory_mode() -> u32 {
    // SAFETY: set once when the postmaster starts.
    unsafe { unguarded::pg_dir_create_mode as u32 }
}
