//! The rows of a batch, read ahead: the columns that something still needs of them.
//!
//! Values are kept as PostgreSQL passes them. What is passed by reference is copied into the batch's
//! memory, since the plan below may overwrite a row as soon as it is asked for the next one. No
//! buffer stays pinned.

use std::ptr;

use pgrx::pg_sys::{CurrentMemoryContext, Datum, MemoryContext, TupleTableSlot, varlena};
use pgrx::varlena::{varatt_is_1b_e, varsize_any};

use crate::pg::unguarded_exec;

#[derive(Clone, Copy)]
pub struct KeptColumn {
    /// Its number in the rows of the plan below, from 1.
    pub number: i32,
    /// Its type's length as in pg_type, or nothing if it is passed by value.
    pub by_reference: Option<i16>,
}

pub struct Rows {
    pub columns: Vec<KeptColumn>,
    /// The number of the last of them.
    pub last_column: i32,
    pub count: usize,
    /// Bytes of copied values.
    pub copied: usize,
    /// Place of the first column, if all are neighbours in the table and passed by value.
    run: Option<usize>,
    values: Vec<Datum>,
    nulls: Vec<bool>,
    pub memory: MemoryContext,
}

impl Rows {
    /// No rows, of these columns; `memory` is reset for each batch.
    pub fn new(columns: Vec<KeptColumn>, memory: MemoryContext) -> Rows {
        let neighbours = columns.windows(2).all(|pair| match pair {
            [left, right] => left.number + 1 == right.number,
            _ => true,
        });
        let by_value = columns.iter().all(|column| column.by_reference.is_none());
        let first = columns.first().map(|column| column.number as usize - 1);
        let last_column = columns.iter().map(|column| column.number).max().unwrap_or(0);
        Rows {
            columns,
            last_column,
            count: 0,
            copied: 0,
            run: first.filter(|_| neighbours && by_value),
            values: Vec::new(),
            nulls: Vec::new(),
            memory,
        }
    }

    /// Bytes that a row takes besides copied values.
    pub fn row_bytes(&self) -> usize {
        self.columns.len() * (size_of::<Datum>() + size_of::<bool>())
    }

    pub fn make_room(&mut self, rows: usize) {
        let cells = rows * self.columns.len();
        if self.values.len() < cells {
            self.values.resize(cells, Datum::from(0));
            self.nulls.resize(cells, true);
        }
    }

    /// # Safety
    /// No value of them is used any more; called as `unguarded_exec` says.
    pub unsafe fn clear(&mut self) {
        self.count = 0;
        self.copied = 0;
        // SAFETY: the caller says so.
        unsafe { unguarded_exec::MemoryContextReset(self.memory) }
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
                    let bytes = length_of(value, length);
                    value = copy(value, length, bytes, self.memory);
                    self.copied += bytes;
                }
                *self.values.get_unchecked_mut(first + index) = value;
                *self.nulls.get_unchecked_mut(first + index) = null;
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

/// # Safety
/// The value is of a type of that length.
unsafe fn length_of(value: Datum, length: i16) -> usize {
    // SAFETY: the caller says so.
    unsafe {
        match length {
            -1 => varsize_any(value.cast_mut_ptr::<varlena>()),
            -2 => std::ffi::CStr::from_ptr(value.cast_mut_ptr()).to_bytes_with_nul().len(),
            fixed => fixed as usize,
        }
    }
}

/// # Safety
/// The value is of a type of that length, and takes that many bytes; called as `unguarded_exec` says.
unsafe fn copy(value: Datum, length: i16, bytes: usize, memory: MemoryContext) -> Datum {
    // SAFETY: the caller says so. What is stored out of line in a table stays there while the
    // statement's snapshot can see it; anything else that lies elsewhere is fetched.
    unsafe {
        if length == -1 && is_in_memory_toast(value.cast_mut_ptr()) {
            let before = CurrentMemoryContext;
            CurrentMemoryContext = memory;
            let fetched = unguarded_exec::pg_detoast_datum_copy(value.cast_mut_ptr());
            CurrentMemoryContext = before;
            return Datum::from(fetched);
        }
        let copy = unguarded_exec::MemoryContextAlloc(memory, bytes);
        ptr::copy_nonoverlapping(value.cast_mut_ptr::<u8>(), copy.cast(), bytes);
        Datum::from(copy)
    }
}

/// Whether a value refers to another place in memory, as an array in the middle of work on it does.
unsafe fn is_in_memory_toast(value: *mut varlena) -> bool {
    // SAFETY: the first byte of a varlena says whether it is a reference, the second to what.
    unsafe {
        varatt_is_1b_e(value)
            && u32::from(*value.cast::<u8>().add(1)) != pgrx::pg_sys::vartag_external::VARTAG_ONDISK
    }
}
