//! The rows that a caller names by `source`: a table, a view or a query; for training and for evaluation.
//!
//! [`source`] tells a name from a query, finds columns and groups, and runs the query with the caller's
//! rights; [`distribution`] describes features; [`sorter`] sorts in bounded memory; [`names`] has the rules
//! for the names that callers write. It knows nothing of models, and reads PostgreSQL's values by
//! `pg_interface`.

pub mod distribution;
mod error;
pub mod names;
pub mod sorter;
pub mod source;

pub use error::Error as SourceError;
pub use pg_interface::query::{Column, Field, Row};
pub use source::{Groups, PlacedColumn, Source, find, run, run_first, width};
