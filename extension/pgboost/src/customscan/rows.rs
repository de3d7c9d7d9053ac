//! The rows of a batch, read ahead: the columns that calls, conditions and the output need.
//!
//! Values are kept as PostgreSQL passes them, but neighbouring columns that are only features of type real as f32, the
//! engine's form. The model's name may be kept next to such features as a number, so that more rows fit into a
//! batch. Values that are passed by reference are copied into the batch's memory, since the plan below may
//! overwrite a row when it returns the next one. No buffer stays pinned.

use std::ops::Range;
use std::ptr;
use std::rc::Rc;

use pg_interface::unguarded;
use pgrx::pg_sys::{Datum, MemoryContext, TupleTableSlot};

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

    /// Returns whether some columns are kept as PostgreSQL passes them.
    fn has_cells(&self) -> bool {
        match &self.form {
            Form::Cells { .. } => true,
            Form::Reals(RealColumns { kept, .. }) => kept.len() < self.columns.len(),
            Form::Named(_) => false,
        }
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

pub(crate) struct Rows {
    pub(crate) shape: Rc<RowShape>,
    pub(crate) count: usize,
    room: usize,
    /// A cell for each column, if there are any. Those of columns that are kept as f32 are filled when needed.
    values: Vec<Datum>,
    nulls: Vec<bool>,
    /// The values that are kept as f32, NaN for NULL.
    reals: Vec<f32>,
    /// The models' names, if they are kept separately from the features.
    names: Option<Names>,
    pub(crate) copies: Copies,
}

impl Rows {
    /// Creates an empty batch; `memory` is reset for each batch.
    pub(crate) fn new(shape: Rc<RowShape>, memory: MemoryContext) -> Rows {
        Rows {
            count: 0,
            room: 0,
            values: Vec::new(),
            nulls: Vec::new(),
            reals: Vec::new(),
            names: matches!(shape.form, Form::Named(_)).then(Names::default),
            copies: Copies::new(memory),
            shape,
        }
    }

    /// Returns the bytes of a row, without copied values and numbers of names.
    pub(crate) fn row_bytes(&self) -> usize {
        let cells = if self.shape.has_cells() { self.shape.columns.len() } else { 0 };
        self.shape.num_reals() * size_of::<f32>() + cells * (size_of::<Datum>() + size_of::<bool>())
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
        if self.shape.has_cells() {
            self.make_cells(rows * self.shape.columns.len());
        }
    }

    fn make_cells(&mut self, cells: usize) {
        if self.values.len() < cells {
            self.values.resize(cells, Datum::from(0));
            self.nulls.resize(cells, true);
        }
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

    /// Fills the cells for [`Rows::row`]; not possible if names are kept.
    pub(crate) fn fill_cells(&mut self) {
        let RealColumns { kept, .. } = match &self.shape.form {
            Form::Reals(columns) => columns,
            Form::Cells { .. } | Form::Named(_) => return,
        };
        let (kept, width) = (kept.clone(), self.shape.columns.len());
        self.make_cells(self.count * width);
        let reals = self.reals.chunks_exact(kept.len().max(1));
        let cells = self.values.chunks_exact_mut(width).zip(self.nulls.chunks_exact_mut(width));
        for (reals, (values, nulls)) in reals.zip(cells).take(self.count) {
            let values = values.iter_mut().zip(nulls).skip(kept.start);
            for ((value, null), real) in values.zip(reals) {
                (*value, *null) = cell(*real);
            }
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
        let (columns, first_cell) = (&shape.columns[..], row * shape.columns.len());
        self.count += 1;
        // SAFETY: the slot has the columns that are kept, and room was made for the row.
        unsafe {
            unguarded::deform(slot, shape.last_column);
            let (from_values, from_nulls) = ((*slot).tts_values, (*slot).tts_isnull);
            let (values, nulls) = (self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
            let (values, nulls) = (values.wrapping_add(first_cell), nulls.wrapping_add(first_cell));
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
                    let cells = (values.wrapping_add(kept.end), nulls.wrapping_add(kept.end));
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
        let (values, nulls) = self.row(row);
        let (real_columns, reals) = (self.shape.reals(), self.reals_of(row));
        for (index, column) in self.shape.columns.iter().enumerate() {
            let place = column.number as usize - 1;
            // SAFETY: guaranteed by the caller; each column of a row that was read has a value.
            unsafe {
                (*(*slot).tts_values.add(place), *(*slot).tts_isnull.add(place)) =
                    if real_columns.contains(&index) {
                        cell(*reals.get_unchecked(index - real_columns.start))
                    } else {
                        (*values.get_unchecked(index), *nulls.get_unchecked(index))
                    };
            }
        }
    }

    /// Returns the values of a row and their null flags, in the order of the kept columns.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> (&[Datum], &[bool]) {
        let width = self.shape.columns.len();
        let cells = row * width..(row + 1) * width;
        (
            self.values.get(cells.clone()).unwrap_or_default(),
            self.nulls.get(cells).unwrap_or_default(),
        )
    }
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
