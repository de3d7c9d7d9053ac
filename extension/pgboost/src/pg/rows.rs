//! Rows as arguments: composite values, their columns by name, and their values.

use std::ffi::CStr;

use pg_interface::Row;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{PgMemoryContexts, PgTupleDesc};

use super::invalidation;

/// A row type, kept from row to row.
pub struct RowType {
    type_oid: Oid,
    type_modifier: i32,
    /// Relations had changed as often as this when the description was looked up.
    looked_up: u64,
    /// A copy of this backend's own, which is freed when it is dropped.
    description: PgTupleDesc<'static>,
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
    /// The type of a row value. Its description lies where only its end frees it. As in `values`, the
    /// datum is a row because the statement says so.
    pub fn of(datum: Datum) -> RowType {
        let looked_up = invalidation::relations();
        // SAFETY: the datum is a row, and a row names its own type; the topmost context is as old as
        // the backend.
        let (type_oid, type_modifier, description) = unsafe {
            let (type_oid, type_modifier) = row_type(header(datum));
            let copy = PgMemoryContexts::TopMemoryContext
                .switch_to(|_| pg_sys::lookup_rowtype_tupdesc_copy(type_oid, type_modifier));
            (type_oid, type_modifier, PgTupleDesc::from_pg_is_copy(copy))
        };
        let columns = description.len();
        RowType {
            type_oid,
            type_modifier,
            looked_up,
            description,
            values: vec![Datum::from(0); columns],
            nulls: vec![true; columns],
        }
    }

    /// The columns that exist; dropped ones are left out.
    pub fn columns(&self) -> Vec<RowColumn> {
        self.description
            .iter()
            .enumerate()
            .filter(|(_, attribute)| !attribute.is_dropped())
            .map(|(position, attribute)| RowColumn {
                position,
                name: name_of(attribute),
                type_oid: attribute.type_oid().value(),
            })
            .collect()
    }

    /// Takes a row apart, if it is of this type and the type cannot have changed meanwhile: a
    /// running statement does not keep others from altering a composite type.
    pub fn read(&mut self, datum: Datum) -> Option<Row<'_>> {
        // SAFETY: the datum is a row; the buffers have a place for each column of the description,
        // and the row has that description, since it has that type and no relation has changed.
        unsafe {
            let header = header(datum);
            let same_type = row_type(header) == (self.type_oid, self.type_modifier);
            if !same_type || self.looked_up != invalidation::relations() {
                return None;
            }
            let mut tuple = pg_sys::HeapTupleData {
                t_len: pgrx::varsize_4b(header.cast()) as u32,
                t_data: header,
                ..Default::default()
            };
            pg_sys::heap_deform_tuple(
                &mut tuple,
                self.description.as_ptr(),
                self.values.as_mut_ptr(),
                self.nulls.as_mut_ptr(),
            );
        }
        Some(Row::new(&self.values, &self.nulls))
    }
}

/// The name of a column. pgrx's own way of reading it fails where the database's encoding is not
/// UTF-8.
fn name_of(attribute: &pg_sys::FormData_pg_attribute) -> String {
    // SAFETY: a name is an array of bytes that ends in a NUL.
    unsafe { CStr::from_ptr(attribute.attname.data.as_ptr()) }.to_string_lossy().into_owned()
}

unsafe fn header(datum: Datum) -> pg_sys::HeapTupleHeader {
    // SAFETY: a row is a varlena; detoasting gives back a plain one as it is.
    unsafe { pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast() }
}

unsafe fn row_type(header: pg_sys::HeapTupleHeader) -> (Oid, i32) {
    // SAFETY: a row value's header has these fields, other than a stored tuple's.
    unsafe { ((*header).t_choice.t_datum.datum_typeid, (*header).t_choice.t_datum.datum_typmod) }
}
