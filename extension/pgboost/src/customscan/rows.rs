//! The rows of a batch, read ahead: the columns that calls, conditions and the output need.
//!
//! Values are kept as PostgreSQL passes them, but neighbouring columns that are only features of type real as f32, the
//! engine's form. The model's name may be kept next to such features as a number, so that more rows fit into a
//! batch. Values that are passed by reference are copied into the batch's memory, since the plan below may
//! overwrite a row when it returns the next one. No buffer stays pinned.
//!
//! A table's rows are read as they are stored, if their columns are at fixed places there; others are deformed.

use std::ops::Range;
use std::ptr;
use std::rc::Rc;

use pg_interface::stored_row::{self, StoredColumn};
use pg_interface::unguarded;
use pgrx::pg_sys::{Datum, MemoryContext, TupleDesc, TupleTableSlot};

use super::copies::{Copies, Names};
use super::plan_data::ColumnType;

#[derive(Clone, Copy)]
pub(crate) struct KeptColumn {
    /// The number in the rows of the plan below, from 1.
    pub(crate) number: i32,
    pub(super) column_type: ColumnType,
}

/// The columns that the rows of a plan keep, and their form.
pub(crate) struct RowShape {
    /// In the order of their numbers.
    pub(crate) columns: Vec<KeptColumn>,
    /// The number of the last of them.
    pub(crate) last_column: i32,
    form: Form,
}

/// The form in which rows keep their columns.
enum Form {
    /// All as PostgreSQL passes them.
    Cells {
        /// The place of the first in the slot, if they are neighbours there and passed by value.
        run: Option<usize>,
    },
    /// Some as f32, the others as PostgreSQL passes them.
    Reals(RealColumns),
    /// One as the model's name, and the others as f32.
    Named(NamedColumns),
}

/// Neighbouring columns of type real that are only features.
struct RealColumns {
    /// The place of the first in the slot.
    first: usize,
    /// Their places among the kept columns.
    kept: Range<usize>,
}

/// The places of the name and of the features in the slot.
struct NamedColumns {
    column: usize,
    features: Vec<usize>,
}

impl RowShape {
    /// Creates the shape of rows with these columns, in the order of their numbers; those with the numbers `needed`
    /// are not only features.
    pub(crate) fn new(columns: Vec<KeptColumn>, needed: &[i32]) -> RowShape {
        let last_column = columns.iter().map(|column| column.number).max().unwrap_or(0);
        let is_feature = |column: &KeptColumn| !needed.contains(&column.number);
        let first = columns.iter().position(is_feature).unwrap_or(0);
        let kept = first..first + columns.iter().filter(|column| is_feature(column)).count();
        let features = columns.get(kept.clone()).unwrap_or_default();
        let are_reals =
            features.iter().all(|column| is_feature(column) && column.column_type.is_real);
        let form = match run_of(features) {
            Some(first) if are_reals => Form::Reals(RealColumns { first, kept }),
            _ => Form::Cells { run: run_of(&columns) },
        };
        RowShape { columns, last_column, form }
    }

    /// Keeps all columns as PostgreSQL passes them.
    pub(crate) fn keep_cells(&mut self) {
        self.form = Form::Cells { run: run_of(&self.columns) };
    }

    /// Keeps the column at that place as a name, and the others, which are only features, as f32, if their types
    /// permit it.
    pub(crate) fn keep_names(&mut self, place: usize) {
        let is_text = |column: &KeptColumn| column.column_type.by_reference == Some(-1);
        let is_name = |index: &usize| *index == place;
        let fits = |(index, column)| {
            if is_name(&index) { is_text(column) } else { column.column_type.is_real }
        };
        let number = |column: &KeptColumn| column.number as usize - 1;
        if let Some(column) = self.columns.get(place).map(number)
            && self.columns.iter().enumerate().all(fits)
        {
            let features = self.columns.iter().map(number).filter(|other| *other != column);
            self.form = Form::Named(NamedColumns { column, features: features.collect() });
        }
    }

    /// Returns the place of the column with that number among the kept ones.
    pub(crate) fn place(&self, number: i32) -> Option<usize> {
        self.columns.binary_search_by_key(&number, |kept| kept.number).ok()
    }

    /// Returns the places of the columns that are kept as f32, unless one is kept as a name.
    pub(crate) fn reals(&self) -> Range<usize> {
        match &self.form {
            Form::Reals(RealColumns { kept, .. }) => kept.clone(),
            Form::Cells { .. } | Form::Named(_) => 0..0,
        }
    }

    /// Returns the number of values of a row that are kept as f32.
    fn num_reals(&self) -> usize {
        match &self.form {
            Form::Cells { .. } => 0,
            Form::Reals(RealColumns { kept, .. }) => kept.len(),
            Form::Named(NamedColumns { features, .. }) => features.len(),
        }
    }

    /// Returns the number of values of a row that are kept as PostgreSQL passes them.
    fn num_cells(&self) -> usize {
        match &self.form {
            Form::Cells { .. } => self.columns.len(),
            Form::Reals(RealColumns { kept, .. }) => self.columns.len() - kept.len(),
            Form::Named(_) => 0,
        }
    }

    /// Returns the place among these of the column with that number.
    pub(crate) fn cell(&self, number: i32) -> Option<usize> {
        let (place, reals) = (self.place(number)?, self.reals());
        let before = if place < reals.end { 0 } else { reals.len() };
        (!reals.contains(&place)).then_some(place - before)
    }
}

/// Returns the place of the first column in the slot, if all are neighbours there and passed by value.
fn run_of(columns: &[KeptColumn]) -> Option<usize> {
    let neighbours = columns.windows(2).all(|pair| match pair {
        [left, right] => left.number + 1 == right.number,
        _ => true,
    });
    let by_value = columns.iter().all(|column| column.column_type.by_reference.is_none());
    let first = columns.first().map(|column| column.number as usize - 1);
    first.filter(|_| neighbours && by_value)
}

/// The places of the kept columns in a table's rows as they are stored.
struct Stored {
    /// The descriptor of these rows; null before the first.
    descriptor: TupleDesc,
    /// All kept columns can be read so.
    readable: bool,
    /// The first of those that are kept as f32.
    reals: Option<StoredColumn>,
    cells: Vec<StoredColumn>,
}

impl Stored {
    const UNKNOWN: Stored =
        Stored { descriptor: ptr::null_mut(), readable: false, reals: None, cells: Vec::new() };

    /// Finds the columns in the slot's rows.
    ///
    /// # Safety
    /// The slot is filled with a row of the plan below; PostgreSQL's memory may be allocated.
    unsafe fn of(slot: *mut TupleTableSlot, shape: &RowShape) -> Stored {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let descriptor = (*slot).tts_tupleDescriptor;
            let Some(all) = StoredColumn::first(descriptor, shape.last_column)
                .filter(|_| stored_row::is_for(slot))
            else {
                return Stored { descriptor, ..Stored::UNKNOWN };
            };
            let kept = shape.columns.iter();
            let kept = kept.filter_map(|column| all.get(column.number as usize - 1).copied());
            let mut cells: Vec<StoredColumn> = kept.collect();
            let mut readable = cells.len() == shape.columns.len()
                && cells.iter().all(|column| column.is_value())
                && !matches!(shape.form, Form::Named(_));
            let mut reals = None;
            if readable && !shape.reals().is_empty() {
                let all = cells.drain(shape.reals());
                readable = all.as_slice().iter().all(|column| column.is_of(4));
                reals = all.as_slice().first().copied();
            }
            Stored { descriptor, readable, reals, cells }
        }
    }

    /// Reads a row to its cells, which begin at these places, and to its part of `reals`.
    ///
    /// # Safety
    /// The columns are readable, and the data is that of a row with this descriptor which has them; there is room.
    #[inline]
    unsafe fn read(
        &self,
        data: *const u8,
        (values, nulls): (*mut Datum, *mut bool),
        reals: &mut [f32],
    ) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if let Some(first) = self.reals {
                first.read_reals(data, reals);
            }
            for (cell, column) in self.cells.iter().enumerate() {
                *values.add(cell) = column.value(data);
                *nulls.add(cell) = false;
            }
        }
    }
}

pub(crate) struct BatchRows {
    pub(crate) shape: Rc<RowShape>,
    pub(crate) count: usize,
    room: usize,
    stored: Stored,
    /// A cell for each column that is kept as PostgreSQL passes it.
    values: Vec<Datum>,
    nulls: Vec<bool>,
    /// Cells of all columns, if some are kept as f32; filled when needed.
    all_values: Vec<Datum>,
    all_nulls: Vec<bool>,
    /// The values that are kept as f32, NaN for NULL.
    reals: Vec<f32>,
    /// The models' names, if they are kept separately from the features.
    names: Option<Names>,
    pub(crate) copies: Copies,
}

impl BatchRows {
    /// Creates an empty batch; `memory` is reset for each batch.
    pub(crate) fn new(shape: Rc<RowShape>, memory: MemoryContext) -> BatchRows {
        BatchRows {
            count: 0,
            room: 0,
            stored: Stored::UNKNOWN,
            values: Vec::new(),
            nulls: Vec::new(),
            all_values: Vec::new(),
            all_nulls: Vec::new(),
            reals: Vec::new(),
            names: matches!(shape.form, Form::Named(_)).then(Names::default),
            copies: Copies::new(memory),
            shape,
        }
    }

    /// Returns the bytes of a row, without copied values and numbers of names.
    pub(crate) fn row_bytes(&self) -> usize {
        let cell = size_of::<Datum>() + size_of::<bool>();
        self.shape.num_reals() * size_of::<f32>() + self.shape.num_cells() * cell
    }

    /// Returns the bytes of copied values.
    pub(crate) fn copied_bytes(&self) -> usize {
        self.copies.bytes() + self.names.as_ref().map_or(0, Names::bytes)
    }

    /// Returns the number of rows that fit.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    pub(crate) fn make_room(&mut self, rows: usize) {
        if rows <= self.room {
            return;
        }
        self.room = rows;
        let reals = rows * self.shape.num_reals();
        if self.reals.len() < reals {
            self.reals.resize(reals, 0.0);
        }
        if let Some(names) = &mut self.names {
            names.make_room(rows);
        }
        let cells = rows * self.shape.num_cells();
        if self.values.len() < cells {
            self.values.resize(cells, Datum::from(0));
            self.nulls.resize(cells, true);
        }
    }

    /// Returns whether the slot's rows have another descriptor than those in which columns were found last.
    ///
    /// # Safety
    /// The slot is valid.
    #[inline]
    pub(crate) unsafe fn are_others(&self, slot: *mut TupleTableSlot) -> bool {
        // SAFETY: guaranteed by the caller.
        unsafe { (*slot).tts_tupleDescriptor != self.stored.descriptor }
    }

    /// Finds the kept columns in the slot's rows as they are stored.
    ///
    /// # Safety
    /// The slot is filled with a row of the plan below; PostgreSQL's memory may be allocated.
    pub(crate) unsafe fn find_columns(&mut self, slot: *mut TupleTableSlot) {
        // SAFETY: guaranteed by the caller.
        self.stored = unsafe { Stored::of(slot, &self.shape) };
    }

    /// Returns the features of all rows, if they are kept as f32.
    pub(crate) fn reals(&self) -> Option<&[f32]> {
        let width = self.shape.num_reals();
        self.reals.get(..self.count * width).filter(|_| width > 0)
    }

    /// Returns the names of the rows, if they are kept separately from the features.
    pub(crate) fn names(&self) -> Option<&Names> {
        self.names.as_ref()
    }

    /// Returns the features of a row, if they are kept as f32.
    #[inline]
    pub(crate) fn reals_of(&self, row: usize) -> &[f32] {
        let width = self.shape.num_reals();
        self.reals.get(row * width..(row + 1) * width).unwrap_or_default()
    }

    /// Fills the cells for [`BatchRows::row`]; not possible if names are kept.
    pub(crate) fn fill_cells(&mut self) {
        let RealColumns { kept, .. } = match &self.shape.form {
            Form::Reals(columns) => columns,
            Form::Cells { .. } | Form::Named(_) => return,
        };
        let (all_values, all_nulls) = (&mut self.all_values, &mut self.all_nulls);
        all_values.clear();
        all_nulls.clear();
        for (row, reals) in self.reals.chunks_exact(kept.len()).take(self.count).enumerate() {
            let (values, nulls) = part(&self.values, &self.nulls, row, self.shape.num_cells());
            let reals = reals.iter().map(|real| cell(*real));
            all_values.extend(values.iter().take(kept.start));
            all_values.extend(reals.clone().map(|(value, _)| value));
            all_values.extend(values.iter().skip(kept.start));
            all_nulls.extend(nulls.iter().take(kept.start));
            all_nulls.extend(reals.map(|(_, null)| null));
            all_nulls.extend(nulls.iter().skip(kept.start));
        }
    }

    /// # Safety
    /// No value of them is used any more; called as `pg_interface::unguarded` says.
    pub(crate) unsafe fn clear(&mut self) {
        self.count = 0;
        if let Some(names) = &mut self.names {
            names.clear();
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.copies.clear() }
    }

    /// Adds a row, for which there is room.
    ///
    /// # Safety
    /// The slot is filled with a row of the plan below; called as `pg_interface::unguarded` says.
    #[inline]
    pub(crate) unsafe fn push(&mut self, slot: *mut TupleTableSlot) {
        let (shape, row) = (&*self.shape, self.count);
        let (columns, first_cell) = (&shape.columns[..], row * shape.num_cells());
        self.count += 1;
        // SAFETY: the slot has the columns that are kept, and room was made for the row.
        unsafe {
            let (values, nulls) = (self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
            let (values, nulls) = (values.wrapping_add(first_cell), nulls.wrapping_add(first_cell));
            if self.stored.readable
                && !self.are_others(slot)
                && let Some(data) = stored_row::data(slot, shape.last_column)
            {
                let width = shape.num_reals();
                let reals = self.reals.get_unchecked_mut(row * width..(row + 1) * width);
                self.stored.read(data, (values, nulls), reals);
                return;
            }
            unguarded::deform(slot, shape.last_column);
            let (from_values, from_nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            match &shape.form {
                Form::Cells { run: Some(run) } => {
                    ptr::copy_nonoverlapping(from_values.add(*run), values, columns.len());
                    ptr::copy_nonoverlapping(from_nulls.add(*run), nulls, columns.len());
                }
                Form::Cells { run: None } => {
                    keep(slot, columns, (values, nulls), &mut self.copies);
                }
                Form::Reals(RealColumns { first, kept }) => {
                    let width = kept.len();
                    let reals = self.reals.get_unchecked_mut(row * width..(row + 1) * width);
                    let features = pg_interface::Row::new(
                        std::slice::from_raw_parts(from_values.add(*first), width),
                        std::slice::from_raw_parts(from_nulls.add(*first), width),
                    );
                    features.read_reals(0, reals);
                    let (before, after) =
                        (columns.get_unchecked(..kept.start), columns.get_unchecked(kept.end..));
                    keep(slot, before, (values, nulls), &mut self.copies);
                    let cells = (values.wrapping_add(kept.start), nulls.wrapping_add(kept.start));
                    keep(slot, after, cells, &mut self.copies);
                }
                Form::Named(NamedColumns { column, features }) => {
                    let value = |column: usize| {
                        let null = *from_nulls.add(column);
                        (!null).then(|| *from_values.add(column))
                    };
                    let width = features.len();
                    let reals = self.reals.get_unchecked_mut(row * width..(row + 1) * width);
                    for (real, column) in reals.iter_mut().zip(features) {
                        let value =
                            value(*column).map(|value| f32::from_bits(value.value() as u32));
                        *real = value.unwrap_or(f32::NAN);
                    }
                    if let Some(names) = &mut self.names {
                        names.push(value(*column), &mut self.copies);
                    }
                }
            }
        }
    }

    /// Puts the values of a row into a slot, at their columns' numbers.
    ///
    /// # Safety
    /// The slot has a place for each of them.
    #[inline]
    pub(crate) unsafe fn put(&self, row: usize, slot: *mut TupleTableSlot) {
        if let (Form::Named(named), Some(names)) = (&self.shape.form, &self.names) {
            let name = names.of(row);
            let reals = named.features.iter().zip(self.reals_of(row));
            // SAFETY: guaranteed by the caller.
            unsafe {
                let put = |column, (value, null)| {
                    (*(*slot).tts_values.add(column), *(*slot).tts_isnull.add(column)) =
                        (value, null);
                };
                put(named.column, (name.unwrap_or(Datum::from(0)), name.is_none()));
                reals.for_each(|(column, real)| put(*column, cell(*real)));
            }
            return;
        }
        let (values, nulls) = self.cells(row);
        let mut cells = values.iter().copied().zip(nulls.iter().copied());
        let (real_columns, reals) = (self.shape.reals(), self.reals_of(row));
        for (index, column) in self.shape.columns.iter().enumerate() {
            let place = column.number as usize - 1;
            let kept = if real_columns.contains(&index) {
                reals.get(index - real_columns.start).map(|real| cell(*real))
            } else {
                cells.next()
            };
            let Some(kept) = kept else { return };
            // SAFETY: guaranteed by the caller.
            unsafe {
                (*(*slot).tts_values.add(place), *(*slot).tts_isnull.add(place)) = kept;
            }
        }
    }

    /// Returns the values of a row that are kept as PostgreSQL passes them, and their null flags.
    #[inline]
    pub(crate) fn cells(&self, row: usize) -> (&[Datum], &[bool]) {
        part(&self.values, &self.nulls, row, self.shape.num_cells())
    }

    /// Returns the values of a row and their null flags, in the order of the kept columns.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> (&[Datum], &[bool]) {
        if self.shape.num_reals() == 0 {
            return self.cells(row);
        }
        part(&self.all_values, &self.all_nulls, row, self.shape.columns.len())
    }
}

/// Returns the cells of a row of that many.
#[inline]
fn part<'a>(
    values: &'a [Datum],
    nulls: &'a [bool],
    row: usize,
    width: usize,
) -> (&'a [Datum], &'a [bool]) {
    let cells = row * width..(row + 1) * width;
    (values.get(cells.clone()).unwrap_or_default(), nulls.get(cells).unwrap_or_default())
}

/// Returns a feature as a value and a null flag: to predictions NaN is NULL.
#[inline]
fn cell(real: f32) -> (Datum, bool) {
    (Datum::from(real.to_bits()), false)
}

/// Copies columns of a slot to their cells, which begin at these places.
///
/// # Safety
/// The slot has the columns, and there is a cell for each; called as `pg_interface::unguarded` says.
#[inline]
unsafe fn keep(
    slot: *mut TupleTableSlot,
    columns: &[KeptColumn],
    (values, nulls): (*mut Datum, *mut bool),
    copies: &mut Copies,
) {
    for (index, column) in columns.iter().enumerate() {
        let place = column.number as usize - 1;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let null = *(*slot).tts_isnull.add(place);
            let mut value = *(*slot).tts_values.add(place);
            if let Some(length) = column.column_type.by_reference
                && !null
            {
                value = copies.copy(value, length);
            }
            (*values.add(index), *nulls.add(index)) = (value, null);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_reals_that_are_only_features_are_kept_as_f32() {
        const INTEGER: ColumnType = ColumnType { by_reference: None, is_real: false };
        const REAL: ColumnType = ColumnType { by_reference: None, is_real: true };
        const TEXT: ColumnType = ColumnType { by_reference: Some(-1), is_real: false };
        let reals = |columns: &[(i32, ColumnType)], needed: &[i32]| {
            let kept = |(number, column_type): &(i32, ColumnType)| KeptColumn {
                number: *number,
                column_type: *column_type,
            };
            RowShape::new(columns.iter().map(kept).collect(), needed).reals()
        };
        assert_eq!(reals(&[(2, REAL), (3, REAL)], &[]), 0..2);
        assert_eq!(reals(&[(1, INTEGER), (3, REAL), (4, REAL), (9, TEXT)], &[1, 9]), 1..3);
        assert_eq!(reals(&[(2, REAL), (3, REAL)], &[2]), 1..2);
        let none = [
            reals(&[(2, REAL), (4, REAL)], &[]),
            reals(&[(2, REAL), (3, REAL), (4, REAL)], &[3]),
            reals(&[(2, REAL), (3, INTEGER)], &[]),
            reals(&[(2, REAL)], &[2]),
        ];
        assert!(none.into_iter().all(|reals| reals.is_empty()));
    }
}
