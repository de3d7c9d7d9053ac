//! The rows of a batch, read ahead: the columns that something still needs of them.
//!
//! Values are kept as PostgreSQL passes them, or as f32 where all are features of type real that nothing
//! else needs: then they are what the engine reads. What is passed by reference is copied into the batch's
//! memory, since the plan below may overwrite a row as soon as it is asked for the next one. No buffer
//! stays pinned.

use std::ptr;

use pgrx::pg_sys::{Datum, MemoryContext, TupleTableSlot};

use super::copies::Copies;
use crate::pg::unguarded_exec;

#[derive(Clone, Copy)]
pub struct KeptColumn {
    /// Its number in the rows of the plan below, from 1.
    pub number: i32,
    /// Its type's length as in pg_type, or nothing if it is passed by value.
    pub by_reference: Option<i16>,
    pub is_real: bool,
}

pub struct Rows {
    pub columns: Vec<KeptColumn>,
    /// The number of the last of them.
    pub last_column: i32,
    pub count: usize,
    /// Place of the first column, if all are neighbours in the table and passed by value.
    run: Option<usize>,
    values: Vec<Datum>,
    nulls: Vec<bool>,
    /// The values, NaN for NULL, of which the cells above are made only where they are asked for.
    reals: Option<Vec<f32>>,
    pub copies: Copies,
}

impl Rows {
    /// No rows, of these columns, which may be nothing but features; `memory` is reset for each batch.
    pub fn new(columns: Vec<KeptColumn>, only_features: bool, memory: MemoryContext) -> Rows {
        let neighbours = columns.windows(2).all(|pair| match pair {
            [left, right] => left.number + 1 == right.number,
            _ => true,
        });
        let by_value = columns.iter().all(|column| column.by_reference.is_none());
        let first = columns.first().map(|column| column.number as usize - 1);
        let run = first.filter(|_| neighbours && by_value);
        let real = only_features && run.is_some() && columns.iter().all(|column| column.is_real);
        let last_column = columns.iter().map(|column| column.number).max().unwrap_or(0);
        Rows {
            columns,
            last_column,
            count: 0,
            run,
            values: Vec::new(),
            nulls: Vec::new(),
            reals: real.then(Vec::new),
            copies: Copies::new(memory),
        }
    }

    /// Bytes that a row takes besides copied values.
    pub fn row_bytes(&self) -> usize {
        self.columns.len() * (size_of::<Datum>() + size_of::<bool>())
    }

    pub fn make_room(&mut self, rows: usize) {
        let cells = rows * self.columns.len();
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

    /// The features of all rows, if that is what they are kept as.
    pub fn reals(&self) -> Option<&[f32]> {
        self.reals.as_ref()?.get(..self.count * self.columns.len())
    }

    /// Sees to it that [`Rows::row`] has the values.
    pub fn fill_cells(&mut self) {
        let Some(reals) = self.reals.take() else { return };
        let cells = self.count * self.columns.len();
        self.make_cells(cells);
        let values = self.values.iter_mut().zip(&mut self.nulls);
        for ((value, null), real) in values.zip(reals.iter().take(cells)) {
            (*value, *null) = cell(*real);
        }
        self.reals = Some(reals);
    }

    /// # Safety
    /// No value of them is used any more; called as `unguarded_exec` says.
    pub unsafe fn clear(&mut self) {
        self.count = 0;
        // SAFETY: the caller says so.
        unsafe { self.copies.clear() }
    }

    /// Takes in a row, for which there is room.
    ///
    /// # Safety
    /// The slot is filled with a row of the plan below; called as `unguarded_exec` says.
    #[inline]
    pub unsafe fn push(&mut self, slot: *mut TupleTableSlot) {
        let first = self.count * self.columns.len();
        self.count += 1;
        // SAFETY: the slot has the columns that are kept, and room was made for the row.
        unsafe {
            unguarded_exec::take_apart(slot, self.last_column);
            if let (Some(run), Some(reals)) = (self.run, &mut self.reals) {
                let width = self.columns.len();
                let values = std::slice::from_raw_parts((*slot).tts_values.add(run), width);
                let nulls = std::slice::from_raw_parts((*slot).tts_isnull.add(run), width);
                let reals = reals.get_unchecked_mut(first..first + width);
                pg_interface::Row::new(values, nulls).read_reals(0, reals);
                return;
            }
            if let Some(run) = self.run {
                let (values, nulls) = (self.values.as_mut_ptr(), self.nulls.as_mut_ptr());
                let width = self.columns.len();
                ptr::copy_nonoverlapping((*slot).tts_values.add(run), values.add(first), width);
                ptr::copy_nonoverlapping((*slot).tts_isnull.add(run), nulls.add(first), width);
                return;
            }
            for (index, column) in self.columns.iter().enumerate() {
                let place = column.number as usize - 1;
                let null = *(*slot).tts_isnull.add(place);
                let mut value = *(*slot).tts_values.add(place);
                if let Some(length) = column.by_reference
                    && !null
                {
                    value = self.copies.copy(value, length);
                }
                *self.values.get_unchecked_mut(first + index) = value;
                *self.nulls.get_unchecked_mut(first + index) = null;
            }
        }
    }

    /// Puts the values of a row into a slot in which they have their numbers.
    ///
    /// # Safety
    /// The slot has a place for each of them.
    #[inline]
    pub unsafe fn put(&self, row: usize, slot: *mut TupleTableSlot) {
        let (values, nulls) = self.row(row);
        let first = row * self.columns.len();
        for (index, column) in self.columns.iter().enumerate() {
            let place = column.number as usize - 1;
            // SAFETY: the caller says so; there is a value for each column of a row that was read.
            unsafe {
                (*(*slot).tts_values.add(place), *(*slot).tts_isnull.add(place)) = match &self.reals
                {
                    Some(reals) => cell(*reals.get_unchecked(first + index)),
                    None => (*values.get_unchecked(index), *nulls.get_unchecked(index)),
                };
            }
        }
    }

    /// The values of a row, and which of them are NULL, in the order of the columns kept.
    #[inline]
    pub fn row(&self, row: usize) -> (&[Datum], &[bool]) {
        let width = self.columns.len();
        let cells = row * width..(row + 1) * width;
        (
            self.values.get(cells.clone()).unwrap_or_default(),
            self.nulls.get(cells).unwrap_or_default(),
        )
    }
}

/// A feature as a value; to predictions NaN is NULL.
#[inline]
fn cell(real: f32) -> (Datum, bool) {
    (Datum::from(real.to_bits()), false)
}
