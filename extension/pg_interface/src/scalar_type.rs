//! The table of types that a value may have: numbers, and names of categories.

use pgrx::pg_sys::{self, Oid};

use crate::types;

/// A type whose values can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarType {
    /// Values are numbers.
    Number(NumberType),
    /// Values are names of categories.
    Text(TextType),
}

/// A type whose values are numbers, or become numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberType {
    /// real
    Float4,
    /// double precision
    Float8,
    /// smallint
    Int2,
    /// integer
    Int4,
    /// bigint
    Int8,
    /// numeric
    Numeric,
    /// boolean
    Bool,
    /// date
    Date,
    /// timestamp, with or without time zone
    Timestamp,
}

/// A type whose values are names of categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextType {
    /// text, varchar
    Text,
    /// char(n), whose trailing blanks do not count
    Bpchar,
    /// name, or a literal whose type is not known
    Name,
    /// any enum
    Enum,
}

impl NumberType {
    /// Whether a real holds every value of the type.
    pub fn is_single(self) -> bool {
        matches!(self, NumberType::Float4 | NumberType::Int2 | NumberType::Bool)
    }
}

impl ScalarType {
    /// How to read values of a type, or nothing if they are neither numbers nor categories. A domain
    /// is read as the type below it.
    pub fn of(type_oid: Oid) -> Option<ScalarType> {
        // The table is asked first, because looking up a domain costs more than the rest of the
        // binding together.
        ScalarType::of_base(type_oid).or_else(|| {
            let base = types::base_type(type_oid);
            let of_enum = || ScalarType::Text(TextType::Enum);
            ScalarType::of_base(base).or_else(|| types::is_enum(base).then(of_enum))
        })
    }

    fn of_base(type_oid: Oid) -> Option<ScalarType> {
        use {NumberType::*, TextType::*};
        let number = |number_type| Some(ScalarType::Number(number_type));
        let text = |text_type| Some(ScalarType::Text(text_type));
        match type_oid {
            pg_sys::FLOAT4OID => number(Float4),
            pg_sys::FLOAT8OID => number(Float8),
            pg_sys::INT2OID => number(Int2),
            pg_sys::INT4OID => number(Int4),
            pg_sys::INT8OID => number(Int8),
            pg_sys::NUMERICOID => number(Numeric),
            pg_sys::BOOLOID => number(Bool),
            pg_sys::DATEOID => number(Date),
            pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => number(Timestamp),
            pg_sys::TEXTOID | pg_sys::VARCHAROID => text(Text),
            pg_sys::BPCHAROID => text(Bpchar),
            pg_sys::NAMEOID | pg_sys::UNKNOWNOID => text(Name),
            _ => None,
        }
    }

    /// Whether values are names of categories.
    pub fn is_text(self) -> bool {
        matches!(self, ScalarType::Text(_))
    }
}
