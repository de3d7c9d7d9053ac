//! Where a function's rows come from: a table, a view or a query that its caller names.
//!
//! `argument` tells a name from a query, `query` runs it with the caller's rights, `columns` finds the
//! columns in use, `keys` those of primary keys, and `groups` sees to it that the rows of a group follow one another.

mod argument;
mod columns;
mod error;
mod first_word;
mod groups;
mod keys;
pub mod query;

pub use argument::Source;
pub use columns::{PlacedColumn, find, width};
pub use error::Error as SourceError;
pub use groups::Groups;
pub use query::{Column, Field, Row};
