//! Splits a text model into numbered lines and blocks.
//!
//! A block is a run of `key=value` lines up to an empty one: the header or a tree. Every line of a
//! block must end in a newline, since a number cut short by the end of the file may still parse.

use std::str::FromStr;

use crate::format::reader::CancelChecks;
use crate::format::sniff::BYTE_ORDER_MARK;
use crate::memory::push;
use crate::{Cancel, Error, ErrorKind, Place, Result};

/// Maximum lines per block. LightGBM's longest has 22.
const MAX_KEYS: usize = 64;

/// A line without its line ending.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub bytes: &'a [u8],
    /// Counted from 1.
    pub number: usize,
    /// Whether a newline follows.
    pub ended: bool,
}

pub(super) struct Lines<'a, 'b> {
    bytes: &'a [u8],
    position: usize,
    /// The next line, if it has been looked ahead to.
    peeked: Option<Line<'a>>,
    number: usize,
    size: usize,
    checks: CancelChecks<'b>,
}

impl<'a, 'b> Lines<'a, 'b> {
    /// Bytes scanned between two polls for cancellation.
    const CHUNK: usize = 1 << 20;

    pub(super) fn new(bytes: &'a [u8], cancel: Cancel<'b>) -> Self {
        let checks = CancelChecks::new(cancel);
        // LightGBM skips the mark with which some programs begin UTF-8, and counts sizes behind it.
        let position = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        Lines { bytes, position, peeked: None, number: 0, size: 0, checks }
    }

    /// Returns the number of lines read so far.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Returns the number of bytes read so far, excluding carriage returns at line ends.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn checks(&mut self) -> &mut CancelChecks<'b> {
        &mut self.checks
    }

    /// Returns the next line without consuming it; `None` at the end of the file.
    pub(super) fn peek(&mut self) -> Option<Line<'a>> {
        if self.peeked.is_none() {
            let rest = self.bytes.get(self.position..).filter(|rest| !rest.is_empty())?;
            let end = self.end_of_line(rest);
            let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            let bytes = line.strip_suffix(b"\r").unwrap_or(line);
            self.peeked = Some(Line { bytes, number: self.number + 1, ended: end.is_some() });
        }
        self.peeked
    }

    fn end_of_line(&mut self, rest: &[u8]) -> Option<usize> {
        let mut start = 0;
        for chunk in rest.chunks(Self::CHUNK) {
            if let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
                return Some(start + end);
            }
            start += chunk.len();
            // A failed check is remembered and reported later.
            let _ = self.checks.check();
        }
        None
    }

    /// Reads the next line; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Option<Line<'a>> {
        let line = self.peek()?;
        self.peeked = None;
        let after = self.position + line.bytes.len();
        let returns = self.bytes.get(after) == Some(&b'\r');
        self.position = after + usize::from(returns) + usize::from(line.ended);
        self.size += line.bytes.len() + usize::from(line.ended);
        self.number += 1;
        self.checks.note();
        Some(line)
    }

    /// Reads lines of blanks alone.
    pub(super) fn skip_blank(&mut self) {
        while self.peek().is_some_and(|line| line.bytes.trim_ascii().is_empty()) {
            self.next();
        }
    }

    /// Skips empty lines.
    pub(super) fn skip_empty(&mut self) {
        while self.peek().is_some_and(|line| line.bytes.is_empty() && line.ended) {
            self.next();
        }
    }

    /// Reads `key=value` or `key` lines up to and including an empty line.
    pub(super) fn block(&mut self, tree: Option<usize>) -> Result<Block<'a>> {
        let mut fields: Vec<Field<'a>> = Vec::new();
        loop {
            let Some(line) = self.next().filter(|line| line.ended) else {
                return Err(self.truncated(tree));
            };
            if line.bytes.is_empty() {
                return Ok(Block { tree, line: line.number, fields });
            }
            let at = Place::Line { line: line.number, tree };
            let text = std::str::from_utf8(line.bytes)
                .map_err(|_| fault!(Encoding, "a line is not UTF-8").at(at))?;
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            let field = Field { key: key.trim(), value, line: line.number, tree };
            if fields.iter().any(|earlier| earlier.key == field.key) {
                return Err(field.error(ErrorKind::DuplicateKey, "occurs twice"));
            }
            if fields.len() == MAX_KEYS {
                return Err(fault!(Syntax, "more than {MAX_KEYS} lines belong together").at(at));
            }
            push(&mut fields, field)?;
        }
    }

    /// Returns the error for a file that ends too early.
    pub(super) fn truncated(&self, tree: Option<usize>) -> Error {
        let place = Place::Line { line: self.number.max(1), tree };
        fault!(Truncated, "model ends before its trees do").at(place)
    }
}

/// The lines of the header or of a tree.
pub(super) struct Block<'a> {
    tree: Option<usize>,
    line: usize,
    fields: Vec<Field<'a>>,
}

impl<'a> Block<'a> {
    /// Returns the field of a key.
    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        self.fields.iter().find(|field| field.key == key).copied()
    }

    /// # Errors
    /// [`ErrorKind::MissingKey`], at the end of the block.
    pub(super) fn required(&self, key: &str) -> Result<Field<'a>> {
        self.get(key).ok_or_else(|| {
            let message = format!("model has no key \"{key}\"");
            let place = Place::Line { line: self.line, tree: self.tree };
            Error::new(ErrorKind::MissingKey, message).at(place)
        })
    }
}

/// A key and its value, with their position.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    key: &'a str,
    pub value: &'a str,
    line: usize,
    tree: Option<usize>,
}

impl Field<'_> {
    pub(super) fn place(&self) -> Place {
        Place::Line { line: self.line, tree: self.tree }
    }

    /// Returns an error whose message begins with the key.
    pub(super) fn error(&self, kind: ErrorKind, message: &str) -> Error {
        Error::new(kind, format!("\"{}\" {message}", crate::format::lightgbm::shown(self.key)))
            .at(self.place())
    }
}

impl<'a> Field<'a> {
    /// Parses the value as one number.
    pub(super) fn number<T: FromStr>(&self) -> Result<T> {
        self.value
            .trim()
            .parse()
            .map_err(|_| self.error(ErrorKind::Number, "is not a number of its type"))
    }

    /// Splits the value at spaces, into at most `most + 1` words.
    pub(super) fn words(&self, most: usize, checks: &mut CancelChecks<'_>) -> Vec<&'a str> {
        let words = self.value.split(' ').inspect(|_| checks.note());
        words.filter(|word| !word.is_empty()).take(most.saturating_add(1)).collect()
    }

    /// Parses exactly `count` numbers separated by spaces.
    pub(super) fn numbers<T: FromStr>(
        &self,
        count: usize,
        checks: &mut CancelChecks<'_>,
    ) -> Result<Vec<T>> {
        // Each number takes at least a digit and a space.
        let most = self.value.len() / 2 + 1;
        let wrong = |found: &str| {
            let message = format!("has {found} values where {count} belong");
            self.error(ErrorKind::Length, &message)
        };
        let mut numbers = Vec::new();
        numbers.try_reserve(count.min(most)).map_err(|_| {
            self.error(ErrorKind::OutOfMemory, "has too many values for the memory")
        })?;
        for token in self.value.split(' ') {
            checks.count()?;
            if token.is_empty() {
                continue;
            }
            if numbers.len() == count {
                return Err(wrong("more"));
            }
            let number = token.trim_end().parse();
            numbers.push(
                number
                    .map_err(|_| self.error(ErrorKind::Number, "has a value of the wrong type"))?,
            );
        }
        if numbers.len() < count {
            return Err(wrong(&numbers.len().to_string()));
        }
        Ok(numbers)
    }
}

/// Parses an objective's parameter as LightGBM does (`Atof` in include/LightGBM/utils/common.h): the
/// integer part, then the fraction divided by its power of ten, then the exponent, each step rounded.
/// So 1.55177 does not become the nearest f64.
pub(super) fn parameter(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| {
        text.bytes()
            .filter(u8::is_ascii_digit)
            .fold(0.0, |value: f64, digit| value * 10.0 + f64::from(digit - b'0'))
    };
    let places = i32::try_from(fraction.len()).ok().filter(|places| *places <= 22)?;
    let value = digits(whole) + digits(fraction) / 10f64.powi(places);
    let exponent: i32 = exponent.parse().ok().filter(|exponent: &i32| exponent.abs() <= 22)?;
    let scale = 10f64.powi(exponent.abs());
    let value = if exponent < 0 { value / scale } else { value * scale };
    Some(value.copysign(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_rounded_as_lightgbm_rounds_them() {
        for exact in ["1", "0.7", "1.7", "0.123456", "45.6789", "1e-05", "2.5e+01", "0.001"] {
            assert_eq!(parameter(exact), exact.parse().ok(), "{exact}");
        }
        for text in ["1.55177", "14.5126", "7.77901"] {
            let nearest: f64 = text.parse().unwrap();
            let apart = parameter(text).unwrap().to_bits().abs_diff(nearest.to_bits());
            assert_eq!(apart, 1, "{text}");
        }
        assert_eq!(parameter("-2"), Some(-2.0));
        for text in ["", "x", "inf", "nan", "1e400", "1e300"] {
            assert_eq!(parameter(text), None, "{text}");
        }
    }
}
