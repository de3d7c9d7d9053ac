//! Numbers of JSON, read in the type of the field that they belong to.
//!
//! XGBoost writes an f32 as the shortest text that reads back as the same f32. Rounding that text
//! to f64 first and to f32 afterwards can differ in the last bit, so f32 fields are parsed as f32.

use std::borrow::Cow;
use std::str::FromStr;

use crate::format::json::Json;
use crate::format::reader::{Number, Reader, ValueKind};
use crate::{Error, ErrorKind, Place, Result};

pub(super) enum Token<'a> {
    /// Digits only, with or without a sign.
    Integer(&'a str),
    /// With a fraction or an exponent.
    Decimal(&'a str),
    /// `NaN`, `Infinity` or `-Infinity`.
    Named(f32),
}

impl<'a> Json<'a, '_> {
    /// Reads a number of any type.
    pub(super) fn token(&mut self) -> Result<Token<'a>> {
        let negative = match self.peek() {
            Some(b'N') => return self.word("NaN").map(|()| Token::Named(f32::NAN)),
            Some(b'-') => true,
            Some(b'I' | b'0'..=b'9') => false,
            _ => return Err(self.unexpected(ValueKind::Number)),
        };
        let start = self.position;
        self.position += usize::from(negative);
        if self.bytes.get(self.position) == Some(&b'I') {
            self.word("Infinity")?;
            return Ok(Token::Named(if negative { f32::NEG_INFINITY } else { f32::INFINITY }));
        }
        let whole = self.digits()?;
        if whole > 1 && self.bytes.get(self.position - whole) == Some(&b'0') {
            return Err(self.error(ErrorKind::Syntax, "malformed JSON: a number begins with 0"));
        }
        let decimal = self.fraction()? | self.exponent()?;
        // A document is an object, so no number can be the last of it, and this one may go on.
        if self.position == self.bytes.len() {
            return Err(self.syntax("the rest of a number"));
        }
        let text = self.bytes.get(start..self.position).unwrap_or_default();
        let text = std::str::from_utf8(text)
            .map_err(|_| self.error(ErrorKind::Encoding, "a number is not UTF-8"))?;
        Ok(if decimal { Token::Decimal(text) } else { Token::Integer(text) })
    }

    /// Reads a number; a whole one beyond i64 as f64.
    pub(in crate::format) fn wide_number(&mut self) -> Result<Number> {
        let (Token::Integer(text) | Token::Decimal(text)) = self.token()? else {
            return Err(self.unexpected(ValueKind::Number));
        };
        if let Ok(integer) = text.parse() {
            return Ok(Number::Integer(integer));
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Number::Float(number)),
            _ => Err(self.error(ErrorKind::Number, "a number is too large for f64")),
        }
    }

    /// Reads at least one digit and returns their number.
    fn digits(&mut self) -> Result<usize> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.position += count;
        if count == 0 {
            return Err(self.syntax("a digit"));
        }
        Ok(count)
    }

    fn fraction(&mut self) -> Result<bool> {
        if self.bytes.get(self.position) != Some(&b'.') {
            return Ok(false);
        }
        self.position += 1;
        self.digits().map(|_| true)
    }

    fn exponent(&mut self) -> Result<bool> {
        if !matches!(self.bytes.get(self.position), Some(b'e' | b'E')) {
            return Ok(false);
        }
        self.position += 1;
        if matches!(self.bytes.get(self.position), Some(b'+' | b'-')) {
            self.position += 1;
        }
        self.digits().map(|_| true)
    }

    pub(super) fn read_float(&mut self) -> Result<f32> {
        let start = self.start();
        match self.token()? {
            Token::Integer(text) | Token::Decimal(text) => {
                let value = parsed::<f32>(text, start)?;
                if value.is_finite() { Ok(value) } else { Err(too_large("f32", start)) }
            }
            Token::Named(value) => Ok(value),
        }
    }

    pub(super) fn read_integer(&mut self) -> Result<i64> {
        let start = self.start();
        match self.token()? {
            Token::Integer(text) => text.parse().map_err(|_| too_large("i64", start)),
            _ => Err(Error::new(ErrorKind::WrongType, "found a fraction where an integer belongs")
                .at(Place::Byte(start))),
        }
    }

    pub(super) fn read_number(&mut self) -> Result<Number> {
        let start = self.start();
        let value = match self.token()? {
            Token::Integer(text) => {
                return text.parse().map(Number::Integer).map_err(|_| too_large("i64", start));
            }
            Token::Decimal(text) => parsed::<f64>(text, start)?,
            Token::Named(value) => return Ok(Number::Float(value.into())),
        };
        if value.is_finite() { Ok(Number::Float(value)) } else { Err(too_large("f64", start)) }
    }

    /// Where the value at hand begins.
    fn start(&mut self) -> usize {
        self.peek();
        self.position
    }
}

/// The grammar of a token is a part of what Rust parses, so this does not fail in practice.
fn parsed<T: FromStr>(text: &str, start: usize) -> Result<T> {
    text.parse()
        .map_err(|_| Error::new(ErrorKind::Syntax, "malformed number").at(Place::Byte(start)))
}

fn too_large(target: &str, start: usize) -> Error {
    Error::new(ErrorKind::Number, format!("a number is too large for {target}"))
        .at(Place::Byte(start))
}

impl<'a> Json<'a, '_> {
    pub(super) fn quoted(&mut self) -> Result<Cow<'a, str>> {
        self.position += 1;
        let first = self.plain()?;
        if self.bytes.get(self.position) == Some(&b'"') {
            self.position += 1;
            return Ok(Cow::Borrowed(first));
        }
        let mut text = first.to_owned();
        loop {
            match self.bytes.get(self.position) {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => {
                    self.position += 1;
                    text.push(self.escape()?);
                }
                _ => text.push_str(self.plain()?),
            }
        }
    }

    /// Reads up to the next quote or backslash.
    fn plain(&mut self) -> Result<&'a str> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
        let Some(length) = length else {
            self.position = self.bytes.len();
            return Err(self.syntax("the end of a string"));
        };
        if rest.get(length).is_some_and(|byte| *byte < 0x20) {
            self.position += length;
            return Err(self.syntax("an escape instead of a control character"));
        }
        let text =
            std::str::from_utf8(rest.get(..length).unwrap_or_default()).map_err(|error| {
                self.position += error.valid_up_to();
                self.error(ErrorKind::Encoding, "a string is not UTF-8")
            })?;
        self.position += length;
        Ok(text)
    }

    /// Reads what follows a backslash.
    fn escape(&mut self) -> Result<char> {
        let escaped = match self.bytes.get(self.position) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.position += 1;
                return self.code_point();
            }
            _ => return Err(self.syntax("a known escape")),
        };
        self.position += 1;
        Ok(escaped)
    }

    /// Reads four hexadecimal digits, and four more if the first are half of a surrogate pair.
    fn code_point(&mut self) -> Result<char> {
        let high = self.code_unit()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.lone_surrogate());
        }
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        if !rest.starts_with(b"\\u") {
            if !b"\\u".starts_with(rest) {
                return Err(self.lone_surrogate());
            }
            self.position = self.bytes.len();
            return Err(self.syntax("the other half of a surrogate pair"));
        }
        self.position += 2;
        let low = self.code_unit()?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(self.lone_surrogate());
        }
        char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
            .ok_or_else(|| self.lone_surrogate())
    }

    fn code_unit(&mut self) -> Result<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit =
                self.bytes.get(self.position).and_then(|byte| char::from(*byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.syntax("a hexadecimal digit"));
            };
            self.position += 1;
            unit = unit << 4 | digit;
        }
        Ok(unit)
    }

    fn lone_surrogate(&self) -> crate::Error {
        self.error(ErrorKind::Encoding, "an escape is half of a surrogate pair")
    }
}
