//! Rows as arguments: composite values, their columns by name, and their values.

use std::ffi::CStr;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, Oid};

use super::arguments::Arguments;

/// The columns of a row type, kept for as long as a statement runs.
pub struct RowType {
    type_oid: Oid,
    type_modifier: i32,
    descriptor: pg_sys::TupleDesc,
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

/// A column of a row type.
pub struct RowColumn {
    /// Its position, from 0.
    pub position: usize,
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_oid: Oid,
}

impl RowType {
    /// The type of a row value; its description is kept as long as the statement's state. As in
    /// `values`, the datum is a row because the statement says so.
    pub fn of(datum: Datum, arguments: Arguments) -> RowType {
        let context = arguments.statement_context();
        // SAFETY: the datum is a row, and a row names its own type; the context is valid and
        // outlives what is kept in the statement's state.
        unsafe {
            let (type_oid, type_modifier) = row_type(header(datum));
            let descriptor = PgMemoryContexts::For(context)
                .switch_to(|_| pg_sys::lookup_rowtype_tupdesc_copy(type_oid, type_modifier));
            let columns = usize::try_from((*descriptor).natts).unwrap_or(0);
            RowType {
                type_oid,
                type_modifier,
                descriptor,
                values: vec![Datum::from(0); columns],
                nulls: vec![true; columns],
            }
        }
    }

    /// The columns that exist; dropped ones are left out.
    pub fn columns(&self) -> Vec<RowColumn> {
        (0..self.values.len())
            .filter_map(|position| {
                // SAFETY: the description has that many attributes and lives as long as `self`.
                unsafe {
                    let attribute = attribute_at(self.descriptor, position);
                    let exists = !(*attribute).attisdropped;
                    exists.then(|| RowColumn {
                        position,
                        name: CStr::from_ptr((*attribute).attname.data.as_ptr())
                            .to_string_lossy()
                            .into_owned(),
                        type_oid: (*attribute).atttypid,
                    })
                }
            })
            .collect()
    }

    /// Takes a row apart, if it is of this type.
    pub fn read(&mut self, datum: Datum) -> Option<Values<'_>> {
        // SAFETY: the datum is a row; the buffers have a place for each column of
        // the description, and the row has that description since it has that type.
        unsafe {
            let header = header(datum);
            if row_type(header) != (self.type_oid, self.type_modifier) {
                return None;
            }
            let mut tuple = pg_sys::HeapTupleData {
                t_len: pgrx::varsize_4b(header.cast()) as u32,
                t_data: header,
                ..Default::default()
            };
            pg_sys::heap_deform_tuple(
                &mut tuple,
                self.descriptor,
                self.values.as_mut_ptr(),
                self.nulls.as_mut_ptr(),
            );
        }
        Some(Values { values: &self.values, nulls: &self.nulls })
    }
}

/// The values of one row.
pub struct Values<'a> {
    values: &'a [Datum],
    nulls: &'a [bool],
}

impl Values<'_> {
    /// The value of a column, or nothing if it is NULL.
    #[inline]
    pub fn get(&self, position: usize) -> Option<Datum> {
        match (self.values.get(position), self.nulls.get(position)) {
            (Some(value), Some(false)) => Some(*value),
            _ => None,
        }
    }
}

unsafe fn header(datum: Datum) -> pg_sys::HeapTupleHeader {
    // SAFETY: a row is a varlena; detoasting gives back a plain one as it is.
    unsafe { pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast() }
}

unsafe fn row_type(header: pg_sys::HeapTupleHeader) -> (Oid, i32) {
    // SAFETY: a row value's header has these fields, other than a stored tuple's.
    unsafe { ((*header).t_choice.t_datum.datum_typeid, (*header).t_choice.t_datum.datum_typmod) }
}

/// # Safety
/// The description has an attribute at that position.
unsafe fn attribute_at(
    descriptor: pg_sys::TupleDesc,
    position: usize,
) -> pg_sys::Form_pg_attribute {
    // SAFETY: the caller says so.
    #[cfg(not(feature = "pg18"))]
    unsafe {
        (*descriptor).attrs.as_mut_ptr().add(position)
    }
    // SAFETY: the caller says so; from PostgreSQL 18 the full attributes follow the compact ones.
    #[cfg(feature = "pg18")]
    unsafe {
        pg_sys::TupleDescAttr(descriptor, position as i32)
    }
}
