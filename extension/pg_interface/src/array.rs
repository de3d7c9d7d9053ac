//! Arrays: their elements, as features or as texts.

use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::{Number, ScalarType, Value, output, types};

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
    let element = types::element_type(types::base_type(type_oid)).and_then(ElementType::of);
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
        // SAFETY: `new` was told the elements' type.
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
        // SAFETY: `new` was told the elements' type.
        let text = |datum| unsafe { output::text_of(datum, self.element.oid) };
        self.datums().1.map(|element| element.map(text)).collect()
    }

    fn datums(self) -> (usize, impl ExactSizeIterator<Item = Option<Datum>>) {
        let oid = self.element.oid;
        let array = self.array();
        let (mut values, mut nulls, mut len) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        let (mut width, mut by_value, mut align) = (0, false, 0);
        // SAFETY: `new` was told the elements' type; the results are palloc'd.
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
