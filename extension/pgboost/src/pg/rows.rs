//! Rows as arguments: composite values, their columns by name, and their values.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem;

use pg_interface::array::{ArrayValue, ElementType};
use pg_interface::{Row, ScalarType, Value, output, types};
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{PgMemoryContexts, PgTupleDesc};

use super::invalidation;
use super::parts::Parts;

/// A row type, kept from row to row.
pub struct RowType {
    type_oid: Oid,
    type_modifier: i32,
    /// Relations had changed as often as this when the description was looked up.
    looked_up: u64,
    /// It was looked up for a row that was not read yet.
    fresh: bool,
    /// A copy of this backend's own, which is freed when it is dropped.
    description: PgTupleDesc<'static>,
    types: Box<[Option<ScalarType>]>,
    /// Of columns that are arrays, how to read elements.
    elements: Box<[Option<ElementType>]>,
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

#[derive(Clone, Copy)]
pub struct RowValue<'a> {
    header: pg_sys::HeapTupleHeader,
    lives: PhantomData<&'a ()>,
}

impl RowValue<'_> {
    /// # Safety
    /// The datum is a row and, like what it is detoasted to, valid for `'a`.
    #[inline]
    pub unsafe fn new(datum: Datum) -> Self {
        // SAFETY: a row is a varlena; detoasting gives back a plain one as it is.
        let header = unsafe { pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast() };
        RowValue { header, lives: PhantomData }
    }
}

/// The columns of a row that was not formed.
#[derive(Clone, Copy)]
pub struct RowParts<'a> {
    parts: Parts<'a>,
    type_oid: Oid,
}

impl<'a> RowParts<'a> {
    /// # Safety
    /// The parts are all columns of a row of that type, none of which was dropped.
    #[inline]
    pub unsafe fn new(parts: Parts<'a>, type_oid: Oid) -> Self {
        RowParts { parts, type_oid }
    }

    pub fn type_oid(self) -> Oid {
        self.type_oid
    }

    pub fn len(self) -> usize {
        self.parts.len()
    }
}

pub struct RowValues<'a> {
    row: Row<'a>,
    description: &'a PgTupleDesc<'static>,
    types: &'a [Option<ScalarType>],
    elements: &'a [Option<ElementType>],
}

impl<'a> RowValues<'a> {
    /// The values of columns of type real one after another from this one on, NaN where one is NULL.
    #[inline]
    pub fn read_reals(&self, first: usize, reals: &mut [f32]) {
        self.row.read_reals(first, reals);
    }

    /// The value of a column, or nothing if it is NULL, or of a type that cannot be read.
    #[inline]
    pub fn get(&self, position: usize) -> Option<Value<'a>> {
        let datum = self.row.get(position)?;
        let scalar_type = (*self.types.get(position)?)?;
        // SAFETY: the row was taken apart by the description that says so.
        Some(unsafe { Value::new(datum, scalar_type) })
    }

    /// The array of a column, or nothing if it is NULL, or of another type.
    pub fn array(&self, position: usize) -> Option<ArrayValue<'a>> {
        let datum = self.row.get(position)?;
        let element = (*self.elements.get(position)?)?;
        // SAFETY: as above.
        Some(unsafe { ArrayValue::new(datum, element) })
    }

    /// The value of a column as its type writes it, or nothing if it is NULL.
    pub fn text(&self, position: usize) -> Option<Vec<u8>> {
        let (datum, attribute) = (self.row.get(position)?, self.description.get(position)?);
        // SAFETY: as above.
        Some(unsafe { output::text_of(datum, attribute.type_oid().value()) })
    }
}

pub struct RowColumn {
    /// Its position, from 0.
    pub position: usize,
    pub name: String,
    pub type_oid: Oid,
    pub scalar_type: Option<ScalarType>,
    /// How to read elements, if it is an array.
    pub element: Option<ElementType>,
}

impl RowType {
    /// The type of a row value, which is read next. Its description lies where only its end frees it.
    pub fn of(row: RowValue<'_>) -> RowType {
        // SAFETY: the datum is a row, and a row names its own type.
        let (type_oid, type_modifier) = unsafe { row_type(row.header) };
        RowType { fresh: true, ..RowType::new(type_oid, type_modifier) }
    }

    /// The type of a table's rows.
    pub fn named(type_oid: Oid) -> RowType {
        RowType::new(type_oid, -1)
    }

    /// Whether this is that type, has so many columns, and cannot have changed meanwhile.
    #[inline]
    pub fn is_still(&self, type_oid: Oid, columns: usize) -> bool {
        (self.type_oid, self.types.len()) == (type_oid, columns)
            && self.looked_up == invalidation::relations()
    }

    fn new(type_oid: Oid, type_modifier: i32) -> RowType {
        let looked_up = invalidation::relations();
        // SAFETY: the type is a row's; the topmost context is as old as the backend.
        let description = unsafe {
            let copy = PgMemoryContexts::TopMemoryContext
                .switch_to(|_| pg_sys::lookup_rowtype_tupdesc_copy(type_oid, type_modifier));
            PgTupleDesc::from_pg_is_copy(copy)
        };
        let columns = description.len();
        let scalar_type = |attribute: &pg_sys::FormData_pg_attribute| {
            if attribute.is_dropped() { None } else { ScalarType::of(attribute.type_oid().value()) }
        };
        let element = |attribute: &pg_sys::FormData_pg_attribute| {
            if attribute.is_dropped() || scalar_type(attribute).is_some() {
                return None;
            }
            let base = types::base_type(attribute.type_oid().value());
            types::element_type(base).and_then(ElementType::of)
        };
        RowType {
            type_oid,
            type_modifier,
            looked_up,
            fresh: false,
            types: description.iter().map(scalar_type).collect(),
            elements: description.iter().map(element).collect(),
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
                scalar_type: self.types.get(position).copied().flatten(),
                element: self.elements.get(position).copied().flatten(),
            })
            .collect()
    }

    /// Takes a row apart, if it is of this type and the type cannot have changed meanwhile: a
    /// running statement does not keep others from altering a composite type.
    ///
    /// The row for which the type was looked up is read in any case: whoever looked it up again after each
    /// change that is heard of meanwhile might never end.
    pub fn read(&mut self, row: RowValue<'_>) -> Option<RowValues<'_>> {
        let fresh = mem::take(&mut self.fresh);
        // SAFETY: the datum is a row; the buffers have a place for each column of the description,
        // and the row has that description, since it has that type, which was looked up for this
        // row or at a time since which no relation has changed.
        unsafe {
            let same_type = row_type(row.header) == (self.type_oid, self.type_modifier);
            if !same_type || !fresh && self.looked_up != invalidation::relations() {
                return None;
            }
            let mut tuple = pg_sys::HeapTupleData {
                t_len: pgrx::varsize_4b(row.header.cast()) as u32,
                t_data: row.header,
                ..Default::default()
            };
            pg_sys::heap_deform_tuple(
                &mut tuple,
                self.description.as_ptr(),
                self.values.as_mut_ptr(),
                self.nulls.as_mut_ptr(),
            );
        }
        Some(self.described(Row::new(&self.values, &self.nulls)))
    }

    /// The columns of a row that was not formed, as for [`RowType::read`].
    #[inline]
    pub fn read_parts<'a>(&'a self, row: RowParts<'a>) -> Option<RowValues<'a>> {
        if !self.is_still(row.type_oid, row.parts.len()) {
            return None;
        }
        Some(self.described(row.parts.as_row()?))
    }

    #[inline]
    fn described<'a>(&'a self, row: Row<'a>) -> RowValues<'a> {
        let RowType { description, types, elements, .. } = self;
        RowValues { row, description, types, elements }
    }
}

/// The name of a column. pgrx's own way of reading it fails where the database's encoding is not
/// UTF-8.
fn name_of(attribute: &pg_sys::FormData_pg_attribute) -> String {
    // SAFETY: a name is an array of bytes that ends in a NUL.
    unsafe { CStr::from_ptr(attribute.attname.data.as_ptr()) }.to_string_lossy().into_owned()
}

unsafe fn row_type(header: pg_sys::HeapTupleHeader) -> (Oid, i32) {
    // SAFETY: a row value's header has these fields, other than a stored tuple's.
    unsafe { ((*header).t_choice.t_datum.datum_typeid, (*header).t_choice.t_datum.datum_typmod) }
}
