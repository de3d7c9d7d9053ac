//! Runs the unit tests of what in `pg/` reads PostgreSQL's formats without calling PostgreSQL.
//!
//! A test of the extension itself would need the server's symbols; such a file is compiled into this
//! test by its path.

#[path = "../src/pg/numeric.rs"]
mod numeric;
