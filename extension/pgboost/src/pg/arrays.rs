//! Arrays that were not formed, arrays of texts, and the dimensions of any.

use pg_interface::array::ElementType;
use pg_interface::{Row, Value};
use pgrx::array::RawArray;
use pgrx::pg_sys::{self, Datum};
use pgrx::{Array, FromDatum, IntoDatum};

use super::parts::Parts;

/// The elements of an array of one dimension that was not formed.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    parts: Parts<'a>,
    element: ElementType,
}

impl<'a> Elements<'a> {
    /// # Safety
    /// The parts are of that type, or NULL.
    #[inline]
    pub unsafe fn new(parts: Parts<'a>, element: ElementType) -> Self {
        Elements { parts, element }
    }

    pub fn len(self) -> usize {
        self.parts.len()
    }

    /// The elements as a row, if they are of type real and lie one after another.
    #[inline]
    pub fn reals(self) -> Option<Row<'a>> {
        self.parts.as_row().filter(|_| self.element.oid() == pg_sys::FLOAT4OID)
    }

    /// The elements, nothing for a NULL.
    pub fn values(self) -> impl ExactSizeIterator<Item = Option<Value<'a>>> {
        let scalar_type = self.element.scalar_type();
        // SAFETY: `new` was told the elements' type.
        let value = move |datum| unsafe { Value::new(datum, scalar_type) };
        self.parts.datums().map(move |element| element.map(value))
    }
}

/// Number of dimensions of an array argument; 0 for an empty array.
pub fn dimensions<T>(array: Array<'_, T>) -> usize {
    // SAFETY: pgrx made it of an argument that PostgreSQL passed.
    unsafe { RawArray::from_array(array) }.map_or(0, |array| array.dims().len())
}

/// # Safety
/// The datum is a text[].
pub unsafe fn texts(datum: Datum) -> Vec<Option<String>> {
    // SAFETY: the caller says so.
    unsafe { Vec::<Option<String>>::from_datum(datum, false) }.unwrap_or_default()
}

pub fn text(value: &str) -> Datum {
    value.into_datum().unwrap_or(Datum::from(0))
}
