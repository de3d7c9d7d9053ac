//! The rows of a batch, read ahead: the columns that calls, conditions and the output need.
//!
//! Values are kept as PostgreSQL passes them, or as f32, the engine's form, if all columns are only features of
//! type real. The model's name may be kept next to such features as a number, so that more rows fit into a
//! batch. Values that are passed by reference are copied into the batch's memory, since the plan below may
//! overwrite a row when it returns the next one. No buffer stays pinned.

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
    /// The place of the first column, if all are consecutive in the table and passed by value.
    run: Option<usize>,
    /// Values are kept as f32.
    as_reals: bool,
    /// The column with the model's name, if the others are features kept as f32.
    named: Option<NamedColumns>,
}

/// The places of the name and of the features in the slot.
struct NamedColumns {
    column: usize,
    features: Vec<usize>,
}

impl RowShape {
    /// Creates the shape of rows with these columns, in the order of their numbers; `only_features` if they are
    /// used as features alone.
    pub(crate) fn new(columns: Vec<KeptColumn>, only_features: bool) -> RowShape {
        let neighbours = columns.windows(2).all(|pair| match pair {
            [left, right] => left.number + 1 == right.number,
            _ => true,
        });
        let by_value = columns.iter().all(|column| column.column_type.by_reference.is_none());
        let first = columns.first().map(|column| column.number as usize - 1);
        let run = first.filter(|_| neighbours && by_value);
        let as_reals = only_features
            && run.is_some()
            && columns.iter().all(|column| column.column_type.is_real);
        let last_column = columns.iter().map(|column| column.number).max().unwrap_or(0);
        RowShape { columns, last_column, run, as_reals, named: None }
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
            self.named = Some(NamedColumns { column, features: features.collect() });
            self.as_reals = true;
        }
    }

    /// Returns the place of the column with that number among the kept ones.
    pub(crate) fn place(&self, number: i32) -> Option<usize> {
        self.columns.binary_search_by_key(&number, |kept| kept.number).ok()
    }

    /// Returns the number of values of a row.
    fn width(&self) -> usize {
        self.columns.len() - usize::from(self.named.is_some())
    }
}

pub(crate) struct Rows {
    pub(crate) shape: Rc<RowShape>,
    pub(crate) count: usize,
    room: usize,
    values: Vec<Datum>,
    nulls: Vec<bool>,
    /// The values, NaN for NULL. The cells above are filled from them when needed.
    reals: Option<Vec<f32>>,
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
            reals: shape.as_reals.then(Vec::new),
            names: shape.named.as_ref().map(|_| Names::default()),
            copies: Copies::new(memory),
            shape,
        }
    }

    /// Returns the bytes of a row, without copied values and numbers of names.
    pub(crate) fn row_bytes(&self) -> usize {
        let cell = match self.reals {
            Some(_) => size_of::<f32>(),
            None => size_of::<Datum>() + size_of::<bool>(),
        };
        self.shape.width() * cell
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
        let cells = rows * self.shape.width();
        if let Some(names) = &mut self.names {
            names.make_room(rows);
        }
        match &mut self.reals {
            Some(reals) if reals.len() < cells => reals.resize(cells, 0.0),
            Some(_) => {}
            None => self.make_cells(cells),
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
        self.reals.as_ref()?.get(..self.count * self.shape.width())
    }

    /// Returns the names of the rows, if they are kept separately from the features.
    pub(crate) fn names(&self) -> Option<&Names> {
        self.names.as_ref()
    }

    /// Returns the features of a row, if they are kept as f32.
    #[inline]
    pub(crate) fn reals_of(&self, row: usize) -> &[f32] {
        let width = self.shape.width();
        let reals = self.reals.as_ref().and_then(|reals| reals.get(row * width..(row + 1) * width));
        reals.unwrap_or_default()
    }

    /// Fills the cells for [`Rows::row`]; not possible if names are kept.
    pub(crate) fn fill_cells(&mut self) {
        let Some(reals) = self.reals.take() else { return };
        let cells = self.count * self.shape.columns.len();
        self.make_cells(cells);
        let values = self.values.iter_mut().zip(&mut self.nulls);
        for ((value, null), real) in values.zip(reals.iter().take(cells)) {
            (*value, *null) = cell(*real);
        }
        self.reals = Some(reals);
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
        let shape = &*self.shape;
        let first = self.count * shape.width();
        self.count += 1;
        // SAFETY: the slot has the columns that are kept, and room was made for the row.
        unsafe {
            unguarded::deform(slot, shape.last_column);
            if let (Some(named), Some(names), Some(reals)) =
                (&shape.named, &mut self.names, &mut self.reals)
            {
                let value = |column: usize| {
                    let null = *(*slot).tts_isnull.add(column);
                    (!null).then(|| *(*slot).tts_values.add(column))
                };
                let reals = reals.get_unchecked_mut(first..first + named.features.len());
                for (real, column) in reals.iter_mut().zip(&named.features) {
                    let value = value(*column).map(|value| f32::from_bits(value.value() as u32));
                    *real = value.unwrap_or(f32::NAN);
                }
                names.push(value(named.column), &mut self.copies);
                return;
            }
            if let (Some(run), Some(reals)) = (shape.run, &mut self.reals) {
                let width = shape.columns.len();
                let values = std::slice::from_raw_parts((*slot).tts_values.add(run), width);
                let nulls = std::slice::from_raw_parts((*slot).tts_isnull.add(run), width);
                let reals = reals.get_unchecked_mut(first..first + width);
                pg_interface::Row::new(values, nulls).read_reals(0, reals);
                return;
            }
            if let Some(run) = shape.run {
                let (values, nulls) = (self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
                let width = shape.columns.len();
                ptr::copy_nonoverlapping((*slot).tts_values.add(run), values.add(first), width);
                ptr::copy_nonoverlapping((*slot).tts_isnull.add(run), nulls.add(first), width);
                return;
            }
            for (index, column) in shape.columns.iter().enumerate() {
                let place = column.number as usize - 1;
                let null = *(*slot).tts_isnull.add(place);
                let mut value = *(*slot).tts_values.add(place);
                if let Some(length) = column.column_type.by_reference
                    && !null
                {
                    value = self.copies.copy(value, length);
                }
                *self.values.get_unchecked_mut(first + index) = value;
                *self.nulls.get_unchecked_mut(first + index) = null;
            }
        }
    }

    /// Puts the values of a row into a slot, at their columns' numbers.
    ///
    /// # Safety
    /// The slot has a place for each of them.
    #[inline]
    pub(crate) unsafe fn put(&self, row: usize, slot: *mut TupleTableSlot) {
        if let (Some(named), Some(names)) = (&self.shape.named, &self.names) {
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
        let first = row * self.shape.columns.len();
        for (index, column) in self.shape.columns.iter().enumerate() {
            let place = column.number as usize - 1;
            // SAFETY: guaranteed by the caller; each column of a row that was read has a value.
            unsafe {
                (*(*slot).tts_values.add(place), *(*slot).tts_isnull.add(place)) = match &self.reals
                {
                    Some(reals) => cell(*reals.get_unchecked(first + index)),
                    None => (*values.get_unchecked(index), *nulls.get_unchecked(index)),
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
