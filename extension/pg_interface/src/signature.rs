//! The types of a call's arguments after the first, and typed access to them.
//!
//! A `Datum` has no type, but a statement declares it once for all calls of an expression. So types are
//! looked up once, and reading an argument costs one look at a table.

use pgrx::pg_sys::{self, Datum, Oid};

use crate::array::{ArrayValue, ElementType};
use crate::call::Arguments;
use crate::catalog;
use crate::jsonb::Object;
use crate::tuple::{RowValue, VirtualArray, VirtualRow, VirtualValues};
use crate::value::{NumberType, ScalarType, Value, output_text};
use crate::virtual_object::VirtualObject;

/// The first argument of a signature; the one before it is typed by the function itself.
const FIRST: usize = 1;

/// The type of an argument, as far as it is readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentType {
    /// A number or text.
    Scalar(ScalarType),
    /// An array of readable elements.
    Array(ElementType),
    /// An array of other elements.
    OtherArray,
    /// A composite type.
    Row,
    /// jsonb
    Jsonb,
    /// Any other type.
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

/// A non-NULL argument of several values.
pub enum Composite<'a> {
    /// An array of readable elements.
    Array(ArrayValue<'a>),
    /// An array that was not formed.
    VirtualArray(VirtualArray<'a>),
    /// A row.
    Row(RowValue<'a>),
    /// A row that was not formed.
    VirtualRow(VirtualRow<'a>),
    /// A jsonb value; `None` unless it is an object.
    Jsonb(Option<Object<'a>>),
    /// A jsonb object that was not built.
    VirtualObject(VirtualObject<'a>),
}

/// The types of a call's arguments after the first.
pub struct Signature {
    types: Box<[(Oid, ArgumentType)]>,
    starts_with_column: bool,
}

impl Signature {
    /// Looks up the types of a call.
    pub fn of(arguments: Arguments<'_>) -> Signature {
        let types = arguments.types_from(FIRST);
        Signature {
            types: types.map(|oid| (oid, ArgumentType::of(oid))).collect(),
            starts_with_column: arguments.is_column(FIRST),
        }
    }

    /// Returns the signature of a call with one row of a type.
    pub fn of_row(row_type: Oid) -> Signature {
        let types = Box::new([(row_type, ArgumentType::Row)]);
        Signature { types, starts_with_column: false }
    }

    /// Returns whether a call has arguments of these types.
    #[inline]
    pub fn fits(&self, arguments: Arguments<'_>) -> bool {
        self.types.iter().map(|(oid, _)| *oid).eq(arguments.types_from(FIRST))
    }

    /// Returns the types with their OIDs.
    pub fn types(&self) -> &[(Oid, ArgumentType)] {
        &self.types
    }

    /// Returns whether the first of them was a column of the query at the lookup.
    pub fn starts_with_column(&self) -> bool {
        self.starts_with_column
    }

    /// Returns typed access to arguments.
    ///
    /// # Safety
    /// The arguments are of these types.
    #[inline]
    pub unsafe fn typed<S: ArgSource>(&self, source: S) -> TypedArguments<'_, S> {
        TypedArguments { source, types: &self.types }
    }
}

/// A source of one row's arguments: a call, or a row read ahead of one.
pub trait ArgSource: Copy {
    /// Returns an argument; `None` for NULL.
    fn get(self, index: usize) -> Option<Datum>;

    /// Returns the values of an array, row or object argument that was not formed.
    #[inline]
    fn virtual_values(&self, _index: usize) -> Option<VirtualValues<'_>> {
        None
    }

    /// Returns all arguments but the first, and their NULL flags, if they are consecutive.
    #[inline]
    fn run(&self) -> Option<(&[Datum], &[bool])> {
        None
    }

    /// Returns all arguments but the first, if they are known to be real; NaN for NULL.
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

/// A source of one argument, a row.
#[derive(Clone, Copy)]
pub struct RowArgument(pub Datum);

impl ArgSource for RowArgument {
    #[inline]
    fn get(self, index: usize) -> Option<Datum> {
        (index == FIRST).then_some(self.0)
    }
}

/// Typed arguments, counted from 0 after the first.
#[derive(Clone, Copy)]
pub struct TypedArguments<'s, S> {
    source: S,
    types: &'s [(Oid, ArgumentType)],
}

impl<S: ArgSource> TypedArguments<'_, S> {
    /// Returns a number or category; `None` if the argument is NULL or something else.
    #[inline]
    pub fn scalar(&self, index: usize) -> Option<Value<'_>> {
        let datum = self.source.get(FIRST + index)?;
        match self.types.get(index)?.1 {
            // SAFETY: the caller of `typed` ensures the type.
            ArgumentType::Scalar(scalar_type) => Some(unsafe { Value::new(datum, scalar_type) }),
            _ => None,
        }
    }

    /// Returns an array, row or jsonb value; `None` if the argument is NULL or something else.
    #[inline]
    pub fn composite(&self, index: usize) -> Option<Composite<'_>> {
        if let Some(values) = self.source.virtual_values(FIRST + index) {
            // SAFETY: the caller of `typed` ensures the type.
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
        // SAFETY: the caller of `typed` ensures the type.
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

    /// Returns an argument's text by its type's output function; `None` for NULL.
    pub fn text(&self, index: usize) -> Option<Vec<u8>> {
        let datum = self.source.get(FIRST + index)?;
        // SAFETY: the caller of `typed` ensures the type.
        self.types.get(index).map(|(oid, _)| unsafe { output_text(datum, *oid) })
    }

    /// Reads the arguments, all of type real; NaN for NULL.
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
