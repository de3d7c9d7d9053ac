//! Rows: values of a tuple's columns, composite values, and virtual ones.
//!
//! A [`RowType`] is the cached descriptor of a composite type. Virtual rows and arrays are not formed:
//! their values are columns of a row read ahead, as in PostgreSQL's virtual tuples.

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

/// The descriptor of a composite type, cached across rows.
pub struct RowType {
    type_oid: Oid,
    type_modifier: i32,
    /// Value of [`invalidation::relations`] at the lookup.
    looked_up: u64,
    /// Whether it was looked up for a row not read yet.
    fresh: bool,
    /// A copy of the descriptor owned by this backend, freed on drop.
    description: PgTupleDesc<'static>,
    types: Box<[Option<ScalarType>]>,
    /// Element types of array columns.
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
    /// `datum` is a row; it and its detoasted form are valid for `'a`.
    #[inline]
    pub unsafe fn new(datum: Datum) -> Self {
        // SAFETY: a row is a varlena; detoasting returns a plain one unchanged.
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
    /// `values` are all columns of a row of the type, which has no dropped columns.
    #[inline]
    pub unsafe fn new(values: VirtualValues<'a>, type_oid: Oid) -> Self {
        VirtualRow { values, type_oid }
    }

    /// Returns the row's type.
    pub fn type_oid(self) -> Oid {
        self.type_oid
    }

    /// Returns the number of values.
    #[allow(clippy::len_without_is_empty, reason = "unused")]
    pub fn len(self) -> usize {
        self.values.len()
    }
}

/// The values of a row, typed by its descriptor.
pub struct RowValues<'a> {
    row: Row<'a>,
    description: &'a PgTupleDesc<'static>,
    types: &'a [Option<ScalarType>],
    elements: &'a [Option<ElementType>],
}

impl<'a> RowValues<'a> {
    /// Reads consecutive real columns from `first` on; NaN for NULL.
    #[inline]
    pub fn read_reals(&self, first: usize, reals: &mut [f32]) {
        self.row.read_reals(first, reals);
    }

    /// Returns a column's value; `None` if it is NULL or of an unreadable type.
    #[inline]
    pub fn get(&self, position: usize) -> Option<Value<'a>> {
        let datum = self.row.get(position)?;
        let scalar_type = (*self.types.get(position)?)?;
        // SAFETY: the row was deformed by the descriptor that has this type.
        Some(unsafe { Value::new(datum, scalar_type) })
    }

    /// Returns a column's array; `None` if it is NULL or of another type.
    pub fn array(&self, position: usize) -> Option<ArrayValue<'a>> {
        let datum = self.row.get(position)?;
        let element = (*self.elements.get(position)?)?;
        // SAFETY: as above.
        Some(unsafe { ArrayValue::new(datum, element) })
    }

    /// Returns a column's value in text form; `None` for NULL.
    pub fn text(&self, position: usize) -> Option<Vec<u8>> {
        let (datum, attribute) = (self.row.get(position)?, self.description.get(position)?);
        // SAFETY: as above.
        Some(unsafe { output_text(datum, attribute.type_oid().value()) })
    }
}

/// A column of a composite type.
pub struct RowColumn {
    /// Zero-based position.
    pub position: usize,
    /// Its name.
    pub name: String,
    /// The column's type.
    pub type_oid: Oid,
    /// The type of values, if they are numbers or text.
    pub scalar_type: Option<ScalarType>,
    /// The type of elements, if it is an array.
    pub element: Option<ElementType>,
}

impl RowType {
    /// Looks up the type of a row value that is read next. The descriptor must be freed by drop.
    pub fn of(row: RowValue<'_>) -> RowType {
        // SAFETY: the datum is a row, which contains its type.
        let (type_oid, type_modifier) = unsafe { row_type(row.header) };
        RowType { fresh: true, ..RowType::new(type_oid, type_modifier) }
    }

    /// Looks up the type of a table's rows.
    pub fn named(type_oid: Oid) -> RowType {
        RowType::new(type_oid, -1)
    }

    /// Returns whether this is the type, with `columns` columns, and certainly unchanged.
    #[inline]
    pub fn is_still(&self, type_oid: Oid, columns: usize) -> bool {
        (self.type_oid, self.types.len()) == (type_oid, columns)
            && self.looked_up == invalidation::relations()
    }

    fn new(type_oid: Oid, type_modifier: i32) -> RowType {
        let looked_up = invalidation::relations();
        // SAFETY: the type is composite; the topmost context lives as long as the backend.
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

    /// Returns the columns, without dropped ones.
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

    /// Deforms a row, if it is of this type and the type has certainly not changed: a running statement
    /// does not prevent others from altering a composite type.
    ///
    /// The row for which the type was looked up is read in any case; a lookup repeated after each
    /// change might never end.
    pub fn read(&mut self, row: RowValue<'_>) -> Option<RowValues<'_>> {
        let fresh = mem::take(&mut self.fresh);
        // SAFETY: the datum is a row, the buffers have room for each column of the descriptor, and the
        // row has that descriptor, since its type was looked up for this row or no relation has changed
        // since.
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

    /// Returns the columns of a row that was not formed; see [`RowType::read`].
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

/// Returns a column's name; pgrx's accessor fails in databases whose encoding is not UTF-8.
pub(crate) fn name_of(attribute: &pg_sys::FormData_pg_attribute) -> String {
    // SAFETY: a name is a zero-terminated array.
    unsafe { CStr::from_ptr(attribute.attname.data.as_ptr()) }.to_string_lossy().into_owned()
}

/// # Safety
/// `header` is a composite value's.
unsafe fn row_type(header: pg_sys::HeapTupleHeader) -> (Oid, i32) {
    // SAFETY: a composite value's header has these fields, unlike a stored tuple's.
    unsafe { ((*header).t_choice.t_datum.datum_typeid, (*header).t_choice.t_datum.datum_typmod) }
}

/// A row: `values.len() == nulls.len()`, one of each per column.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    values: &'a [Datum],
    nulls: &'a [bool],
}

impl<'a> Row<'a> {
    /// Creates a row of values.
    #[inline]
    pub fn new(values: &'a [Datum], nulls: &'a [bool]) -> Self {
        Row { values, nulls }
    }

    /// # Safety
    /// Both arrays have `len` elements and are unchanged during `'a`.
    #[inline]
    pub unsafe fn from_raw(values: *const Datum, nulls: *const bool, len: usize) -> Self {
        if len == 0 {
            return Row { values: &[], nulls: &[] };
        }
        // SAFETY: the caller passes arrays of `len` elements.
        unsafe {
            Row {
                values: std::slice::from_raw_parts(values, len),
                nulls: std::slice::from_raw_parts(nulls, len),
            }
        }
    }

    /// Returns `len` columns from `first` on; empty if there are fewer.
    #[inline]
    pub fn part(self, first: usize, len: usize) -> Self {
        let columns = first..first + len;
        Row {
            values: self.values.get(columns.clone()).unwrap_or_default(),
            nulls: self.nulls.get(columns).unwrap_or_default(),
        }
    }

    /// Reads consecutive real columns from `first` on; NaN for NULL. Missing columns leave their
    /// elements unchanged.
    #[inline]
    pub fn read_reals(self, first: usize, reals: &mut [f32]) {
        let values = self.values.get(first..).unwrap_or_default();
        let nulls = self.nulls.get(first..).unwrap_or_default();
        for ((real, value), null) in reals.iter_mut().zip(values).zip(nulls) {
            *real = if *null { f32::NAN } else { f32::from_bits(value.value() as u32) };
        }
    }

    /// Returns a column's value; `None` if it is NULL or does not exist.
    #[inline]
    pub fn get(self, column: usize) -> Option<Datum> {
        match (self.values.get(column), self.nulls.get(column)) {
            (Some(value), Some(false)) => Some(*value),
            _ => None,
        }
    }
}

/// The values of a composite that was not formed: columns of a row read ahead.
#[derive(Clone, Copy)]
pub struct VirtualValues<'a> {
    row: Row<'a>,
    /// Position in the row, by value.
    positions: &'a [usize],
    /// The first position, if all are consecutive.
    run: Option<usize>,
    object_type: Option<&'a Rc<ObjectType>>,
}

/// The positions of a composite's values in each row.
pub struct ColumnPositions {
    positions: Vec<usize>,
    run: Option<usize>,
    object_type: Option<Rc<ObjectType>>,
}

impl ColumnPositions {
    /// Creates the positions of values, which may be a jsonb object's.
    pub fn new(positions: Vec<usize>, object_type: Option<ObjectType>) -> ColumnPositions {
        let follows = |pair: &[usize]| matches!(pair, [left, right] if left + 1 == *right);
        let run = positions.first().copied().filter(|_| positions.windows(2).all(follows));
        ColumnPositions { positions, run, object_type: object_type.map(Rc::new) }
    }

    /// Returns all positions.
    pub fn all(&self) -> &[usize] {
        &self.positions
    }

    /// Returns the values in a row.
    #[inline]
    pub fn of<'a>(&'a self, row: Row<'a>) -> VirtualValues<'a> {
        let ColumnPositions { positions, run, object_type } = self;
        VirtualValues { row, positions, run: *run, object_type: object_type.as_ref() }
    }
}

impl<'a> VirtualValues<'a> {
    /// Returns the number of values.
    #[allow(clippy::len_without_is_empty, reason = "unused")]
    pub fn len(self) -> usize {
        self.positions.len()
    }

    /// Returns the keys and types, if the values are a jsonb object's.
    pub fn object_type(self) -> Option<&'a Rc<ObjectType>> {
        self.object_type
    }

    /// Returns a value; `None` for NULL.
    #[inline]
    pub fn get(self, index: usize) -> Option<Datum> {
        self.row.get(*self.positions.get(index)?)
    }

    /// Returns all values; `None` for NULL.
    pub fn datums(self) -> impl ExactSizeIterator<Item = Option<Datum>> {
        self.positions.iter().map(move |position| self.row.get(*position))
    }

    /// Returns the values as a row, if they are consecutive.
    #[inline]
    pub fn as_row(self) -> Option<Row<'a>> {
        self.run.map(|first| self.row.part(first, self.positions.len()))
    }
}

/// A one-dimensional array that was not formed.
#[derive(Clone, Copy)]
pub struct VirtualArray<'a> {
    values: VirtualValues<'a>,
    element: ElementType,
}

impl<'a> VirtualArray<'a> {
    /// # Safety
    /// Values are of the element type, or NULL.
    #[inline]
    pub unsafe fn new(values: VirtualValues<'a>, element: ElementType) -> Self {
        VirtualArray { values, element }
    }

    /// Returns the number of elements.
    #[allow(clippy::len_without_is_empty, reason = "unused")]
    pub fn len(self) -> usize {
        self.values.len()
    }

    /// Returns the elements as a row, if they are real and consecutive.
    #[inline]
    pub fn reals(self) -> Option<Row<'a>> {
        self.values.as_row().filter(|_| self.element.oid() == pg_sys::FLOAT4OID)
    }

    /// Returns the elements; `None` for NULL.
    pub fn values(self) -> impl ExactSizeIterator<Item = Option<Value<'a>>> {
        let scalar_type = self.element.scalar_type();
        // SAFETY: `new` requires values of the element type.
        let value = move |datum| unsafe { Value::new(datum, scalar_type) };
        self.values.datums().map(move |element| element.map(value))
    }
}
