//! Typed values, and their conversion to f32 or text.
//!
//! A `Datum` does not say what it is. A [`Value`] does: the `unsafe` code that makes one vouches for
//! its type and its life, and reading it is safe. Numbers become f32 as in Python: integers at once, as NumPy's
//! and pandas' integers do, decimals by way of the f64 that Python reads them as. A date or timestamp is the seconds
//! since 1970, which an f32 resolves to about two minutes today. Text and enums are categories, and stay text here.

use std::borrow::Cow;
use std::ffi::{CStr, c_int};
use std::fmt::Display;
use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::{catalog, numeric, varlena};

/// A non-NULL value.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// A number.
    Number(Number<'a>),
    /// A category's name.
    Text(Text<'a>),
}

/// A number in PostgreSQL's representation.
#[derive(Clone, Copy)]
pub struct Number<'a> {
    datum: Datum,
    number_type: NumberType,
    lives: PhantomData<&'a ()>,
}

/// A text in PostgreSQL's representation.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    datum: Datum,
    text_type: TextType,
    lives: PhantomData<&'a ()>,
}

/// A number without loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exact {
    /// An integer.
    Integer(i64),
    /// Any other number, or an integer beyond i64.
    Float(f64),
}

/// Seconds from 1970 to PostgreSQL's epoch, 2000-01-01.
const EPOCH_SECONDS: i64 = 946_684_800;
const DAY_SECONDS: f64 = 86_400.0;
const MICROSECONDS: i64 = 1_000_000;
/// Whole numbers below are f64 all.
const MAX_EXACT_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Returns the f64 nearest to the seconds since 1970 of microseconds since 2000.
#[inline]
fn timestamp_seconds(micros: i64) -> f64 {
    match micros.checked_add(EPOCH_SECONDS * MICROSECONDS) {
        // Rounded once, by the division.
        Some(since) if since.unsigned_abs() < 1 << 53 => since as f64 / MICROSECONDS as f64,
        // So large that no rounded fraction moves the sum to the other side of a middle.
        _ => {
            let seconds = micros / MICROSECONDS + EPOCH_SECONDS;
            seconds as f64 + (micros % MICROSECONDS) as f64 / MICROSECONDS as f64
        }
    }
}

impl<'a> Value<'a> {
    /// # Safety
    /// `datum` is not NULL, of the type, and valid for `'a`.
    #[inline]
    pub unsafe fn new(datum: Datum, scalar_type: ScalarType) -> Self {
        // SAFETY: the datum is of the type and valid for `'a`.
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

    /// Returns the type.
    #[inline]
    pub fn number_type(self) -> NumberType {
        self.number_type
    }

    /// The f32 nearest to it, or to the f64 nearest to it if it is a decimal. Beyond the range of real it is
    /// infinite, as XGBoost would take it.
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
            NumberType::Numeric | NumberType::Date | NumberType::Timestamp => self.double() as f32,
        }
    }

    /// Returns the nearest f64. Dates are whole seconds, timestamps include microseconds.
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
                days => f64::from(days) * DAY_SECONDS + EPOCH_SECONDS as f64,
            },
            NumberType::Timestamp => match bits as i64 {
                i64::MIN => f64::NEG_INFINITY,
                i64::MAX => f64::INFINITY,
                micros => timestamp_seconds(micros),
            },
            NumberType::Float4 | NumberType::Int2 | NumberType::Bool => f64::from(self.single()),
        }
    }

    /// Rounds a numeric like PostgreSQL's cast to double precision.
    #[inline]
    fn numeric_double(self) -> f64 {
        // SAFETY: the datum is a numeric, which is a varlena.
        let stored = unsafe { varlena::bytes(self.datum) };
        numeric::double(stored).unwrap_or_else(|| self.numeric_text().parse().unwrap_or(f64::NAN))
    }

    /// As [`Number::single`], of a number in JSON, which Python reads as an integer if it is written as one: a
    /// whole number of i64 is rounded once, unless it is what an f64 is written as.
    #[inline]
    pub fn single_of_json(self) -> f32 {
        let double = self.double();
        if double.abs() < MAX_EXACT_WHOLE { double as f32 } else { self.large_of_json(double) }
    }

    #[cold]
    fn large_of_json(self, double: f64) -> f32 {
        let text = match self.number_type {
            NumberType::Int8 => (self.datum.value() as i64).to_string(),
            NumberType::Numeric => self.numeric_text(),
            _ => return double as f32,
        };
        match text.parse::<i64>() {
            Ok(whole) if text != double.to_string() && text != written_whole(double) => {
                whole as f32
            }
            _ => double as f32,
        }
    }

    /// Returns a numeric with all its digits.
    pub fn numeric_text(self) -> String {
        called(pg_sys::numeric_out, self.datum)
    }

    /// Returns the shortest text of the number, which is that of an equal number of another type, too.
    pub fn shortest_text(self) -> String {
        match (self.number_type, self.exact()) {
            (_, Exact::Integer(number)) => number.to_string(),
            // An added 0.0 makes 0.0 of -0.0.
            (NumberType::Float4, _) => float_text(self.single() + 0.0),
            (_, Exact::Float(number)) => float_text(number + 0.0),
        }
    }

    /// Returns the number without loss. A numeric is not converted to a float, which cannot represent
    /// every bigint; dates and timestamps are those of [`Number::single`].
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
                Exact::Float(self.double())
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

    /// Returns the text of a char(n) with the blanks at its end; `None` for other types.
    pub fn padded(self) -> Option<Cow<'a, str>> {
        // SAFETY: the datum is of the type.
        (self.text_type == TextType::Bpchar).then(|| unsafe { varlena::text(self.datum) })
    }

    /// Returns the text. Invalid UTF-8 is replaced, and then matches no category.
    pub fn text(self) -> Cow<'a, str> {
        // SAFETY: the datum is of the type; names and literals of unknown type are C strings.
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

/// Returns the shortest text of an f32 or f64, with infinity as PostgreSQL writes it.
pub fn float_text(number: impl Display) -> String {
    number.to_string().replace("inf", "Infinity")
}

/// Settings of the session that output functions read, which are set back on drop.
pub(crate) struct PlainOutput {
    date_style: c_int,
    float_digits: c_int,
}

impl PlainOutput {
    /// Writes all digits of numbers, by which they are told apart.
    pub(crate) fn of_numbers() -> PlainOutput {
        // SAFETY: variables of the single-threaded backend, whose settings these values are.
        unsafe {
            let before = PlainOutput {
                date_style: pg_sys::DateStyle,
                float_digits: pg_sys::extra_float_digits,
            };
            pg_sys::extra_float_digits = before.float_digits.max(1);
            before
        }
    }

    /// Also writes dates in ISO 8601.
    pub(crate) fn of_all() -> PlainOutput {
        let before = PlainOutput::of_numbers();
        // SAFETY: as above.
        unsafe { pg_sys::DateStyle = pg_sys::USE_ISO_DATES.cast_signed() };
        before
    }
}

impl Drop for PlainOutput {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe {
            pg_sys::DateStyle = self.date_style;
            pg_sys::extra_float_digits = self.float_digits;
        }
    }
}

/// Returns the digits by which PostgreSQL writes a large whole double, which may be one more than the fewest.
fn written_whole(double: f64) -> String {
    let _plain = PlainOutput::of_numbers();
    let text = called(pg_sys::float8out, Datum::from(double.to_bits()));
    let Some((digits, exponent)) = text.split_once("e+") else { return text };
    let (sign, digits) = digits.split_at(usize::from(digits.starts_with('-')));
    let width = exponent.parse().map_or(0, |exponent: usize| exponent + 1);
    format!("{sign}{:0<width$}", digits.replace('.', ""))
}

/// Returns a value's text, by its type's output function.
fn called(function: unsafe fn(pg_sys::FunctionCallInfo) -> Datum, datum: Datum) -> String {
    // SAFETY: callers pass the output function of the value's type, which never returns NULL.
    let text = unsafe { pgrx::direct_function_call::<&CStr>(function, &[Some(datum)]) };
    text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A readable type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarType {
    /// Numbers.
    Number(NumberType),
    /// Category names.
    Text(TextType),
}

/// A type of numbers, or of values converted to numbers.
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

/// A type of category names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextType {
    /// text, varchar
    Text,
    /// char(n); trailing blanks are insignificant
    Bpchar,
    /// name, or a literal of unknown type
    Name,
    /// any enum
    Enum,
}

impl NumberType {
    /// Returns whether real represents every value of the type.
    pub fn is_single(self) -> bool {
        matches!(self, NumberType::Float4 | NumberType::Int2 | NumberType::Bool)
    }

    /// Returns whether values are neither booleans nor times.
    pub fn is_plain(self) -> bool {
        self != NumberType::Bool && !self.is_time()
    }

    /// Returns whether values are dates or timestamps.
    pub fn is_time(self) -> bool {
        matches!(self, NumberType::Date | NumberType::Timestamp)
    }
}

impl ScalarType {
    /// Returns how to read a type; `None` if it is neither numeric nor categorical. A domain is read as
    /// its base type.
    pub fn of(type_oid: Oid) -> Option<ScalarType> {
        // The table comes first, since looking up a domain costs more than the rest of the binding.
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

    /// Returns whether values are category names.
    pub fn is_text(self) -> bool {
        matches!(self, ScalarType::Text(_))
    }
}

/// Returns a value's text by its type's output function, in the database's encoding.
///
/// # Safety
/// `datum` is not NULL, of the type, and valid.
pub unsafe fn output_text(datum: Datum, type_oid: Oid) -> Vec<u8> {
    // SAFETY: the datum is of the type; an output function returns a palloc'd C string.
    unsafe {
        let text = pg_sys::OidOutputFunctionCall(catalog::output_function(type_oid), datum);
        let bytes = CStr::from_ptr(text).to_bytes().to_vec();
        pg_sys::pfree(text.cast());
        bytes
    }
}
