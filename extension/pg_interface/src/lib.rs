//! A safe interface to PostgreSQL for the extensions.
//!
//! Modules follow PostgreSQL's subjects:
//!
//! - values: [`value`], `numeric`, [`varlena`], [`array`](mod@array), [`jsonb`],
//!   [`tuple`](mod@tuple), [`stored_row`], [`virtual_object`]
//! - calls: [`call`], [`row_trigger`], [`signature`]
//! - the planner's trees: [`nodes`], [`dependency`], [`plan_memory`]
//! - catalogs and tables: [`catalog`], [`scan`], [`query`], [`invalidation`]
//! - the session: [`session`], [`transaction`], [`temporary_file`]
//! - errors: [`report`], [`fault`], and running out of memory: `reserve`
//!
//! The crate declares no SQL, defines no setting, and is independent of models. Only `unsafe` code
//! creates a [`Value`] and guarantees its type; reading it is safe. pgrx's bindings turn
//! an error of PostgreSQL's into a panic, which unwinds to the entry point, drops values on the way,
//! and is turned back there. [`unguarded`] has the functions that run for every row.

#![allow(unsafe_code, reason = "PostgreSQL's C interface")]

pub mod array;
pub mod call;
pub mod catalog;
pub mod dependency;
pub mod fault;
pub mod grants;
pub mod invalidation;
pub mod jsonb;
pub mod nodes;
mod numeric;
pub mod plan_memory;
pub mod query;
pub mod report;
mod reserve;
pub mod row_trigger;
pub mod scan;
pub mod session;
pub mod signature;
pub mod stored_row;
pub mod temporary_file;
pub mod transaction;
pub mod tuple;
pub mod unguarded;
pub mod value;
pub mod varlena;
pub mod virtual_object;

pub use pgrx::pg_sys::panic::ErrorReport;
pub use pgrx::pg_sys::{Datum, FunctionCallInfo, Oid};

pub use report::Report;
pub use report::sqlstate::*;
pub use tuple::Row;
pub use value::{Exact, Number, NumberType, ScalarType, Text, TextType, Value, float_text};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("values of eight bytes are read as PostgreSQL passes them on 64-bit machines");

#[cfg(panic = "abort")]
compile_error!("errors unwind to the entry point: build with panic = \"unwind\"");
