//! The bytes of a UBJSON document: types, numbers, lengths and strings, never beyond the end.

use super::Ubjson;
use crate::{Error, ErrorKind, Place, Result};

/// Bytes of a value of fixed width; nothing for other types.
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
        Error::new(ErrorKind::Truncated, "model ends inside a value")
            .at(Place::Byte(self.bytes.len()))
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

    /// The type of the value at hand.
    pub(super) fn peek(&self) -> Result<u8> {
        match self.implied {
            Some(marker) => Ok(marker),
            None => self.bytes.get(self.position).copied().ok_or_else(|| self.truncated()),
        }
    }

    /// Reads the type of the value at hand; its contents come next.
    pub(super) fn marker(&mut self) -> Result<u8> {
        let marker = self.peek()?;
        if self.implied.take().is_none() {
            self.position += 1;
        }
        Ok(marker)
    }

    /// Reads the contents of a whole number.
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

    /// Reads a length and compares it with what is left, each thing counted taking `bytes_each`.
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
            _ => Err(Error::new(
                ErrorKind::Truncated,
                format!("model declares {length} values or bytes where {max} are left"),
            )
            .at(Place::Byte(at))),
        }
    }

    /// Reads a length and this many bytes of UTF-8.
    pub(super) fn counted_text(&mut self) -> Result<&'a str> {
        let length = self.length(1)?;
        let start = self.position;
        std::str::from_utf8(self.take(length)?).map_err(|error| {
            Error::new(ErrorKind::Encoding, "a string is not UTF-8")
                .at(Place::Byte(start + error.valid_up_to()))
        })
    }
}
