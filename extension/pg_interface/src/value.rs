//! Values, the table of their types, and how each becomes an f32 or a text.
//!
//! A `Datum` does not say what it is. A [`Value`] does: the `unsafe` code that makes one vouches for
//! its type and its life, and reading it is safe. Numbers are converted as XGBoost converts them:
//! straight to f32, rounded once. A date or timestamp is the seconds since 1970, which an f32 resolves to
//! about two minutes today. Text and enums are categories, and stay text here.

use std::borrow::Cow;
use std::ffi::CStr;
use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::{catalog, numeric, varlena};

/// A value that is not NULL.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// Of a type that is a number.
    Number(Number<'a>),
    /// Of a type that names a category.
    Text(Text<'a>),
}

/// A number as PostgreSQL passes it.
#[derive(Clone, Copy)]
pub struct Number<'a> {
    datum: Datum,
    number_type: NumberType,
    lives: PhantomData<&'a ()>,
}

/// A text as PostgreSQL passes it.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    datum: Datum,
    text_type: TextType,
    lives: PhantomData<&'a ()>,
}

/// A number without loss: whole, or as f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exact {
    /// A whole number.
    Integer(i64),
    /// Any other, or one beyond i64.
    Float(f64),
}

/// Seconds from 1970 to PostgreSQL's own epoch, the first day of 2000.
const EPOCH_SECONDS: f64 = 946_684_800.0;
const DAY_SECONDS: f64 = 86_400.0;
const MICROSECONDS: f64 = 1e6;

impl<'a> Value<'a> {
    /// # Safety
    /// The datum is not NULL, is of that type, and is valid for `'a`.
    #[inline]
    pub unsafe fn new(datum: Datum, scalar_type: ScalarType) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match scalar_type {
                ScalarType::Number(number_type) => Value::Number(Number::new(datum, number_type)),
                ScalarType::Text(text_type) => Value::Text(Text::new(datum, text_type)),
            }
        }
    }
}

impl Number<'_> {
    /// # Safety
    /// As for [`Value::new`].
    #[inline]
    pub unsafe fn new(datum: Datum, number_type: NumberType) -> Self {
        Number { datum, number_type, lives: PhantomData }
    }

    /// Its type.
    #[inline]
    pub fn number_type(self) -> NumberType {
        self.number_type
    }

    /// The f32 nearest to it. Beyond the range of real it is infinite, as XGBoost would take it.
    #[inline]
    pub fn single(self) -> f32 {
        let bits = self.datum.value();
        match self.number_type {
            NumberType::Float4 => f32::from_bits(bits as u32),
            NumberType::Float8 => f64::from_bits(bits as u64) as f32,
            NumberType::Int2 => f32::from(bits as i16),
            NumberType::Int4 => bits as i32 as f32,
            NumberType::Int8 => bits as i64 as f32,
            NumberType::Bool => f32::from(u8::from(bits as u8 != 0)),
            NumberType::Numeric => self.numeric(),
            NumberType::Date | NumberType::Timestamp => self.double() as f32,
        }
    }

    /// The f64 nearest to it. A date is a whole number of seconds, a timestamp has its microseconds.
    #[inline]
    pub fn double(self) -> f64 {
        let bits = self.datum.value();
        match self.number_type {
            NumberType::Float8 => f64::from_bits(bits as u64),
            NumberType::Int4 => f64::from(bits as i32),
            NumberType::Int8 => bits as i64 as f64,
            NumberType::Numeric => self.numeric_double(),
            NumberType::Date => match bits as i32 {
                i32::MIN => f64::NEG_INFINITY,
                i32::MAX => f64::INFINITY,
                days => f64::from(days) * DAY_SECONDS + EPOCH_SECONDS,
            },
            NumberType::Timestamp => match bits as i64 {
                i64::MIN => f64::NEG_INFINITY,
                i64::MAX => f64::INFINITY,
                micros => micros as f64 / MICROSECONDS + EPOCH_SECONDS,
            },
            NumberType::Float4 | NumberType::Int2 | NumberType::Bool => f64::from(self.single()),
        }
    }

    /// A numeric as PostgreSQL's cast to double precision rounds it.
    #[inline]
    fn numeric_double(self) -> f64 {
        // SAFETY: the datum is a numeric, which is a varlena.
        let stored = unsafe { varlena::bytes(self.datum) };
        numeric::double(stored).unwrap_or_else(|| self.numeric_text().parse().unwrap_or(f64::NAN))
    }

    /// A numeric as PostgreSQL's cast to real rounds it.
    #[inline]
    fn numeric(self) -> f32 {
        // SAFETY: the datum is a numeric, which is a varlena.
        let stored = unsafe { varlena::bytes(self.datum) };
        numeric::single(stored).unwrap_or_else(|| self.numeric_text().parse().unwrap_or(f32::NAN))
    }

    /// A numeric with all its digits.
    pub fn numeric_text(self) -> String {
        called(pg_sys::numeric_out, self.datum)
    }

    /// The number without loss. A numeric does not go by way of a float, which cannot hold every
    /// bigint; a date or a timestamp is what [`Number::single`] makes of it.
    pub fn exact(self) -> Exact {
        let bits = self.datum.value();
        match self.number_type {
            NumberType::Int2 => Exact::Integer(i64::from(bits as i16)),
            NumberType::Int4 => Exact::Integer(i64::from(bits as i32)),
            NumberType::Int8 => Exact::Integer(bits as i64),
            NumberType::Bool => Exact::Integer(i64::from(bits as u8 != 0)),
            NumberType::Float8 => Exact::Float(f64::from_bits(bits as u64)),
            NumberType::Numeric => {
                let text = self.numeric_text();
                let whole = match text.split_once('.') {
                    Some((whole, rest)) if rest.bytes().all(|digit| digit == b'0') => whole,
                    _ => text.as_str(),
                };
                whole
                    .parse()
                    .map_or_else(|_| Exact::Float(text.parse().unwrap_or(f64::NAN)), Exact::Integer)
            }
            NumberType::Float4 | NumberType::Date | NumberType::Timestamp => {
                Exact::Float(f64::from(self.single()))
            }
        }
    }
}

impl<'a> Text<'a> {
    /// # Safety
    /// As for [`Value::new`].
    #[inline]
    pub unsafe fn new(datum: Datum, text_type: TextType) -> Self {
        Text { datum, text_type, lives: PhantomData }
    }

    /// The text. What is not UTF-8 in it is replaced, and then is no category.
    pub fn text(self) -> Cow<'a, str> {
        // SAFETY: the datum is of that type; a name is a C string, as a literal of unknown type is.
        unsafe {
            match self.text_type {
                TextType::Text => varlena::text(self.datum),
                TextType::Bpchar => {
                    Cow::Owned(varlena::text(self.datum).trim_end_matches(' ').to_owned())
                }
                TextType::Name => CStr::from_ptr(self.datum.cast_mut_ptr()).to_string_lossy(),
                TextType::Enum => Cow::Owned(called(pg_sys::enum_out, self.datum)),
            }
        }
    }
}

/// A value in its text form, by the output function of its type.
fn called(function: unsafe fn(pg_sys::FunctionCallInfo) -> Datum, datum: Datum) -> String {
    // SAFETY: the callers pair output functions with their types; they never return NULL.
    let text = unsafe { pgrx::direct_function_call::<&CStr>(function, &[Some(datum)]) };
    text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

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
            let base = catalog::base_type(type_oid);
            let of_enum = || ScalarType::Text(TextType::Enum);
            ScalarType::of_base(base).or_else(|| catalog::is_enum(base).then(of_enum))
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

/// The value by its type's output function, in the database's encoding.
///
/// # Safety
/// The datum is not NULL, is of that type, and is valid.
pub unsafe fn output_text(datum: Datum, type_oid: Oid) -> Vec<u8> {
    // SAFETY: guaranteed by the caller; an output function returns a palloc'd C string.
    unsafe {
        let text = pg_sys::OidOutputFunctionCall(catalog::output_function(type_oid), datum);
        let bytes = CStr::from_ptr(text).to_bytes().to_vec();
        pg_sys::pfree(text.cast());
        bytes
    }
}
