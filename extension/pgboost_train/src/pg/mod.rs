//! The only place that names PostgreSQL's C symbols, beside the types `Datum` and `Oid`.
//!
//! Each file makes one thing of PostgreSQL safe to use for the rest of the extension. pgrx's bindings
//! turn a PostgreSQL error into a Rust panic, which unwinds, drops what is on the way, and is turned
//! back at the entry point.

pub mod backend;
pub mod spi;
pub mod statement;
pub mod wait;
