//! Rows of features as a program has them.
//!
//! A row has one number per feature, in the order of [`Model::feature_names`](crate::Model::feature_names):
//! a category as [`Model::category`](crate::Model::category) gives it, NaN where a value is missing. (A
//! category that CatBoost takes statistics of is never missing: NaN is the hash of some unknown one.) Rows
//! are f32 or f64, dense with any strides, or sparse in CSR. Nothing is copied here; shapes are checked once,
//! so reading them cannot fail.

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

/// A number of a row, or of a result: f32 or f64.
pub trait Number: Margin + RowNumber + sealed::Sealed {
    /// What stands for a missing value.
    const MISSING: Self;

    /// The f32 that splits of a feature decide as the model decides this number.
    #[doc(hidden)]
    fn narrowed<B: StableBytes>(self, compiled: &CompiledModel<B>, feature: usize) -> f32;

    /// The same numbers, if splits take them as they are.
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
            Narrowing::Binned => compiled.narrow(feature, self.into()),
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

/// Rows of features: see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    rows: usize,
    columns: usize,
    values: Values<'a, T>,
}

#[derive(Clone, Copy, Debug)]
enum Values<'a, T> {
    Strided { values: &'a [T], strides: [usize; 2] },
    Sparse { starts: &'a [usize], columns: &'a [u32], values: &'a [T], absent: T },
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::RowLength, message)
}

impl<'a, T: Number> Rows<'a, T> {
    /// Rows one after another: `values.len() == rows * columns`.
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`] unless the length is that.
    pub fn dense(values: &'a [T], [rows, columns]: [usize; 2]) -> Result<Self> {
        let count = values.len();
        if rows.checked_mul(columns) != Some(count) {
            let message = format!("{rows} rows of {columns} columns are not {count} numbers");
            return Err(wrong(message));
        }
        Ok(Rows { rows, columns, values: Values::Strided { values, strides: [columns, 1] } })
    }

    /// Rows with other distances, counted in numbers: from a row to the next, and from a column to the next.
    /// `[1, rows]` are those of column-major order.
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`] if a number would lie behind the last.
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
        Ok(Rows { rows, columns, values: Values::Strided { values, strides } })
    }

    /// Sparse rows in CSR, as `scipy.sparse.csr_array` has them: row `i` has the numbers from `starts[i]` up
    /// to `starts[i + 1]`, each of the column at the same index. What is absent is missing, as it is to
    /// XGBoost's
    /// `DMatrix`; see [`Rows::with_absent`].
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`] if starts do not ascend from 0 to the number of values, if there are not as
    /// many columns as values, or if a column is not below `num_columns`.
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
        let values = Values::Sparse { starts, columns, values, absent: T::MISSING };
        Ok(Rows { rows: starts.len().saturating_sub(1), columns: num_columns, values })
    }

    /// What a number that a sparse row does not have is: LightGBM takes 0 for it.
    #[must_use]
    pub fn with_absent(mut self, number: T) -> Self {
        if let Values::Sparse { absent, .. } = &mut self.values {
            *absent = number;
        }
        self
    }

    /// Number of rows, and of columns.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// Successive rows, if they lie as the engine reads them and no number needs to be changed.
    pub(super) fn unchanged<B: StableBytes>(
        &self,
        compiled: &CompiledModel<B>,
        [first, count]: [usize; 2],
    ) -> Option<&'a [f32]> {
        let Values::Strided { values, strides } = self.values else { return None };
        let rows = values.get(first * self.columns..(first + count) * self.columns)?;
        if strides == [self.columns, 1] { T::unchanged(compiled, rows) } else { None }
    }

    /// Puts the numbers of a row into its cells for doubles.
    fn set_doubles(&self, num_features: usize, row: usize, cells: &mut [f32]) {
        let mut set = |column, value: T| set_double(cells, num_features, column, value.double());
        match self.values {
            Values::Strided { values, strides } => {
                let own = |column| values[row * strides[0] + column * strides[1]];
                (0..self.columns).for_each(|column| set(column, own(column)));
            }
            Values::Sparse { starts, columns, values, absent } => {
                (0..self.columns).for_each(|column| set(column, absent));
                let own = starts[row]..starts[row + 1];
                let own = columns[own.clone()].iter().zip(&values[own]);
                own.for_each(|(column, value)| set(*column as usize, *value));
            }
        }
    }

    /// Appends successive rows as the engine reads them.
    pub(super) fn append_to<B: StableBytes>(
        &self,
        compiled: &CompiledModel<B>,
        [first, count]: [usize; 2],
        out: &mut Vec<f32>,
    ) {
        for row in first..first + count {
            let at = out.len();
            match self.values {
                Values::Strided { values, strides } => {
                    out.extend((0..self.columns).map(|column| {
                        let value = values[row * strides[0] + column * strides[1]];
                        value.narrowed(compiled, column)
                    }));
                }
                Values::Sparse { starts, columns, values, absent } => {
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
