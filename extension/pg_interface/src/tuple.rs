//! Rows: the values of a tuple's columns, composite values, and virtual ones.
//!
//! A [`RowType`] is the descriptor of a composite type, kept from row to row. A virtual row or array was not
//! formed: its values are columns of a row that was read ahead, as in PostgreSQL's virtual tuples.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem;
use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{PgMemoryContexts, PgTupleDesc};

use crate::array::{ArrayValue, ElementType};
use crate::jsonb::ObjectType;
use crate::value::{ScalarType, Value, output_text};
use crate::{catalog, invalidation};

/// A row type, kept from row to row.
pub struct RowType {
    type_oid: Oid,
    type_modifier: i32,
    /// Relations had changed as often as this when the description was looked up.
    looked_up: u64,
    /// It was looked up for a row that was not read yet.
    fresh: bool,
    /// This backend's copy, which is freed when it is dropped.
    description: PgTupleDesc<'static>,
    types: Box<[Option<ScalarType>]>,
    /// Of columns that are arrays, how to read elements.
    elements: Box<[Option<ElementType>]>,
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

/// A composite value.
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

/// A row that was not formed.
#[derive(Clone, Copy)]
pub struct VirtualRow<'a> {
    values: VirtualValues<'a>,
    type_oid: Oid,
}

impl<'a> VirtualRow<'a> {
    /// # Safety
    /// The values are all columns of a row of that type, none of which was dropped.
    #[inline]
    pub unsafe fn new(values: VirtualValues<'a>, type_oid: Oid) -> Self {
        VirtualRow { values, type_oid }
    }

    /// The row's type.
    pub fn type_oid(self) -> Oid {
        self.type_oid
    }

    /// The number of values.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(self) -> usize {
        self.values.len()
    }
}

/// The values of a row, by the descriptor of its type.
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
        Some(unsafe { output_text(datum, attribute.type_oid().value()) })
    }
}

/// A column of a composite type.
pub struct RowColumn {
    /// Its position, from 0.
    pub position: usize,
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_oid: Oid,
    /// How to read values, if they are numbers or texts.
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
            let base = catalog::base_type(attribute.type_oid().value());
            catalog::element_type(base).and_then(ElementType::of)
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
    /// change that arrives meanwhile might never end.
    pub fn read(&mut self, row: RowValue<'_>) -> Option<RowValues<'_>> {
        let fresh = mem::take(&mut self.fresh);
        // SAFETY: the datum is a row; the buffers have room for each column of the description,
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
    pub fn read_virtual<'a>(&'a self, row: VirtualRow<'a>) -> Option<RowValues<'a>> {
        if !self.is_still(row.type_oid, row.values.len()) {
            return None;
        }
        Some(self.described(row.values.as_row()?))
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

/// # Safety
/// The header is that of a composite value.
unsafe fn row_type(header: pg_sys::HeapTupleHeader) -> (Oid, i32) {
    // SAFETY: a row value's header has these fields, other than a stored tuple's.
    unsafe { ((*header).t_choice.t_datum.datum_typeid, (*header).t_choice.t_datum.datum_typmod) }
}

/// One row: `values.len() == nulls.len()`, one of each per column.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    values: &'a [Datum],
    nulls: &'a [bool],
}

impl<'a> Row<'a> {
    /// The row of these values.
    #[inline]
    pub fn new(values: &'a [Datum], nulls: &'a [bool]) -> Self {
        Row { values, nulls }
    }

    /// # Safety
    /// Both are that long and stay as they are for `'a`.
    #[inline]
    pub unsafe fn from_raw(values: *const Datum, nulls: *const bool, len: usize) -> Self {
        if len == 0 {
            return Row { values: &[], nulls: &[] };
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            Row {
                values: std::slice::from_raw_parts(values, len),
                nulls: std::slice::from_raw_parts(nulls, len),
            }
        }
    }

    /// A row of so many columns of it from this one on; none if there are fewer.
    #[inline]
    pub fn part(self, first: usize, len: usize) -> Self {
        let columns = first..first + len;
        Row {
            values: self.values.get(columns.clone()).unwrap_or_default(),
            nulls: self.nulls.get(columns).unwrap_or_default(),
        }
    }

    /// The values of columns of type real one after another from this one on, NaN where one is NULL.
    /// ColumnPositions for which there is no column stay as they are.
    #[inline]
    pub fn read_reals(self, first: usize, reals: &mut [f32]) {
        let values = self.values.get(first..).unwrap_or_default();
        let nulls = self.nulls.get(first..).unwrap_or_default();
        for ((real, value), null) in reals.iter_mut().zip(values).zip(nulls) {
            *real = if *null { f32::NAN } else { f32::from_bits(value.value() as u32) };
        }
    }

    /// The value of a column, counted from 0, or nothing if it is NULL or there is no such column.
    #[inline]
    pub fn get(self, column: usize) -> Option<Datum> {
        match (self.values.get(column), self.nulls.get(column)) {
            (Some(value), Some(false)) => Some(*value),
            _ => None,
        }
    }
}

/// The values of a composite that was not formed: columns of a row that was read ahead.
#[derive(Clone, Copy)]
pub struct VirtualValues<'a> {
    row: Row<'a>,
    /// For each value its position in the row.
    positions: &'a [usize],
    /// The first position, if the others follow it.
    run: Option<usize>,
    object_type: Option<&'a Rc<ObjectType>>,
}

/// Where the values of such a composite are in each row.
pub struct ColumnPositions {
    positions: Vec<usize>,
    run: Option<usize>,
    object_type: Option<Rc<ObjectType>>,
}

impl ColumnPositions {
    /// Values at these positions of a row, which may be an object's.
    pub fn new(positions: Vec<usize>, object_type: Option<ObjectType>) -> ColumnPositions {
        let follows = |pair: &[usize]| matches!(pair, [left, right] if left + 1 == *right);
        let run = positions.first().copied().filter(|_| positions.windows(2).all(follows));
        ColumnPositions { positions, run, object_type: object_type.map(Rc::new) }
    }

    /// All positions.
    pub fn all(&self) -> &[usize] {
        &self.positions
    }

    /// The values in a row.
    #[inline]
    pub fn of<'a>(&'a self, row: Row<'a>) -> VirtualValues<'a> {
        let ColumnPositions { positions, run, object_type } = self;
        VirtualValues { row, positions, run: *run, object_type: object_type.as_ref() }
    }
}

impl<'a> VirtualValues<'a> {
    /// The number of values.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(self) -> usize {
        self.positions.len()
    }

    /// The keys and types, if they are an object's.
    pub fn object_type(self) -> Option<&'a Rc<ObjectType>> {
        self.object_type
    }

    /// A value, or nothing if it is NULL.
    #[inline]
    pub fn get(self, index: usize) -> Option<Datum> {
        self.row.get(*self.positions.get(index)?)
    }

    /// All of them, nothing for a NULL.
    pub fn datums(self) -> impl ExactSizeIterator<Item = Option<Datum>> {
        self.positions.iter().map(move |position| self.row.get(*position))
    }

    /// The values as a row, if they lie one after another.
    #[inline]
    pub fn as_row(self) -> Option<Row<'a>> {
        self.run.map(|first| self.row.part(first, self.positions.len()))
    }
}

/// An array of one dimension that was not formed.
#[derive(Clone, Copy)]
pub struct VirtualArray<'a> {
    values: VirtualValues<'a>,
    element: ElementType,
}

impl<'a> VirtualArray<'a> {
    /// # Safety
    /// The values are of that type, or NULL.
    #[inline]
    pub unsafe fn new(values: VirtualValues<'a>, element: ElementType) -> Self {
        VirtualArray { values, element }
    }

    /// The number of elements.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(self) -> usize {
        self.values.len()
    }

    /// The elements as a row, if they are of type real and lie one after another.
    #[inline]
    pub fn reals(self) -> Option<Row<'a>> {
        self.values.as_row().filter(|_| self.element.oid() == pg_sys::FLOAT4OID)
    }

    /// The elements, nothing for a NULL.
    pub fn values(self) -> impl ExactSizeIterator<Item = Option<Value<'a>>> {
        let scalar_type = self.element.scalar_type();
        // SAFETY: `new` was given the elements' type.
        let value = move |datum| unsafe { Value::new(datum, scalar_type) };
        self.values.datums().map(move |element| element.map(value))
    }
}
