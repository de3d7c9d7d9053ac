//! The table of types: which a feature's value may have, and how each becomes an f32 or a text.
//!
//! Numbers are converted as XGBoost converts them: straight to f32, rounded once. A date or timestamp
//! is the seconds since 1970, which an f32 holds to about two minutes today. Text and enums are
//! categories, and stay text here.

use std::borrow::Cow;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::pg::{types, values};

/// The types that a value may have, and how to read each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    /// text, varchar
    Text,
    /// char(n), whose trailing blanks do not count
    Blanks,
    /// name, or a literal whose type is not known
    Name,
    /// any enum
    Enum,
}

/// Seconds from 1970 to PostgreSQL's own epoch, the first day of 2000.
const EPOCH_SECONDS: f64 = 946_684_800.0;
const DAY_SECONDS: f64 = 86_400.0;
const MICROSECONDS: f64 = 1e6;

impl Kind {
    /// How to read values of a type, or nothing if they cannot be features. A domain is read as the
    /// type below it.
    pub fn of(type_oid: Oid) -> Option<Kind> {
        // The table is asked first, because looking up a domain costs more than the rest of the
        // binding together.
        Kind::of_base(type_oid).or_else(|| {
            let base = types::base_type(type_oid);
            if types::is_enum(base) { Some(Kind::Enum) } else { Kind::of_base(base) }
        })
    }

    fn of_base(type_oid: Oid) -> Option<Kind> {
        Some(match type_oid {
            pg_sys::FLOAT4OID => Kind::Float4,
            pg_sys::FLOAT8OID => Kind::Float8,
            pg_sys::INT2OID => Kind::Int2,
            pg_sys::INT4OID => Kind::Int4,
            pg_sys::INT8OID => Kind::Int8,
            pg_sys::NUMERICOID => Kind::Numeric,
            pg_sys::BOOLOID => Kind::Bool,
            pg_sys::DATEOID => Kind::Date,
            pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => Kind::Timestamp,
            pg_sys::TEXTOID | pg_sys::VARCHAROID => Kind::Text,
            pg_sys::BPCHAROID => Kind::Blanks,
            pg_sys::NAMEOID | pg_sys::UNKNOWNOID => Kind::Name,
            _ => return None,
        })
    }

    /// Whether values are names of categories.
    pub fn is_text(self) -> bool {
        matches!(self, Kind::Text | Kind::Blanks | Kind::Name | Kind::Enum)
    }

    /// A number as f32.
    ///
    /// # Errors
    /// None; the text kinds give NaN and are not read this way.
    #[inline]
    pub fn number(self, datum: Datum) -> f32 {
        let bits = datum.value();
        match self {
            Kind::Float4 => f32::from_bits(bits as u32),
            Kind::Float8 => f64::from_bits(bits as u64) as f32,
            Kind::Int2 => f32::from(bits as i16),
            Kind::Int4 => bits as i32 as f32,
            Kind::Int8 => bits as i64 as f32,
            Kind::Bool => f32::from(u8::from(bits as u8 != 0)),
            Kind::Numeric => values::numeric(datum),
            Kind::Date => match bits as i32 {
                i32::MIN => f32::NEG_INFINITY,
                i32::MAX => f32::INFINITY,
                days => (f64::from(days) * DAY_SECONDS + EPOCH_SECONDS) as f32,
            },
            Kind::Timestamp => match bits as i64 {
                i64::MIN => f32::NEG_INFINITY,
                i64::MAX => f32::INFINITY,
                micros => (micros as f64 / MICROSECONDS + EPOCH_SECONDS) as f32,
            },
            Kind::Text | Kind::Blanks | Kind::Name | Kind::Enum => f32::NAN,
        }
    }

    /// A category as text; only for the kinds that are text.
    pub fn text<'a>(self, datum: Datum) -> Cow<'a, str> {
        match self {
            Kind::Enum => Cow::Owned(values::enum_label(datum)),
            Kind::Name => values::name(datum),
            Kind::Blanks => Cow::Owned(values::text(datum).trim_end_matches(' ').to_owned()),
            _ => values::text(datum),
        }
    }
}
