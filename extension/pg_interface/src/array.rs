//! Arrays: elements as values or text, and in-place access to arrays of numbers.
//!
//! Without NULLs, an array's header is followed by the lengths and lower bounds of dimensions, then the
//! elements in row-major order (array.h).

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use pgrx::array::RawArray;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{Array, FromDatum};

use crate::catalog;
use crate::report::check_for_interrupts;
use crate::value::{Number, ScalarType, Value, output_text};
use crate::varlena::{MAX_ALLOC, PIECE};

/// A non-NULL array.
#[derive(Clone, Copy)]
pub struct ArrayValue<'a> {
    datum: Datum,
    element: ElementType,
    lives: PhantomData<&'a ()>,
}

/// An array's element type, and how to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType {
    oid: Oid,
    scalar_type: ScalarType,
}

impl ElementType {
    /// Returns the type, if it is scalar and readable.
    pub fn of(oid: Oid) -> Option<ElementType> {
        ScalarType::of(oid).map(|scalar_type| ElementType { oid, scalar_type })
    }

    /// Returns the OID.
    pub fn oid(self) -> Oid {
        self.oid
    }

    /// Returns how to read an element.
    pub fn scalar_type(self) -> ScalarType {
        self.scalar_type
    }

    /// Returns whether elements are numbers.
    pub fn is_number(self) -> bool {
        !self.scalar_type.is_text()
    }
}

/// Returns the element type, if a type is an array of numbers.
pub fn number_elements(type_oid: Oid) -> Option<ElementType> {
    let element = catalog::element_type(catalog::base_type(type_oid)).and_then(ElementType::of);
    element.filter(|element| element.is_number())
}

impl<'a> ArrayValue<'a> {
    /// # Safety
    /// `datum` is an array of the element type; it and its detoasted form are valid for `'a`.
    #[inline]
    pub unsafe fn new(datum: Datum, element: ElementType) -> Self {
        ArrayValue { datum, element, lives: PhantomData }
    }

    #[inline]
    fn array(self) -> *mut pg_sys::ArrayType {
        // SAFETY: `new` requires an array.
        unsafe { pg_sys::pg_detoast_datum(self.datum.cast_mut_ptr()).cast() }
    }

    /// Returns the elements in place, if they are real, one-dimensional and not NULL.
    #[inline]
    pub fn plain_reals(self) -> Option<&'a [f32]> {
        if self.element.oid != pg_sys::FLOAT4OID {
            return None;
        }
        let array = self.array();
        // SAFETY: a header of one dimension without a null bitmap is followed by the elements, aligned
        // in a detoasted array.
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

    /// Detoasts the array, so that reading it several times copies it once.
    pub fn detoasted(self) -> Self {
        ArrayValue { datum: Datum::from(self.array()), ..self }
    }

    /// Returns the length of each dimension; none for an empty array.
    pub fn lengths(self) -> &'a [i32] {
        // SAFETY: `new` requires an array.
        unsafe { lengths(self.array()) }
    }

    /// Returns all elements in place, in row-major order, if they are real and not NULL.
    pub fn reals(self) -> Option<&'a [f32]> {
        if self.element.oid != pg_sys::FLOAT4OID {
            return None;
        }
        // SAFETY: `new` requires an array of the element type.
        unsafe { numbers(self.datum) }.map(|(_, elements)| elements)
    }

    /// Returns all elements in row-major order, and which of them are NULL.
    pub fn cells(self) -> (&'a [Datum], &'a [bool]) {
        let oid = self.element.oid;
        let (mut values, mut nulls, mut len) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        let (mut width, mut by_value, mut align) = (0, false, 0);
        // SAFETY: `new` requires the element type; deconstruct_array allocates as many values and nulls as
        // it returns, and a null pointer is never read, since slices of no element have none.
        unsafe {
            pg_sys::get_typlenbyvalalign(oid, &mut width, &mut by_value, &mut align);
            let width = width.into();
            pg_sys::deconstruct_array(
                self.array(),
                oid,
                width,
                by_value,
                align,
                &mut values,
                &mut nulls,
                &mut len,
            );
            let Some(len @ 1..) = usize::try_from(len).ok() else { return (&[], &[]) };
            (std::slice::from_raw_parts(values, len), std::slice::from_raw_parts(nulls, len))
        }
    }

    /// Returns the number of dimensions, 0 for an empty array, and the elements, `None` for NULL.
    pub fn elements(self) -> (usize, impl ExactSizeIterator<Item = Option<Value<'a>>>) {
        let ElementType { scalar_type, .. } = self.element;
        let (dimensions, elements) = self.datums();
        // SAFETY: `new` requires the element type.
        let value = move |datum| unsafe { Value::new(datum, scalar_type) };
        (dimensions, elements.map(move |element| element.map(value)))
    }

    /// Returns the elements of an array of numbers; `None` for NULL.
    pub fn numbers(self) -> impl ExactSizeIterator<Item = Option<Number<'a>>> {
        self.elements().1.map(|value| match value {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        })
    }

    /// Returns the elements' text; `None` for NULL.
    pub fn texts(self) -> Vec<Option<Vec<u8>>> {
        // SAFETY: `new` requires the element type.
        let text = |datum| unsafe { output_text(datum, self.element.oid) };
        self.datums().1.map(|element| element.map(text)).collect()
    }

    fn datums(self) -> (usize, impl ExactSizeIterator<Item = Option<Datum>>) {
        let array = self.detoasted();
        let (values, nulls) = array.cells();
        let elements = values.iter().zip(nulls).map(|(value, null)| (!null).then_some(*value));
        (array.lengths().len(), elements)
    }
}

/// Returns an array argument's number of dimensions; 0 for an empty array.
pub fn dimensions<T>(array: Array<'_, T>) -> usize {
    // SAFETY: pgrx created it from an argument of PostgreSQL's.
    unsafe { RawArray::from_array(array) }.map_or(0, |array| array.dims().len())
}

/// Returns the elements of a text[]; `None` for NULL.
///
/// # Safety
/// `datum` is a text[].
pub unsafe fn texts(datum: Datum) -> Vec<Option<String>> {
    // As bytes, because pgrx takes elements that are texts for UTF-8 in any database.
    // SAFETY: the datum is a text[].
    let array = unsafe { Array::<&[u8]>::from_datum(datum, false) };
    let elements = array.iter().flat_map(|array| array.iter());
    elements.map(|text| text.map(|bytes| String::from_utf8_lossy(bytes).into_owned())).collect()
}

/// Creates a one-dimensional real[].
pub fn real_array(values: &[f32]) -> Datum {
    filled(pg_sys::FLOAT4OID, values)
}

/// Creates an int[] of elements below 2^31.
pub fn integer_array(values: &[u32]) -> Datum {
    filled(pg_sys::INT4OID, values)
}

/// Creates a one-dimensional array without NULLs.
fn filled<T: Element>(element: Oid, values: &[T]) -> Datum {
    match NewArray::of(element, &[values.len()]) {
        Some(mut array) => {
            array.elements().copy_from_slice(values);
            array.into_datum()
        }
        // SAFETY: accepts any element type.
        None => unsafe { Datum::from(pg_sys::construct_empty_array(element)) },
    }
}

/// An element type for which any bits are valid.
pub trait Element: Copy {}
impl Element for f32 {}
impl Element for f64 {}
impl Element for u32 {}

/// A new array without NULLs, initially zeros.
pub struct NewArray<T> {
    array: *mut pg_sys::ArrayType,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Element> NewArray<T> {
    /// Allocates an array in the current memory context; `None` if it has no element, or more than
    /// PostgreSQL allows. Checks for interrupts.
    fn of(element: Oid, dimensions: &[usize]) -> Option<NewArray<T>> {
        const { assert!(size_of::<pg_sys::ArrayType>() == 16) };
        let len = elements_of(dimensions)?;
        let header = header_bytes(dimensions.len());
        let size = header + size_of::<T>() * len;
        if len == 0 || size > MAX_ALLOC {
            return None;
        }
        // SAFETY: the memory has the size of everything written; the fields are ArrayType's.
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

    /// Returns all elements.
    pub fn elements(&mut self) -> &mut [T] {
        // SAFETY: `of` allocated the elements with PostgreSQL's alignment.
        unsafe {
            let header = header_bytes((*self.array).ndim as usize);
            std::slice::from_raw_parts_mut(self.array.byte_add(header).cast(), self.len)
        }
    }

    /// Returns the array as a value.
    pub fn into_datum(self) -> Datum {
        Datum::from(self.array)
    }
}

impl NewArray<f32> {
    /// Allocates a real[]; see `of`.
    pub fn reals(dimensions: &[usize]) -> Option<Self> {
        NewArray::of(pg_sys::FLOAT4OID, dimensions)
    }
}

impl NewArray<f64> {
    /// Allocates a one-dimensional double precision[]; see `of`.
    pub fn doubles(len: usize) -> Option<Self> {
        NewArray::of(pg_sys::FLOAT8OID, &[len])
    }
}

/// Zeroes memory in pieces; half a gigabyte takes tenths of a second, mostly for page faults.
fn zero(bytes: &mut [MaybeUninit<u8>]) {
    for (number, piece) in bytes.chunks_mut(PIECE).enumerate() {
        if number > 0 {
            check_for_interrupts();
        }
        piece.fill(MaybeUninit::new(0));
    }
}

/// Maximum elements of an array (MaxArraySize in array.h).
const MAX_ELEMENTS: usize = MAX_ALLOC / size_of::<Datum>();

fn elements_of(dimensions: &[usize]) -> Option<usize> {
    let count = dimensions.iter().try_fold(1_usize, |count, len| count.checked_mul(*len))?;
    (count <= MAX_ELEMENTS).then_some(count)
}

/// Returns the offset of the elements in an array without NULLs, a multiple of the widest alignment.
fn header_bytes(dimensions: usize) -> usize {
    size_of::<pg_sys::ArrayType>() + 2 * size_of::<i32>() * dimensions
}

/// Returns a writable, detoasted double precision[] and its elements; `None` if it has NULLs.
///
/// # Safety
/// As for [`numbers`]; nothing else uses the array during `'a`.
pub unsafe fn doubles_mut<'a>(datum: Datum) -> Option<(Datum, &'a mut [f64])> {
    // SAFETY: the caller passes such an array; a detoasted value does not move.
    unsafe {
        let array = Datum::from(detoasted(datum));
        let (_, elements) = numbers::<f64>(array)?;
        Some((array, std::slice::from_raw_parts_mut(elements.as_ptr().cast_mut(), elements.len())))
    }
}

/// Returns a value with a four-byte header: itself, as for states of aggregates, or a copy.
///
/// # Safety
/// `datum` is a varlena.
#[inline]
unsafe fn detoasted(datum: Datum) -> *mut pg_sys::varlena {
    // SAFETY: the datum is a varlena.
    unsafe {
        let value: *mut pg_sys::varlena = datum.cast_mut_ptr();
        if pgrx::varatt_is_4b_u(value) { value } else { pg_sys::pg_detoast_datum(value) }
    }
}

/// Returns an array's dimensions and elements; `None` if it has NULLs.
///
/// # Safety
/// `datum` is an array of the element type; it and its detoasted form are valid for `'a`.
pub unsafe fn numbers<'a, T: Element>(datum: Datum) -> Option<(&'a [i32], &'a [T])> {
    // SAFETY: the datum is an array of the type. Without a null bitmap its elements follow lengths and
    // lower bounds, aligned once detoasted.
    unsafe {
        let array: *mut pg_sys::ArrayType = detoasted(datum).cast();
        if (*array).dataoffset != 0 {
            return None;
        }
        let lengths = lengths(array);
        let len = lengths.iter().map(|length| *length as usize).product::<usize>();
        let len = if lengths.is_empty() { 0 } else { len };
        let elements = array.byte_add(header_bytes(lengths.len())).cast();
        Some((lengths, std::slice::from_raw_parts(elements, len)))
    }
}

/// Returns the length of each dimension; none for an empty array.
///
/// # Safety
/// `array` is a detoasted array that is valid for `'a`.
unsafe fn lengths<'a>(array: *const pg_sys::ArrayType) -> &'a [i32] {
    // SAFETY: the header is followed by the lengths.
    unsafe {
        let dimensions = usize::try_from((*array).ndim).unwrap_or(0);
        std::slice::from_raw_parts(
            array.byte_add(size_of::<pg_sys::ArrayType>()).cast(),
            dimensions,
        )
    }
}
