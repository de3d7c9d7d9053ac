//! Rows of NumPy's arrays, read in place.
//!
//! An array of f32 or f64 is read with any strides but negative ones, which are copied; sparse rows come as
//! the three arrays of SciPy's CSR. As with NumPy's own functions, another thread that writes into an array
//! during a call is the caller's to prevent.
#![allow(unsafe_code, reason = "rows are borrowed from NumPy's memory")]

use std::slice;

use gbtrees::{Number, Rows};
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::{GbtreesError, raised};

/// Rows of either type.
pub(crate) enum Given<'py> {
    Single(Array<'py, f32>),
    Double(Array<'py, f64>),
}

/// An array, or the arrays of sparse rows.
pub(crate) enum Array<'py, T: Element> {
    Dense(Bound<'py, PyArray2<T>>),
    Sparse {
        starts: PyReadonlyArray1<'py, usize>,
        columns: PyReadonlyArray1<'py, u32>,
        values: PyReadonlyArray1<'py, T>,
        num_columns: usize,
        absent: f64,
    },
}

impl<'py> Given<'py> {
    /// Takes a two-dimensional array of f32 or f64, or a tuple of starts, columns, values, the number of
    /// columns, and the number of absent elements.
    pub(crate) fn new(rows: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Some(array) = dense(rows)? {
            return Ok(Given::Single(array));
        }
        if let Some(array) = dense(rows)? {
            return Ok(Given::Double(array));
        }
        let (starts, columns, values, num_columns, absent) = rows.cast::<PyTuple>()?.extract::<(
            PyReadonlyArray1<'py, usize>,
            PyReadonlyArray1<'py, u32>,
            Bound<'py, PyAny>,
            usize,
            f64,
        )>()?;
        Ok(match values.cast::<PyArray1<f32>>() {
            Ok(values) => {
                let values = values.try_readonly()?;
                Given::Single(Array::Sparse { starts, columns, values, num_columns, absent })
            }
            Err(_) => {
                let values = values.extract()?;
                Given::Double(Array::Sparse { starts, columns, values, num_columns, absent })
            }
        })
    }
}

/// Returns the array if it has the type, copied where its strides need it.
fn dense<'py, T: Element>(rows: &Bound<'py, PyAny>) -> PyResult<Option<Array<'py, T>>> {
    let Ok(array) = rows.cast::<PyArray2<T>>() else { return Ok(None) };
    if strides(array).is_some() {
        return Ok(Some(Array::Dense(array.clone())));
    }
    let copied = array.call_method1("copy", ("C",))?;
    Ok(Some(Array::Dense(copied.cast_into::<PyArray2<T>>()?)))
}

/// Returns the strides in elements of an array that can be read in place.
fn strides<T: Element>(array: &Bound<'_, PyArray2<T>>) -> Option<[usize; 2]> {
    let &[rows, columns] = array.shape() else { return None };
    let &[by_row, by_column] = array.strides() else { return None };
    if !array.is_aligned() {
        return None;
    }
    let in_elements = |count: usize, stride: isize, contiguous: usize| {
        if count <= 1 {
            return Some(contiguous);
        }
        let stride = usize::try_from(stride).ok()?;
        stride.is_multiple_of(size_of::<T>()).then_some(stride / size_of::<T>())
    };
    Some([in_elements(rows, by_row, columns)?, in_elements(columns, by_column, 1)?])
}

/// The numbers from an array's first to its last.
fn numbers<'a, T: Element>(
    array: &'a Bound<'_, PyArray2<T>>,
    strides: [usize; 2],
) -> Option<&'a [T]> {
    let &[rows, columns] = array.shape() else { return None };
    if rows == 0 || columns == 0 {
        return Some(&[]);
    }
    let last =
        (rows - 1).checked_mul(strides[0])?.checked_add((columns - 1).checked_mul(strides[1])?)?;
    // SAFETY: the array is aligned, with strides of whole elements that do not descend, so that these are
    // NumPy's elements and what lies between them in the same memory, which the array keeps for `'a`.
    Some(unsafe { slice::from_raw_parts(array.data(), last.checked_add(1)?) })
}

impl<T: Number + Element> Array<'_, T> {
    /// Returns the rows as the engine reads them.
    pub(crate) fn rows(&self) -> PyResult<Rows<'_, T>> {
        let rows = match self {
            Array::Dense(array) => {
                let unread = || GbtreesError::new_err("the array cannot be read");
                let strides = strides(array).ok_or_else(unread)?;
                let numbers = numbers(array, strides).ok_or_else(unread)?;
                let &[rows, columns] = array.shape() else { return Err(unread()) };
                Rows::strided(numbers, [rows, columns], strides)
            }
            Array::Sparse { starts, columns, values, num_columns, absent } => {
                Rows::csr(starts.as_slice()?, columns.as_slice()?, values.as_slice()?, *num_columns)
                    .map(|rows| rows.with_absent(T::of(*absent)))
            }
        };
        rows.map_err(|error| raised(&error))
    }
}
