//! The values of one row, as PostgreSQL keeps them once a tuple is taken apart.

use pgrx::pg_sys::Datum;

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
        // SAFETY: the caller says so.
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
    /// Places for which there is no column stay as they are.
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
