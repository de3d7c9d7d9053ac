//! The types of a call's arguments behind the first, and the arguments as values of these types.
//!
//! A `Datum` does not say what it is; a statement declares it once for all calls of an expression. So
//! the types are looked up once, and reading an argument by them costs a look at a table.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::array::{ArrayValue, ElementType};
use crate::call::Arguments;
use crate::catalog;
use crate::jsonb::Object;
use crate::tuple::{RowValue, VirtualArray, VirtualRow, VirtualValues};
use crate::value::{NumberType, ScalarType, Value, output_text};
use crate::virtual_object::VirtualObject;

/// The position of the first argument that counts; the model's name comes before it.
const FIRST: usize = 1;

/// The type of an argument, as far as values of it can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentType {
    /// A number or a text.
    Scalar(ScalarType),
    /// An array, of elements that can be read.
    Array(ElementType),
    /// An array of other elements.
    OtherArray,
    /// A composite type.
    Row,
    /// jsonb
    Jsonb,
    /// Any other.
    Other,
}

impl ArgumentType {
    fn of(type_oid: Oid) -> ArgumentType {
        if let Some(scalar_type) = ScalarType::of(type_oid) {
            return ArgumentType::Scalar(scalar_type);
        }
        let base = catalog::base_type(type_oid);
        match catalog::element_type(base) {
            Some(oid) => ElementType::of(oid).map_or(ArgumentType::OtherArray, ArgumentType::Array),
            None if base == pg_sys::JSONBOID => ArgumentType::Jsonb,
            None if catalog::is_row_type(base) => ArgumentType::Row,
            None => ArgumentType::Other,
        }
    }
}

/// An argument of several values that is not NULL.
pub enum Composite<'a> {
    /// An array of elements that can be read.
    Array(ArrayValue<'a>),
    /// An array that was not formed.
    VirtualArray(VirtualArray<'a>),
    /// A row.
    Row(RowValue<'a>),
    /// A row that was not formed.
    VirtualRow(VirtualRow<'a>),
    /// A jsonb value: an object, or nothing for another.
    Jsonb(Option<Object<'a>>),
    /// A jsonb object that was not built.
    VirtualObject(VirtualObject<'a>),
}

/// The types of the arguments of a call behind the first.
pub struct Signature {
    types: Box<[(Oid, ArgumentType)]>,
    starts_with_column: bool,
}

impl Signature {
    /// Of a call.
    pub fn of(arguments: Arguments<'_>) -> Signature {
        let types = arguments.types_from(FIRST);
        Signature {
            types: types.map(|oid| (oid, ArgumentType::of(oid))).collect(),
            starts_with_column: arguments.is_column(FIRST),
        }
    }

    /// Whether a call has arguments of these types.
    #[inline]
    pub fn fits(&self, arguments: Arguments<'_>) -> bool {
        self.types.iter().map(|(oid, _)| *oid).eq(arguments.types_from(FIRST))
    }

    /// The types, with their OIDs.
    pub fn types(&self) -> &[(Oid, ArgumentType)] {
        &self.types
    }

    /// Whether the first of them is a column of the query, as it was when the types were found out.
    pub fn starts_with_column(&self) -> bool {
        self.starts_with_column
    }

    /// The arguments as values of these types.
    ///
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

    /// The values of an argument that is an array, a row or an object, if it was not formed.
    #[inline]
    fn virtual_values(&self, _index: usize) -> Option<VirtualValues<'_>> {
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
            // SAFETY: the caller of `typed` promises that the argument is of that type.
            ArgumentType::Scalar(scalar_type) => Some(unsafe { Value::new(datum, scalar_type) }),
            _ => None,
        }
    }

    /// An array, a row or a jsonb value, or nothing if the argument is NULL or something else.
    #[inline]
    pub fn composite(&self, index: usize) -> Option<Composite<'_>> {
        if let Some(values) = self.source.virtual_values(FIRST + index) {
            // SAFETY: the caller of `typed` promises that the argument is of that type.
            return unsafe {
                match *self.types.get(index)? {
                    (_, ArgumentType::Array(element)) => {
                        Some(Composite::VirtualArray(VirtualArray::new(values, element)))
                    }
                    (oid, ArgumentType::Row) => {
                        Some(Composite::VirtualRow(VirtualRow::new(values, oid)))
                    }
                    (_, ArgumentType::Jsonb) => Some(Composite::VirtualObject(VirtualObject::new(
                        values,
                        values.object_type()?,
                    ))),
                    _ => None,
                }
            };
        }
        let datum = self.source.get(FIRST + index)?;
        // SAFETY: the caller of `typed` promises that the argument is of that type.
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
        // SAFETY: the caller of `typed` promises that the argument is of that type.
        self.types.get(index).map(|(oid, _)| unsafe { output_text(datum, *oid) })
    }

    /// The arguments, which are all of type real; NaN where one is NULL.
    #[inline]
    pub fn read_reals(&self, reals: &mut [f32]) {
        let real_of = |datum: Datum| f32::from_bits(datum.value() as u32);
        if let Some(known) = self.source.reals() {
            reals.iter_mut().zip(known).for_each(|(real, known)| *real = *known);
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

/// The type real.
pub const REAL: ArgumentType = ArgumentType::Scalar(ScalarType::Number(NumberType::Float4));
