//! Arrays: their elements as values or as texts, and arrays of numbers that are read and written in place.
//!
//! An array of numbers without NULLs has its elements one after another behind the lengths and the lower
//! bounds of its dimensions, the last dimension's next to each other (array.h).

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use pgrx::array::RawArray;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{Array, FromDatum};

use crate::catalog;
use crate::report::check_for_interrupts;
use crate::value::{Number, ScalarType, Value, output_text};
use crate::varlena::{MAX_ALLOC, PIECE};

/// An array that is not NULL.
#[derive(Clone, Copy)]
pub struct ArrayValue<'a> {
    datum: Datum,
    element: ElementType,
    lives: PhantomData<&'a ()>,
}

/// The type of an array's elements, and how to read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType {
    oid: Oid,
    scalar_type: ScalarType,
}

impl ElementType {
    /// How to read elements of a type, if they are scalar values.
    pub fn of(oid: Oid) -> Option<ElementType> {
        ScalarType::of(oid).map(|scalar_type| ElementType { oid, scalar_type })
    }

    /// The elements' type.
    pub fn oid(self) -> Oid {
        self.oid
    }

    /// How each element is read.
    pub fn scalar_type(self) -> ScalarType {
        self.scalar_type
    }

    /// Whether elements are numbers.
    pub fn is_number(self) -> bool {
        !self.scalar_type.is_text()
    }
}

/// The type of the elements, if values of a type are arrays of numbers.
pub fn number_elements(type_oid: Oid) -> Option<ElementType> {
    let element = catalog::element_type(catalog::base_type(type_oid)).and_then(ElementType::of);
    element.filter(|element| element.is_number())
}

impl<'a> ArrayValue<'a> {
    /// # Safety
    /// The datum is an array of such elements and, like what it is detoasted to, valid for `'a`.
    #[inline]
    pub unsafe fn new(datum: Datum, element: ElementType) -> Self {
        ArrayValue { datum, element, lives: PhantomData }
    }

    #[inline]
    fn array(self) -> *mut pg_sys::ArrayType {
        // SAFETY: `new` was given an array.
        unsafe { pg_sys::pg_detoast_datum(self.datum.cast_mut_ptr()).cast() }
    }

    /// The elements, without a copy, if they are of type real, in one dimension, and none is NULL.
    #[inline]
    pub fn plain_reals(self) -> Option<&'a [f32]> {
        if self.element.oid != pg_sys::FLOAT4OID {
            return None;
        }
        let array = self.array();
        // SAFETY: a header of one dimension without a null bitmap is followed by the elements, and a
        // detoasted array is aligned for them.
        unsafe {
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

    /// The number of dimensions, 0 for an empty array, and the elements in order, nothing for a NULL.
    pub fn elements(self) -> (usize, impl ExactSizeIterator<Item = Option<Value<'a>>>) {
        let ElementType { scalar_type, .. } = self.element;
        let (dimensions, elements) = self.datums();
        // SAFETY: `new` was given the elements' type.
        let value = move |datum| unsafe { Value::new(datum, scalar_type) };
        (dimensions, elements.map(move |element| element.map(value)))
    }

    /// The elements if they are numbers, in order, nothing for a NULL.
    pub fn numbers(self) -> impl ExactSizeIterator<Item = Option<Number<'a>>> {
        self.elements().1.map(|value| match value {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        })
    }

    /// The elements as their type writes them, nothing for a NULL.
    pub fn texts(self) -> Vec<Option<Vec<u8>>> {
        // SAFETY: `new` was given the elements' type.
        let text = |datum| unsafe { output_text(datum, self.element.oid) };
        self.datums().1.map(|element| element.map(text)).collect()
    }

    fn datums(self) -> (usize, impl ExactSizeIterator<Item = Option<Datum>>) {
        let oid = self.element.oid;
        let array = self.array();
        let (mut values, mut nulls, mut len) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        let (mut width, mut by_value, mut align) = (0, false, 0);
        // SAFETY: `new` was given the elements' type; the results are palloc'd.
        let dimensions = unsafe {
            pg_sys::get_typlenbyvalalign(oid, &mut width, &mut by_value, &mut align);
            let width = width.into();
            pg_sys::deconstruct_array(
                array,
                oid,
                width,
                by_value,
                align,
                &mut values,
                &mut nulls,
                &mut len,
            );
            (*array).ndim
        };
        // SAFETY: deconstruct_array returned that many of both.
        let element = move |index| unsafe { (!*nulls.add(index)).then(|| *values.add(index)) };
        let len = usize::try_from(len).unwrap_or(0);
        (usize::try_from(dimensions).unwrap_or(0), (0..len).map(element))
    }
}

/// Number of dimensions of an array argument; 0 for an empty array.
pub fn dimensions<T>(array: Array<'_, T>) -> usize {
    // SAFETY: pgrx made it of an argument that PostgreSQL passed.
    unsafe { RawArray::from_array(array) }.map_or(0, |array| array.dims().len())
}

/// The elements of a text[], nothing for a NULL.
///
/// # Safety
/// The datum is a text[].
pub unsafe fn texts(datum: Datum) -> Vec<Option<String>> {
    // SAFETY: guaranteed by the caller.
    unsafe { Vec::<Option<String>>::from_datum(datum, false) }.unwrap_or_default()
}

/// A real[] of one dimension.
pub fn real_array(values: &[f32]) -> Datum {
    filled(pg_sys::FLOAT4OID, values)
}

/// An int[] with these elements, none of which reaches 2^31.
pub fn integer_array(values: &[u32]) -> Datum {
    filled(pg_sys::INT4OID, values)
}

/// An array of one dimension without NULLs.
fn filled<T: Element>(element: Oid, values: &[T]) -> Datum {
    match NewArray::of(element, &[values.len()]) {
        Some(mut array) => {
            array.elements().copy_from_slice(values);
            array.into_datum()
        }
        // SAFETY: takes any type of elements.
        None => unsafe { Datum::from(pg_sys::construct_empty_array(element)) },
    }
}

/// The type of an array's elements: any bits are a value of it.
pub trait Element: Copy {}
impl Element for f32 {}
impl Element for f64 {}
impl Element for u32 {}

/// An array without NULLs that is being filled; its elements are zeros at first.
pub struct NewArray<T> {
    array: *mut pg_sys::ArrayType,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Element> NewArray<T> {
    /// Room for the elements of these dimensions in the current memory context; nothing if there is no
    /// element, or if they are more than a value of PostgreSQL can hold. A cancel acts while it is made.
    fn of(element: Oid, dimensions: &[usize]) -> Option<NewArray<T>> {
        const { assert!(size_of::<pg_sys::ArrayType>() == 16) };
        let len = elements_of(dimensions)?;
        let header = header_bytes(dimensions.len());
        let size = header + size_of::<T>() * len;
        if len == 0 || size > MAX_ALLOC {
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

    /// All elements, to be written.
    pub fn elements(&mut self) -> &mut [T] {
        // SAFETY: `of` made room for so many, aligned as PostgreSQL aligns them.
        unsafe {
            let header = header_bytes((*self.array).ndim as usize);
            std::slice::from_raw_parts_mut(self.array.byte_add(header).cast(), self.len)
        }
    }

    /// The array as a value.
    pub fn into_datum(self) -> Datum {
        Datum::from(self.array)
    }
}

impl NewArray<f32> {
    /// A real[] of these dimensions, as for `of`.
    pub fn reals(dimensions: &[usize]) -> Option<Self> {
        NewArray::of(pg_sys::FLOAT4OID, dimensions)
    }
}

impl NewArray<f64> {
    /// A double precision[] of one dimension, as for `of`.
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

/// Most elements of an array (MaxArraySize of array.h).
const MAX_ELEMENTS: usize = MAX_ALLOC / size_of::<Datum>();

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
    // SAFETY: guaranteed by the caller; what is detoasted once stays where it is.
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
    // SAFETY: guaranteed by the caller.
    unsafe {
        let value: *mut pg_sys::varlena = datum.cast_mut_ptr();
        if pgrx::varatt_is_4b_u(value) { value } else { pg_sys::pg_detoast_datum(value) }
    }
}

/// The lengths of an array's dimensions, and its elements.
///
/// # Safety
/// The datum is an array of such elements and, like what it is detoasted to, valid for `'a`.
pub unsafe fn numbers<'a, T: Element>(datum: Datum) -> Option<(&'a [i32], &'a [T])> {
    // SAFETY: guaranteed by the caller; an array without a null bitmap has its elements behind its
    // lengths and lower bounds, aligned for them once it is detoasted.
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
