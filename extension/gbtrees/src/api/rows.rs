//! Rows of features, as programs pass them.

use std::ops::Range;

use crate::compiled::aligned::StableBytes;
use crate::compiled::doubles::set_double;
use crate::compiled::{CompiledModel, Narrowing};
use crate::ensemble::RowNumber;
use crate::eval::Margin;
use crate::{Error, ErrorKind, Result};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A number of a row or result: f32 or f64.
pub trait Number: Margin + RowNumber + sealed::Sealed {
    /// The missing value.
    const MISSING: Self;

    /// Narrows a feature to an f32 that splits decide alike.
    #[doc(hidden)]
    fn narrowed<B: StableBytes>(self, compiled: &CompiledModel<B>, feature: usize) -> f32;

    /// Returns the numbers if no feature needs narrowing.
    #[doc(hidden)]
    fn unchanged<'a, B: StableBytes>(_: &CompiledModel<B>, _: &'a [Self]) -> Option<&'a [f32]> {
        None
    }
}

impl Number for f32 {
    const MISSING: f32 = f32::NAN;

    #[inline]
    fn narrowed<B: StableBytes>(self, compiled: &CompiledModel<B>, feature: usize) -> f32 {
        match compiled.narrowing() {
            Narrowing::Binned => compiled.narrow_real(feature, self),
            Narrowing::Rounded | Narrowing::Adjusted => self,
        }
    }

    fn unchanged<'a, B: StableBytes>(
        compiled: &CompiledModel<B>,
        numbers: &'a [f32],
    ) -> Option<&'a [f32]> {
        (compiled.narrowing() != Narrowing::Binned).then_some(numbers)
    }
}

impl Number for f64 {
    const MISSING: f64 = f64::NAN;

    #[inline]
    fn narrowed<B: StableBytes>(self, compiled: &CompiledModel<B>, feature: usize) -> f32 {
        compiled.narrow(feature, self)
    }
}

/// Rows of features, dense with any strides or sparse in CSR, of f32 or f64.
///
/// A row has one number per feature, in the order of
/// [`Model::feature_names`](crate::Model::feature_names); categories are encoded by
/// [`Model::category`](crate::Model::category), and NaN is a missing value (but the hash of an unknown
/// category where CatBoost takes statistics). Numbers are borrowed, and their shape is checked once, so
/// reading cannot fail.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    rows: usize,
    columns: usize,
    values: RowValues<'a, T>,
}

#[derive(Clone, Copy, Debug)]
enum RowValues<'a, T> {
    Strided { values: &'a [T], strides: [usize; 2] },
    Sparse { starts: &'a [usize], columns: &'a [u32], values: &'a [T], absent: T },
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::RowLength, message)
}

impl<'a, T: Number> Rows<'a, T> {
    /// Creates contiguous rows: `values.len() == rows * columns`.
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`] for another length.
    pub fn dense(values: &'a [T], [rows, columns]: [usize; 2]) -> Result<Self> {
        let count = values.len();
        if rows.checked_mul(columns) != Some(count) {
            let message = format!("{rows} rows of {columns} columns are not {count} numbers");
            return Err(wrong(message));
        }
        Ok(Rows { rows, columns, values: RowValues::Strided { values, strides: [columns, 1] } })
    }

    /// Creates rows with strides, in numbers, between rows and between columns; `[1, rows]` is
    /// column-major order.
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`] if an element would be out of bounds.
    pub fn strided(
        values: &'a [T],
        [rows, columns]: [usize; 2],
        strides: [usize; 2],
    ) -> Result<Self> {
        let last = |count: usize, stride: usize| count.checked_sub(1)?.checked_mul(stride);
        let within = rows == 0
            || columns == 0
            || last(rows, strides[0])
                .zip(last(columns, strides[1]))
                .and_then(|(row, column)| row.checked_add(column))
                .is_some_and(|last| last < values.len());
        if !within {
            let count = values.len();
            let message = format!("{rows} rows of {columns} columns lie beyond {count} numbers");
            return Err(wrong(message));
        }
        Ok(Rows { rows, columns, values: RowValues::Strided { values, strides } })
    }

    /// Creates sparse rows in CSR, like `scipy.sparse.csr_array`: row `i` has the numbers
    /// `starts[i]..starts[i + 1]`, in the columns of the same indices. Absent numbers are missing, as
    /// in XGBoost's `DMatrix`; see [`Rows::with_absent`].
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`] if starts do not ascend from 0 to the number of values, the numbers of
    /// columns and values differ, or a column is not below `num_columns`.
    pub fn csr(
        starts: &'a [usize],
        columns: &'a [u32],
        values: &'a [T],
        num_columns: usize,
    ) -> Result<Self> {
        let ends = starts.first() == Some(&0) && starts.last() == Some(&values.len());
        if !ends || !starts.is_sorted() {
            return Err(wrong("the starts of sparse rows do not span their values".to_owned()));
        }
        if columns.len() != values.len() {
            let (values, columns) = (values.len(), columns.len());
            return Err(wrong(format!("{values} values of sparse rows have {columns} columns")));
        }
        if let Some(column) = columns.iter().find(|column| **column as usize >= num_columns) {
            return Err(wrong(format!("a sparse row has column {column} of {num_columns}")));
        }
        let values = RowValues::Sparse { starts, columns, values, absent: T::MISSING };
        Ok(Rows { rows: starts.len().saturating_sub(1), columns: num_columns, values })
    }

    /// Sets the number for absent elements of sparse rows: LightGBM's is 0.
    #[must_use]
    pub fn with_absent(mut self, number: T) -> Self {
        if let RowValues::Sparse { absent, .. } = &mut self.values {
            *absent = number;
        }
        self
    }

    /// Returns the number of rows and of columns.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// Returns a range of the rows, cut to those that there are.
    #[must_use]
    pub fn range(&self, range: Range<usize>) -> Self {
        let end = range.end.min(self.rows);
        let start = range.start.min(end);
        let values = match self.values {
            RowValues::Strided { values, strides } => {
                // Rows without columns may have any strides.
                let first = start.saturating_mul(strides[0]).min(values.len());
                RowValues::Strided { values: &values[first..], strides }
            }
            RowValues::Sparse { starts, columns, values, absent } => {
                let starts = starts.get(start..=end).unwrap_or_default();
                RowValues::Sparse { starts, columns, values, absent }
            }
        };
        Rows { rows: end - start, columns: self.columns, values }
    }

    /// Returns a range of rows if they need neither copying nor narrowing.
    pub(super) fn unchanged<B: StableBytes>(
        &self,
        compiled: &CompiledModel<B>,
        [first, count]: [usize; 2],
    ) -> Option<&'a [f32]> {
        let RowValues::Strided { values, strides } = self.values else { return None };
        let rows = values.get(first * self.columns..(first + count) * self.columns)?;
        if strides == [self.columns, 1] { T::unchanged(compiled, rows) } else { None }
    }

    /// Writes a row's numbers into its cells for doubles.
    fn set_doubles(&self, num_features: usize, row: usize, cells: &mut [f32]) {
        let mut set = |column, value: T| set_double(cells, num_features, column, value.double());
        match self.values {
            RowValues::Strided { values, strides } => {
                let own = |column| values[row * strides[0] + column * strides[1]];
                (0..self.columns).for_each(|column| set(column, own(column)));
            }
            RowValues::Sparse { starts, columns, values, absent } => {
                (0..self.columns).for_each(|column| set(column, absent));
                let own = starts[row]..starts[row + 1];
                let own = columns[own.clone()].iter().zip(&values[own]);
                own.for_each(|(column, value)| set(*column as usize, *value));
            }
        }
    }

    /// Appends a range of rows in the engine's layout.
    pub(super) fn append_to<B: StableBytes>(
        &self,
        compiled: &CompiledModel<B>,
        [first, count]: [usize; 2],
        out: &mut Vec<f32>,
    ) {
        for row in first..first + count {
            let at = out.len();
            match self.values {
                RowValues::Strided { values, strides } => {
                    out.extend((0..self.columns).map(|column| {
                        let value = values[row * strides[0] + column * strides[1]];
                        value.narrowed(compiled, column)
                    }));
                }
                RowValues::Sparse { starts, columns, values, absent } => {
                    out.extend((0..self.columns).map(|column| absent.narrowed(compiled, column)));
                    let own = starts[row]..starts[row + 1];
                    for (column, value) in columns[own.clone()].iter().zip(&values[own]) {
                        let column = *column as usize;
                        out[at + column] = value.narrowed(compiled, column);
                    }
                }
            }
            if compiled.has_linear_leaves() {
                out.resize(at + compiled.row_length(), 0.0);
                self.set_doubles(compiled.num_features(), row, &mut out[at..]);
            }
        }
    }
}
