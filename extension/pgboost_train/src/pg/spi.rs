//! Queries that only read: under the active snapshot, and without a transaction id.
//!
//! pgrx's `Spi::get_one` connects for writing, which takes a transaction id and fails on a standby; its
//! `select` takes a newer snapshot once the transaction has written.

use std::ffi::{CString, c_char};

use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{FromDatum, IntoDatum, Spi};

pub struct FirstRow {
    tuple: pg_sys::HeapTuple,
    description: pg_sys::TupleDesc,
}

impl FirstRow {
    /// The value of a column, counted from 1; nothing if it is NULL or of another type.
    pub fn get<T: FromDatum + IntoDatum>(&self, column: i32) -> Option<T> {
        let mut null = true;
        // SAFETY: a row is only at hand while SPI is connected; PostgreSQL takes any column number, and
        // the value is of the type that it says. What is made of the value is a copy.
        unsafe {
            let value = pg_sys::SPI_getbinval(self.tuple, self.description, column, &raw mut null);
            let type_oid = pg_sys::SPI_gettypeid(self.description, column);
            T::try_from_datum(value, null, type_oid).ok().flatten()
        }
    }
}

/// Runs the query and calls the closure with its first row, if there is one. PostgreSQL's own errors
/// are raised.
pub fn select<T>(
    query: &str,
    arguments: &[DatumWithOid<'_>],
    read: impl FnOnce(&FirstRow) -> T,
) -> Option<T> {
    let query = CString::new(query).ok()?;
    let mut types: Vec<Oid> = arguments.iter().map(DatumWithOid::oid).collect();
    let value = |argument: &DatumWithOid<'_>| argument.datum().map(|datum| datum.sans_lifetime());
    let mut values: Vec<Datum> =
        arguments.iter().map(|argument| value(argument).unwrap_or(Datum::from(0))).collect();
    let null = |argument| if value(argument).is_some() { b' ' } else { b'n' };
    let nulls: Vec<c_char> = arguments.iter().map(|argument| null(argument) as c_char).collect();
    Spi::connect(|_| {
        // SAFETY: SPI is connected; the arrays have an entry per argument. The result lives until SPI
        // is finished, which is after the closure.
        unsafe {
            let code = pg_sys::SPI_execute_with_args(
                query.as_ptr(),
                i32::try_from(values.len()).unwrap_or(0),
                types.as_mut_ptr(),
                values.as_mut_ptr(),
                nulls.as_ptr(),
                true,
                1,
            );
            let table = pg_sys::SPI_tuptable;
            if code != pg_sys::SPI_OK_SELECT as i32 || pg_sys::SPI_processed == 0 || table.is_null()
            {
                return None;
            }
            let (tuple, description) = (*(*table).vals, (*table).tupdesc);
            Some(read(&FirstRow { tuple, description }))
        }
    })
}
