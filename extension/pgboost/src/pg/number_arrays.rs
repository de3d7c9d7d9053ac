//! Arrays of numbers without NULLs, of any number of dimensions: results that are being filled, and
//! arrays that such results are read from again.
//!
//! Their elements lie one after another behind the lengths and the lower bounds of the dimensions, the
//! last dimension's next to each other, so they are read and written in place.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use pg_interface::report::check_for_interrupts;
use pgrx::pg_sys::{self, Datum, Oid};

pub fn real_array(values: &[f32]) -> Datum {
    filled(pg_sys::FLOAT4OID, values)
}

/// An int[] with these elements, none of which reaches 2^31.
pub fn integer_array(values: &[u32]) -> Datum {
    filled(pg_sys::INT4OID, values)
}

/// An array of one dimension without NULLs.
fn filled<T: Number>(element: Oid, values: &[T]) -> Datum {
    match NewArray::of(element, &[values.len()]) {
        Some(mut array) => {
            array.elements().copy_from_slice(values);
            array.into_datum()
        }
        // SAFETY: takes any type of elements.
        None => unsafe { Datum::from(pg_sys::construct_empty_array(element)) },
    }
}

/// What an array's elements may be here: any bits are a value of it.
pub trait Number: Copy {}
impl Number for f32 {}
impl Number for f64 {}
impl Number for u32 {}

/// An array without NULLs that is being filled; its elements are zeros at first.
pub struct NewArray<T> {
    array: *mut pg_sys::ArrayType,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Number> NewArray<T> {
    /// Room for the elements of these dimensions in the current memory context; nothing if there is no
    /// element, or if they are more than a value of PostgreSQL can hold. A cancel acts while it is made.
    fn of(element: Oid, dimensions: &[usize]) -> Option<NewArray<T>> {
        const { assert!(size_of::<pg_sys::ArrayType>() == 16) };
        let len = elements_of(dimensions)?;
        let header = header_bytes(dimensions.len());
        let size = header + size_of::<T>() * len;
        if len == 0 || size > MAX_BYTES {
            return None;
        }
        // SAFETY: the memory is as large as is written to it; the fields are those of ArrayType.
        unsafe {
            let array: *mut pg_sys::ArrayType = pg_sys::palloc(size).cast();
            zero(std::slice::from_raw_parts_mut(array.cast(), size));
            pgrx::set_varsize_4b(array.cast(), size as i32);
            (*array).ndim = dimensions.len() as i32;
            (*array).dataoffset = 0;
            (*array).elemtype = element;
            let lengths = array.byte_add(16).cast::<i32>();
            for (place, length) in dimensions.iter().enumerate() {
                *lengths.add(place) = *length as i32;
                *lengths.add(dimensions.len() + place) = 1;
            }
            Some(NewArray { array, len, elements: PhantomData })
        }
    }

    pub fn elements(&mut self) -> &mut [T] {
        // SAFETY: `of` made room for so many, aligned as PostgreSQL aligns them.
        unsafe {
            let header = header_bytes((*self.array).ndim as usize);
            std::slice::from_raw_parts_mut(self.array.byte_add(header).cast(), self.len)
        }
    }

    pub fn into_datum(self) -> Datum {
        Datum::from(self.array)
    }
}

impl NewArray<f32> {
    pub fn reals(dimensions: &[usize]) -> Option<Self> {
        NewArray::of(pg_sys::FLOAT4OID, dimensions)
    }
}

impl NewArray<f64> {
    pub fn doubles(len: usize) -> Option<Self> {
        NewArray::of(pg_sys::FLOAT8OID, &[len])
    }
}

/// Writes zeros; a result of half a gigabyte takes tenths of a second, mostly for its pages.
fn zero(bytes: &mut [MaybeUninit<u8>]) {
    for (number, piece) in bytes.chunks_mut(PIECE).enumerate() {
        if number > 0 {
            check_for_interrupts();
        }
        piece.fill(MaybeUninit::new(0));
    }
}

/// Bytes that are written before the next look for interrupts: less than ten milliseconds.
const PIECE: usize = 4 << 20;

/// Most bytes of a value (MaxAllocSize of memutils.h).
const MAX_BYTES: usize = 0x3fff_ffff;
/// Most elements of an array (MaxArraySize of array.h).
const MAX_ELEMENTS: usize = MAX_BYTES / size_of::<Datum>();

fn elements_of(dimensions: &[usize]) -> Option<usize> {
    let count = dimensions.iter().try_fold(1_usize, |count, len| count.checked_mul(*len))?;
    (count <= MAX_ELEMENTS).then_some(count)
}

/// Bytes before the elements of an array without NULLs: a multiple of the widest alignment.
fn header_bytes(dimensions: usize) -> usize {
    size_of::<pg_sys::ArrayType>() + 2 * size_of::<i32>() * dimensions
}

/// A double precision[] that may be written to, detoasted, and its elements; nothing if it has NULLs.
///
/// # Safety
/// As for [`numbers`], and nobody else uses the array for `'a`.
pub unsafe fn doubles_mut<'a>(datum: Datum) -> Option<(Datum, &'a mut [f64])> {
    // SAFETY: the caller says so; what is detoasted once stays where it is.
    unsafe {
        let array = Datum::from(detoasted(datum));
        let (_, elements) = numbers::<f64>(array)?;
        Some((array, std::slice::from_raw_parts_mut(elements.as_ptr().cast_mut(), elements.len())))
    }
}

/// A value with a header of four bytes: itself, as the states of aggregates are, or a copy.
///
/// # Safety
/// The datum is a varlena.
#[inline]
unsafe fn detoasted(datum: Datum) -> *mut pg_sys::varlena {
    // SAFETY: the caller says so.
    unsafe {
        let value: *mut pg_sys::varlena = datum.cast_mut_ptr();
        if pgrx::varatt_is_4b_u(value) { value } else { pg_sys::pg_detoast_datum(value) }
    }
}

/// The lengths of an array's dimensions, and its elements.
///
/// # Safety
/// The datum is an array of such elements and, like what it is detoasted to, valid for `'a`.
pub unsafe fn numbers<'a, T: Number>(datum: Datum) -> Option<(&'a [i32], &'a [T])> {
    // SAFETY: the caller says so; an array without a null bitmap has its elements behind its lengths
    // and lower bounds, aligned for them once it is detoasted.
    unsafe {
        let array: *mut pg_sys::ArrayType = detoasted(datum).cast();
        if (*array).dataoffset != 0 {
            return None;
        }
        let dimensions = usize::try_from((*array).ndim).ok()?;
        let lengths = std::slice::from_raw_parts(array.byte_add(16).cast::<i32>(), dimensions);
        let len = lengths.iter().map(|length| *length as usize).product::<usize>();
        let len = if dimensions == 0 { 0 } else { len };
        let elements = array.byte_add(header_bytes(dimensions)).cast();
        Some((lengths, std::slice::from_raw_parts(elements, len)))
    }
}
