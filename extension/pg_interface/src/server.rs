//! What the server and the transaction allow: writing, and the permissions of files.

use std::ffi::{CStr, c_int};

use pgrx::pg_sys;

/// Raises unless the transaction may write. `function` is what the user called, for the message.
pub fn require_writable(function: &'static CStr) {
    // SAFETY: the name ends in a NUL.
    unsafe {
        pg_sys::PreventCommandIfReadOnly(function.as_ptr());
        pg_sys::PreventCommandIfParallelMode(function.as_ptr());
    }
}

/// The permissions of files that PostgreSQL makes in its data directory.
pub fn file_mode() -> u32 {
    // SAFETY: set once when the postmaster starts.
    unsafe { pg_file_create_mode.cast_unsigned() }
}

/// The permissions of folders that PostgreSQL makes in its data directory.
pub fn directory_mode() -> u32 {
    // SAFETY: set once when the postmaster starts.
    unsafe { pg_dir_create_mode.cast_unsigned() }
}

// Variables of the server's that pgrx has no names for (file_perm.c).
unsafe extern "C" {
    static pg_file_create_mode: c_int;
    static pg_dir_create_mode: c_int;
}
