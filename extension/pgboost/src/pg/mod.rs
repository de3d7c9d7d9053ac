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
pub mod jsonb;
pub mod kernel_setting;
mod lists;
pub mod map;
pub mod paths;
pub mod query;
pub mod rows;
pub mod scan;
pub mod transaction;
mod unguarded;
pub mod values;

pub use pg_interface::{invalidation, snapshot};
use pgrx::pg_sys;

/// The database that this backend is connected to.
pub fn database() -> u32 {
    // SAFETY: a backend sets this once, before it runs any function.
    unsafe { pg_sys::MyDatabaseId }.to_u32()
}
