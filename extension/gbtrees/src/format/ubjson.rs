//! A reader for the UBJSON that XGBoost writes: big-endian, typed arrays, lengths before contents.
//!
//! Every declared length is compared with the bytes left before it is used. An element takes at least
//! one byte; typed containers are therefore limited to types of fixed, non-zero width.

use std::borrow::Cow;

use crate::format::reader::{CancelChecks, MAX_NESTING, Number, Reader, ValueKind, appended};
use crate::{Cancel, Error, ErrorKind, Place, Result};

pub(super) struct Ubjson<'a, 'b> {
    bytes: &'a [u8],
    position: usize,
    depth: usize,
    /// The type of the next value if a typed container declared it; such a value has no marker byte.
    implied: Option<u8>,
    checks: CancelChecks<'b>,
}

pub(super) struct Container {
    /// Elements left, if the container declared a count; it then has no closing bracket.
    left: Option<usize>,
    /// The type of all elements, if declared.
    element: Option<u8>,
}

impl<'a, 'b> Ubjson<'a, 'b> {
    pub(super) fn new(bytes: &'a [u8], cancel: Cancel<'b>) -> Self {
        let checks = CancelChecks::new(cancel);
        Ubjson { bytes, position: 0, depth: 0, implied: None, checks }
    }

    /// Returns whether the innermost container has another member.
    fn advance(&mut self, container: &mut Container, bracket: u8) -> Result<bool> {
        let more = match &mut container.left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None if self.peek()? == bracket => {
                self.position += 1;
                false
            }
            None => true,
        };
        if !more {
            self.depth = self.depth.saturating_sub(1);
            return Ok(false);
        }
        self.checks.count()?;
        Ok(true)
    }
}

impl<'a> Reader<'a> for Ubjson<'a, '_> {
    type Container = Container;

    fn offset(&self) -> usize {
        self.position
    }

    fn cancel(&self) -> Cancel<'_> {
        self.checks.cancel()
    }

    fn kind(&mut self) -> Result<ValueKind> {
        match self.peek()? {
            b'{' => Ok(ValueKind::Object),
            b'[' => Ok(ValueKind::Array),
            b'S' | b'C' => Ok(ValueKind::String),
            b'T' | b'F' => Ok(ValueKind::Bool),
            b'Z' => Ok(ValueKind::Null),
            b'i' | b'U' | b'I' | b'l' | b'L' | b'd' | b'D' | b'H' => Ok(ValueKind::Number),
            _ => Err(self.error(ErrorKind::Syntax, "malformed UBJSON: a value belongs here")),
        }
    }

    fn open(&mut self, bracket: u8, kind: ValueKind) -> Result<Container> {
        if self.peek()? != bracket {
            return Err(self.unexpected(kind));
        }
        if self.depth == MAX_NESTING {
            return Err(self.too_deep());
        }
        self.depth += 1;
        self.marker()?;
        let mut container = Container { left: None, element: None };
        let mut bytes_each = 1;
        if self.bytes.get(self.position) == Some(&b'$') {
            self.position += 1;
            let element = self.peek()?;
            bytes_each = width(element).ok_or_else(|| {
                self.error(ErrorKind::Syntax, "malformed UBJSON: a numeric type belongs here")
            })?;
            self.position += 1;
            container.element = Some(element);
            if self.peek()? != b'#' {
                let message = "malformed UBJSON: a typed container does not say its length";
                return Err(self.error(ErrorKind::Syntax, message));
            }
        }
        if self.bytes.get(self.position) == Some(&b'#') {
            self.position += 1;
            container.left = Some(self.length(bytes_each)?);
        }
        Ok(container)
    }

    fn next_key(&mut self, container: &mut Container) -> Result<Option<Cow<'a, str>>> {
        if !self.advance(container, b'}')? {
            return Ok(None);
        }
        let key = self.counted_text()?;
        self.implied = container.element;
        Ok(Some(Cow::Borrowed(key)))
    }

    fn next_element(&mut self, container: &mut Container) -> Result<bool> {
        let more = self.advance(container, b']')?;
        if more {
            self.implied = container.element;
        }
        Ok(more)
    }

    fn declared_elements(&self, container: &Container) -> Option<usize> {
        container.left
    }

    fn string(&mut self) -> Result<Cow<'a, str>> {
        match self.peek()? {
            b'S' => {
                self.marker()?;
                self.counted_text().map(Cow::Borrowed)
            }
            b'C' => {
                self.marker()?;
                let [byte] = self.fixed()?;
                if !byte.is_ascii() {
                    return Err(self.error(ErrorKind::Encoding, "a character is not ASCII"));
                }
                Ok(Cow::Owned(char::from(byte).to_string()))
            }
            _ => Err(self.unexpected(ValueKind::String)),
        }
    }

    fn float(&mut self) -> Result<f32> {
        if self.peek()? == b'd' {
            self.marker()?;
            return Ok(f32::from_be_bytes(self.fixed()?));
        }
        match self.number()? {
            Number::Integer(value) => Ok(value as f32),
            Number::Float(value) => {
                let narrow = value as f32;
                if narrow.is_infinite() && value.is_finite() {
                    return Err(self.error(ErrorKind::Number, "a number is too large for f32"));
                }
                Ok(narrow)
            }
        }
    }

    fn integer(&mut self) -> Result<i64> {
        match self.number()? {
            Number::Integer(value) => Ok(value),
            Number::Float(_) => {
                Err(self.error(ErrorKind::WrongType, "found a fraction where an integer belongs"))
            }
        }
    }

    fn number(&mut self) -> Result<Number> {
        if self.kind()? != ValueKind::Number {
            return Err(self.unexpected(ValueKind::Number));
        }
        match self.marker()? {
            b'd' => Ok(Number::Float(f64::from(f32::from_be_bytes(self.fixed()?)))),
            b'D' => Ok(Number::Float(f64::from_be_bytes(self.fixed()?))),
            b'H' => {
                let message = "high-precision numbers have no place in a model";
                Err(self.error(ErrorKind::Number, message))
            }
            marker => self.whole(marker)?.map(Number::Integer).ok_or_else(|| self.truncated()),
        }
    }

    fn boolean(&mut self) -> Result<bool> {
        match self.peek()? {
            b'T' => self.marker().map(|_| true),
            b'F' => self.marker().map(|_| false),
            _ => Err(self.unexpected(ValueKind::Bool)),
        }
    }

    fn skip_elements(&mut self, mut container: Container) -> Result<()> {
        if let (Some(left), Some(width)) = (container.left, container.element.and_then(width)) {
            self.take(left.saturating_mul(width))?;
            container.left = Some(0);
        }
        while self.next_element(&mut container)? {
            self.skip()?;
        }
        Ok(())
    }

    fn skip_scalar(&mut self) -> Result<()> {
        match self.kind()? {
            ValueKind::String => self.string().map(drop),
            ValueKind::Number if self.peek()? == b'H' => {
                self.marker()?;
                self.counted_text().map(drop)
            }
            ValueKind::Number => self.number().map(drop),
            _ => self.marker().map(drop),
        }
    }

    fn finish(&mut self) -> Result<()> {
        if self.remaining() > 0 {
            return Err(appended(self.offset()));
        }
        Ok(())
    }
}

/// Returns the width in bytes of a fixed-width type.
pub(super) fn width(marker: u8) -> Option<usize> {
    match marker {
        b'i' | b'U' | b'C' => Some(1),
        b'I' => Some(2),
        b'l' | b'd' => Some(4),
        b'L' | b'D' => Some(8),
        _ => None,
    }
}

impl<'a> Ubjson<'a, '_> {
    pub(super) fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    pub(super) fn truncated(&self) -> Error {
        fault!(Truncated, "model ends inside a value").at(Place::Byte(self.bytes.len()))
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.position.checked_add(count).ok_or_else(|| self.truncated())?;
        let taken = self.bytes.get(self.position..end).ok_or_else(|| self.truncated())?;
        self.position = end;
        Ok(taken)
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.first_chunk::<N>().copied().ok_or_else(|| self.truncated())
    }

    /// Returns the next value's type without consuming it.
    pub(super) fn peek(&self) -> Result<u8> {
        match self.implied {
            Some(marker) => Ok(marker),
            None => self.bytes.get(self.position).copied().ok_or_else(|| self.truncated()),
        }
    }

    /// Consumes the next value's type; its contents follow.
    pub(super) fn marker(&mut self) -> Result<u8> {
        let marker = self.peek()?;
        if self.implied.take().is_none() {
            self.position += 1;
        }
        Ok(marker)
    }

    /// Reads the contents of an integer; `None` for other types.
    pub(super) fn whole(&mut self, marker: u8) -> Result<Option<i64>> {
        Ok(Some(match marker {
            b'i' => i64::from(i8::from_be_bytes(self.fixed()?)),
            b'U' => i64::from(u8::from_be_bytes(self.fixed()?)),
            b'I' => i64::from(i16::from_be_bytes(self.fixed()?)),
            b'l' => i64::from(i32::from_be_bytes(self.fixed()?)),
            b'L' => i64::from_be_bytes(self.fixed()?),
            _ => return Ok(None),
        }))
    }

    /// Reads a length and checks it against the bytes left, at `bytes_each` per element.
    pub(super) fn length(&mut self, bytes_each: usize) -> Result<usize> {
        let at = self.position;
        let [marker] = self.fixed()?;
        let declared = self.whole(marker)?;
        let wrong = |message| Error::new(ErrorKind::Syntax, message).at(Place::Byte(at));
        let declared = declared.ok_or_else(|| wrong("malformed UBJSON: a length belongs here"))?;
        let length =
            u64::try_from(declared).map_err(|_| wrong("malformed UBJSON: a length is negative"))?;
        let max = self.remaining() / bytes_each.max(1);
        match usize::try_from(length) {
            Ok(length) if length <= max => Ok(length),
            _ => Err(fault!(
                Truncated,
                "model declares {length} values or bytes where {max} are left"
            )
            .at(Place::Byte(at))),
        }
    }

    /// Reads a length and that many bytes of UTF-8.
    pub(super) fn counted_text(&mut self) -> Result<&'a str> {
        let length = self.length(1)?;
        let start = self.position;
        std::str::from_utf8(self.take(length)?).map_err(|error| {
            fault!(Encoding, "a string is not UTF-8").at(Place::Byte(start + error.valid_up_to()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::reader::array;

    /// Runs `read` on the whole of `bytes`.
    fn on<'a, T>(
        bytes: &'a [u8],
        read: impl FnOnce(&mut Ubjson<'a, '_>) -> Result<T>,
    ) -> Result<T> {
        let mut reader = Ubjson::new(bytes, crate::Cancel::never());
        let value = read(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }

    fn floats(bytes: &[u8]) -> Result<Vec<f32>> {
        on(bytes, |reader| array(reader, 1 << 20, "numbers", |reader| reader.float()))
    }

    fn integers(bytes: &[u8]) -> Result<Vec<i64>> {
        on(bytes, |reader| array(reader, 1 << 20, "numbers", |reader| reader.integer()))
    }

    fn kind_of<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
        result.unwrap_err().kind()
    }

    #[test]
    fn every_number_type_is_read() {
        let bytes = b"[i\xffU\xffI\xff\xfel\xff\xff\xff\xfdL\xff\xff\xff\xff\xff\xff\xff\xfc]";
        assert_eq!(integers(bytes).unwrap(), [-1, 255, -2, -3, -4]);
        assert_eq!(floats(b"[d\x3f\x80\0\0D\x3f\xe0\0\0\0\0\0\0i\x02]").unwrap(), [1.0, 0.5, 2.0]);
        let nan = floats(b"[d\x7f\xc0\0\0]").unwrap();
        assert!(nan[0].is_nan());
        assert_eq!(kind_of(floats(b"[D\x7f\xe0\0\0\0\0\0\0]")), ErrorKind::Number);
        assert_eq!(kind_of(integers(b"[d\x3f\x80\0\0]")), ErrorKind::WrongType);
        assert_eq!(kind_of(integers(b"[HU\x011]")), ErrorKind::Number);
    }

    #[test]
    fn typed_and_counted_arrays_have_no_closing_bracket() {
        assert_eq!(floats(b"[$d#L\0\0\0\0\0\0\0\x02\x3f\x80\0\0\x40\0\0\0").unwrap(), [1.0, 2.0]);
        assert_eq!(integers(b"[$U#i\x03\x01\x02\x03").unwrap(), [1, 2, 3]);
        assert_eq!(integers(b"[#i\x02U\x01i\x02").unwrap(), [1, 2]);
        for empty in [&b"[]"[..], b"[#i\0", b"[$l#i\0", b"[$d#L\0\0\0\0\0\0\0\0"] {
            assert_eq!(integers(empty).unwrap(), [0; 0]);
            on(empty, |reader| reader.skip()).unwrap();
        }
    }

    #[test]
    fn typed_containers_hold_numbers_only() {
        for element in *b"ZTS[{Hx" {
            let bytes = [b'[', b'$', element, b'#', b'i', 1, 0, 0];
            assert_eq!(kind_of(on(&bytes, |reader| reader.skip())), ErrorKind::Syntax);
        }
        assert_eq!(kind_of(on(b"[$U\x01]", |reader| reader.skip())), ErrorKind::Syntax);
    }

    #[test]
    fn text_is_checked() {
        assert_eq!(on("SU\x03aé".as_bytes(), |reader| reader.string()).unwrap(), "aé");
        assert_eq!(on(b"Cx", |reader| reader.string()).unwrap(), "x");
        assert_eq!(kind_of(on(b"SU\x01\xff", |reader| reader.string())), ErrorKind::Encoding);
        assert_eq!(kind_of(on(b"C\xff", |reader| reader.string())), ErrorKind::Encoding);
        assert_eq!(kind_of(on(b"U\x01", |reader| reader.string())), ErrorKind::WrongType);
    }

    #[test]
    fn objects_may_be_counted_and_typed() {
        for bytes in [
            &b"{i\x01aT}"[..],
            b"{#i\x01i\x01aT",
            b"{}",
            b"{#i\0",
            b"{$U#i\x02i\x01a\x01i\x01b\x02",
        ] {
            on(bytes, |reader| reader.skip()).unwrap();
        }
        assert_eq!(kind_of(on(b"{i\x01aT", |reader| reader.skip())), ErrorKind::Truncated);
        assert_eq!(kind_of(on(b"{}}", |reader| reader.skip())), ErrorKind::Syntax);
        assert_eq!(kind_of(on(b"{i\x01aN}", |reader| reader.skip())), ErrorKind::Syntax);
    }
}
