//! One-dimensional arrays: reading features and names, and building results.

use pgrx::array::RawArray;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{Array, FromDatum, IntoDatum};

/// An array argument, taken apart: its dimensions, and its elements in order.
pub struct Elements {
    /// Number of dimensions; 0 for an empty array.
    pub dimensions: usize,
    values: *const Datum,
    nulls: *const bool,
    len: usize,
}

impl Elements {
    /// Takes an array apart.
    ///
    /// # Safety
    /// The datum is an array of that element type. What is returned is used only while the current
    /// memory context lives.
    pub unsafe fn of(datum: Datum, element: Oid) -> Elements {
        let mut values = std::ptr::null_mut();
        let mut nulls = std::ptr::null_mut();
        let mut len = 0;
        // SAFETY: the caller says what the datum is; the three results are palloc'd.
        unsafe {
            let (mut width, mut by_value, mut align) = (0, false, 0);
            pg_sys::get_typlenbyvalalign(element, &mut width, &mut by_value, &mut align);
            let array: *mut pg_sys::ArrayType =
                pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast();
            pg_sys::deconstruct_array(
                array,
                element,
                width.into(),
                by_value,
                align,
                &mut values,
                &mut nulls,
                &mut len,
            );
            let dimensions = usize::try_from((*array).ndim).unwrap_or(0);
            Elements { dimensions, values, nulls, len: usize::try_from(len).unwrap_or(0) }
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The elements in order; nothing for a NULL.
    pub fn iter(&self) -> impl Iterator<Item = Option<Datum>> {
        // SAFETY: deconstruct_array gave that many of both.
        (0..self.len).map(|i| unsafe { (!*self.nulls.add(i)).then_some(*self.values.add(i)) })
    }
}

/// The elements of a real[] that has no NULLs and one dimension, without a copy.
///
/// # Safety
/// The datum is a real[]. What is returned is used only while the current memory context lives.
#[inline]
pub unsafe fn plain_reals<'a>(datum: Datum) -> Option<&'a [f32]> {
    // SAFETY: the caller says what it is; a header of one dimension without a null bitmap is
    // followed by the elements, and a detoasted array is aligned for them.
    unsafe {
        let array: *mut pg_sys::ArrayType = pg_sys::pg_detoast_datum(datum.cast_mut_ptr()).cast();
        if (*array).ndim != 1 || (*array).dataoffset != 0 {
            return None;
        }
        let header = size_of::<pg_sys::ArrayType>();
        let len = *array.byte_add(header).cast::<i32>();
        // The header, one length and one lower bound: 24 bytes, a multiple of the alignment.
        let data = array.byte_add(header + 2 * size_of::<i32>()).cast::<f32>();
        Some(std::slice::from_raw_parts(data, usize::try_from(len).unwrap_or(0)))
    }
}

/// Number of dimensions of an array argument; 0 for an empty array.
pub fn dimensions<T>(array: Array<'_, T>) -> usize {
    // SAFETY: pgrx made it of an argument that PostgreSQL passed.
    unsafe { RawArray::from_array(array) }.map_or(0, |array| array.dims().len())
}

/// A text[] as Rust strings.
///
/// # Safety
/// The datum is a text[].
pub unsafe fn texts(datum: Datum) -> Vec<Option<String>> {
    // SAFETY: the caller says so.
    unsafe { Vec::<Option<String>>::from_datum(datum, false) }.unwrap_or_default()
}

/// A real[] with these elements.
pub fn real_array(values: &[f32]) -> Datum {
    build(pg_sys::FLOAT4OID, values)
}

/// An int[] with these elements, none of which reaches 2^31.
pub fn integer_array(values: &[u32]) -> Datum {
    build(pg_sys::INT4OID, values)
}

/// Lays out an array of four-byte elements without NULLs: the header, one dimension, the elements.
fn build<T: Copy>(element: Oid, values: &[T]) -> Datum {
    const { assert!(size_of::<T>() == 4 && size_of::<pg_sys::ArrayType>() == 16) };
    if values.is_empty() {
        // SAFETY: takes any type of elements.
        return unsafe { Datum::from(pg_sys::construct_empty_array(element)) };
    }
    let size = 24 + 4 * values.len();
    // SAFETY: the memory is as large as is written to it; the fields are those of ArrayType.
    unsafe {
        let array: *mut pg_sys::ArrayType = pg_sys::palloc(size).cast();
        pgrx::set_varsize_4b(array.cast(), size as i32);
        (*array).ndim = 1;
        (*array).dataoffset = 0;
        (*array).elemtype = element;
        *array.byte_add(16).cast::<i32>() = values.len() as i32;
        *array.byte_add(20).cast::<i32>() = 1;
        std::ptr::copy_nonoverlapping(values.as_ptr(), array.byte_add(24).cast(), values.len());
        Datum::from(array)
    }
}

/// A text value.
pub fn text(value: &str) -> Datum {
    value.into_datum().unwrap_or(Datum::from(0))
}
