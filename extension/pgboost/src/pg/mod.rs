//! Bindings of PostgreSQL's C interface: each file makes one thing of it safe to use for the rest of
//! the extension, and uses nothing of the extension but its errors.
//!
//! Two ways of calling exist. pgrx's bindings turn a PostgreSQL error into a Rust panic, which unwinds
//! and is turned back at the entry point; that costs a `sigsetjmp` per call. What is in
//! `pg_interface::unguarded` cannot raise an error, and what is in `unguarded_exec` is called from frames that an error may jump
//! over: both are called directly, because they run for every row.

pub mod aggregate;
pub mod arguments;
pub mod arrays;
pub mod call_state;
pub mod catalog;
pub mod encoding;
pub mod expr;
pub mod identity;
pub mod json_keys;
pub mod jsonb;
pub mod large;
pub mod lists;
pub mod lock;
pub mod number_arrays;
pub mod parts;
pub mod rows;
pub mod scan;
pub mod signature;
pub mod stored;
pub mod transaction;
pub mod unguarded_exec;

pub use pg_interface::{invalidation, snapshot};
