//! Strings of JSON: borrowed from the file where they hold no escapes.

use std::borrow::Cow;

use super::Json;
use crate::format::reader::Reader;
use crate::{ErrorKind, Result};

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
