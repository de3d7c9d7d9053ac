//! What both extensions need of PostgreSQL, made safe to use: types, values, rows, errors, settings.
//!
//! It declares no SQL and defines no setting. A [`Value`] is made only by `unsafe` code, which vouches
//! for its type; everything that reads one is safe. pgrx's bindings turn an error of PostgreSQL's into
//! a Rust panic, which unwinds to the entry point, drops what is on the way, and is turned back there.

#![allow(unsafe_code, reason = "PostgreSQL's C interface")]

pub mod array;
pub mod catalog;
pub mod elements;
mod error_table;
pub mod fault;
pub mod invalidation;
pub mod model_name;
pub mod nearest;
mod numeric;
pub mod output;
pub mod profile;
pub mod report;
mod row;
mod scalar_type;
pub mod server;
pub mod settings;
pub mod snapshot;
pub mod sorter;
pub mod source;
mod sqlstate;
pub mod temporary;
pub mod types;
pub mod unguarded;
mod value;
pub mod varlena;

pub use error_table::Report;
pub use pgrx::pg_sys::panic::ErrorReport;
pub use row::Row;
pub use scalar_type::{NumberType, ScalarType, TextType};
pub use sqlstate::*;
pub use value::{Exact, Number, Text, Value};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("values of eight bytes are read as PostgreSQL passes them on 64-bit machines");

#[cfg(panic = "abort")]
compile_error!("errors unwind to the entry point: build with panic = \"unwind\"");
