//! The rows of a `source` argument, a table, view or query, for training and evaluation.
//!
//! [`source`] distinguishes names from queries, resolves columns and groups, and runs the query with
//! the caller's privileges; [`distribution`] describes features; [`sorter`] sorts in bounded memory, and
//! [`spool`] keeps what is read again; [`random`] draws and shuffles; [`names`] has the rules for names in
//! arguments. The crate is independent of models, and reads values
//! through `pg_interface`.

pub mod distribution;
mod error;
pub mod names;
pub mod random;
pub mod sorter;
pub mod source;
pub mod spool;

pub use error::Error as SourceError;
pub use pg_interface::query::{Column, Field, Row};
pub use source::{Groups, PlacedColumn, Source, find, run, run_first, width};
