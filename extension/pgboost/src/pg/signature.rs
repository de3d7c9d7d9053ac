//! The types of a call's arguments behind the first, and the arguments as values of these types.
//!
//! A `Datum` does not say what it is; a statement declares it once for all calls of an expression. So
//! the types are worked out once, and reading an argument by them costs a look at a table.

use pg_interface::array::{ArrayValue, ElementType};
use pg_interface::{NumberType, ScalarType, Value, output, types};
use pgrx::pg_sys::{self, Datum, Oid};

use super::arguments::Arguments;
use super::arrays::Elements;
use super::jsonb::Object;
use super::parts::Parts;
use super::rows::{RowParts, RowValue};

/// The position of the first argument that counts; the model's name comes before it.
const FIRST: usize = 1;

/// What an argument's type is, as far as it can hold features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentType {
    Scalar(ScalarType),
    /// An array, of elements that can be read.
    Array(ElementType),
    OtherArray,
    Row,
    Jsonb,
    Other,
}

impl ArgumentType {
    fn of(type_oid: Oid) -> ArgumentType {
        if let Some(scalar_type) = ScalarType::of(type_oid) {
            return ArgumentType::Scalar(scalar_type);
        }
        let base = types::base_type(type_oid);
        match types::element_type(base) {
            Some(oid) => ElementType::of(oid).map_or(ArgumentType::OtherArray, ArgumentType::Array),
            None if base == pg_sys::JSONBOID => ArgumentType::Jsonb,
            None if types::is_row_type(base) => ArgumentType::Row,
            None => ArgumentType::Other,
        }
    }
}

/// An argument of several values that is not NULL.
pub enum Composite<'a> {
    Array(ArrayValue<'a>),
    /// The elements of an array.
    Elements(Elements<'a>),
    Row(RowValue<'a>),
    /// The columns of a row.
    Columns(RowParts<'a>),
    /// A jsonb value: an object, or nothing for another.
    Jsonb(Option<Object<'a>>),
}

/// The types of the arguments of a call behind the first.
pub struct Signature {
    types: Box<[(Oid, ArgumentType)]>,
    starts_with_column: bool,
}

impl Signature {
    pub fn of(arguments: Arguments<'_>) -> Signature {
        let types = arguments.types_from(FIRST);
        Signature {
            types: types.map(|oid| (oid, ArgumentType::of(oid))).collect(),
            starts_with_column: arguments.is_column(FIRST),
        }
    }

    #[inline]
    pub fn fits(&self, arguments: Arguments<'_>) -> bool {
        self.types.iter().map(|(oid, _)| *oid).eq(arguments.types_from(FIRST))
    }

    pub fn types(&self) -> &[(Oid, ArgumentType)] {
        &self.types
    }

    /// Whether the first of them is a column of the query, as it was when the types were found out.
    pub fn starts_with_column(&self) -> bool {
        self.starts_with_column
    }

    /// # Safety
    /// They are of these types.
    #[inline]
    pub unsafe fn typed<S: ArgSource>(&self, source: S) -> TypedArguments<'_, S> {
        TypedArguments { source, types: &self.types }
    }
}

/// Where the values of one row's arguments come from: a call, or a row that was read ahead of one.
pub trait ArgSource: Copy {
    /// An argument, or nothing if it is NULL. The model's name is the first.
    fn get(self, index: usize) -> Option<Datum>;

    /// The parts of an argument that is an array or a row, if it was not formed of them.
    #[inline]
    fn parts(&self, _index: usize) -> Option<Parts<'_>> {
        None
    }

    /// All arguments but the first, and which of them are NULL, if they lie one after another.
    #[inline]
    fn run(&self) -> Option<(&[Datum], &[bool])> {
        None
    }

    /// All arguments but the first, if they are known to be of type real; NaN where one is NULL.
    #[inline]
    fn reals(&self) -> Option<&[f32]> {
        None
    }
}

impl ArgSource for Arguments<'_> {
    #[inline]
    fn get(self, index: usize) -> Option<Datum> {
        Arguments::get(self, index)
    }
}

/// Arguments whose types are known. They are counted from 0 behind the first.
#[derive(Clone, Copy)]
pub struct TypedArguments<'s, S> {
    source: S,
    types: &'s [(Oid, ArgumentType)],
}

impl<S: ArgSource> TypedArguments<'_, S> {
    /// A number or a category, or nothing if the argument is NULL or something else.
    #[inline]
    pub fn scalar(&self, index: usize) -> Option<Value<'_>> {
        let datum = self.source.get(FIRST + index)?;
        match self.types.get(index)?.1 {
            // SAFETY: `typed` was told that the argument is of that type.
            ArgumentType::Scalar(scalar_type) => Some(unsafe { Value::new(datum, scalar_type) }),
            _ => None,
        }
    }

    /// An array, a row or a jsonb value, or nothing if the argument is NULL or something else.
    #[inline]
    pub fn composite(&self, index: usize) -> Option<Composite<'_>> {
        if let Some(parts) = self.source.parts(FIRST + index) {
            // SAFETY: `typed` was told that the argument is of that type.
            return unsafe {
                match *self.types.get(index)? {
                    (_, ArgumentType::Array(element)) => {
                        Some(Composite::Elements(Elements::new(parts, element)))
                    }
                    (oid, ArgumentType::Row) => Some(Composite::Columns(RowParts::new(parts, oid))),
                    _ => None,
                }
            };
        }
        let datum = self.source.get(FIRST + index)?;
        // SAFETY: `typed` was told that the argument is of that type.
        unsafe {
            match self.types.get(index)?.1 {
                ArgumentType::Array(element) => {
                    Some(Composite::Array(ArrayValue::new(datum, element)))
                }
                ArgumentType::Row => Some(Composite::Row(RowValue::new(datum))),
                ArgumentType::Jsonb => Some(Composite::Jsonb(Object::new(datum))),
                _ => None,
            }
        }
    }

    /// A number or a category as its type writes it, or nothing if the argument is NULL.
    pub fn text(&self, index: usize) -> Option<Vec<u8>> {
        let datum = self.source.get(FIRST + index)?;
        // SAFETY: `typed` was told that the argument is of that type.
        self.types.get(index).map(|(oid, _)| unsafe { output::text_of(datum, *oid) })
    }

    /// The arguments, which are all of type real; NaN where one is NULL.
    #[inline]
    pub fn read_reals(&self, reals: &mut [f32]) {
        let real_of = |datum: Datum| f32::from_bits(datum.value() as u32);
        if let Some(given) = self.source.reals() {
            reals.iter_mut().zip(given).for_each(|(real, given)| *real = *given);
        } else if let Some((values, nulls)) = self.source.run() {
            for ((real, value), null) in reals.iter_mut().zip(values).zip(nulls) {
                *real = if *null { f32::NAN } else { real_of(*value) };
            }
        } else {
            for (index, real) in reals.iter_mut().enumerate() {
                *real = self.source.get(FIRST + index).map_or(f32::NAN, real_of);
            }
        }
    }
}

pub const REAL: ArgumentType = ArgumentType::Scalar(ScalarType::Number(NumberType::Float4));
