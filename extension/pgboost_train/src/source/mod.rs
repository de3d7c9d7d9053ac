//! From rows of a source to records of numbers in a temporary file.
//!
//! The source is read once. libxgboost wants the rows four times and in the same order each time;
//! reading them back costs far less than running the query again, and a query that returns
//! other rows the second time does no harm. A record is four bytes per value, and lies on disk, not in
//! memory.

pub(crate) mod columns;
pub(crate) mod dictionary;
pub(crate) mod record_file;
