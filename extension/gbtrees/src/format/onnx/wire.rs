//! The fields of a protocol buffer message, read in place.
//!
//! `prost` decodes numbers and keys; `proto` interprets fields. A nested message is a field of bytes
//! that its reader reads in turn, so nothing recurses. Groups, which ONNX does not use, are refused.
//! Every value knows its offset in the file.

use prost::encoding::{WireType, decode_key, decode_varint};

use crate::format::reader::CancelChecks;
use crate::{Error, ErrorKind, Place, Result, memory};

/// A run of the file's bytes: a message, text, or packed numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    pub bytes: &'a [u8],
    /// Offset in the file.
    pub start: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn place(&self) -> Place {
        Place::Byte(self.start)
    }

    pub(super) fn error(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error::new(kind, message).at(Place::Byte(self.start))
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes)
            .map_err(|_| self.error(ErrorKind::Encoding, "a text is not valid UTF-8"))
    }

    pub(super) fn fields(self) -> Fields<'a> {
        Fields { rest: self.bytes, end: self.start + self.bytes.len() }
    }
}

/// A field's number and value.
pub(super) struct Field<'a> {
    pub number: u32,
    pub value: Value<'a>,
    pub position: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Varint(u64),
    Four([u8; 4]),
    Eight([u8; 8]),
    Bytes(Bytes<'a>),
}

impl<'a> Field<'a> {
    pub(super) fn error(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error::new(kind, message).at(Place::Byte(self.position))
    }

    fn wrong_type(&self) -> Error {
        let message = format!("field {} has another type than ONNX gives it", self.number);
        self.error(ErrorKind::WrongType, message)
    }

    pub(super) fn bytes(&self) -> Result<Bytes<'a>> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.wrong_type()),
        }
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        self.bytes()?.text()
    }

    pub(super) fn integer(&self) -> Result<i64> {
        match self.value {
            Value::Varint(number) => Ok(number.cast_signed()),
            _ => Err(self.wrong_type()),
        }
    }

    /// Appends the integers of a repeated field, packed or not.
    pub(super) fn integers(&self, list: &mut List<'_, '_, i64>) -> Result<()> {
        match self.value {
            Value::Varint(number) => list.push(number.cast_signed()),
            Value::Bytes(packed) => {
                let mut fields = packed.fields();
                while !fields.rest.is_empty() {
                    let number = fields.varint()?;
                    list.push(number.cast_signed())?;
                }
                Ok(())
            }
            _ => Err(self.wrong_type()),
        }
    }

    /// Appends the f32 values of a repeated field, packed or not.
    pub(super) fn floats(&self, list: &mut List<'_, '_, f64>) -> Result<()> {
        let mut push = |four| list.push(f64::from(f32::from_le_bytes(four)));
        match self.value {
            Value::Four(four) => push(four),
            Value::Bytes(packed) => {
                let (fours, rest) = packed.bytes.as_chunks::<4>();
                if !rest.is_empty() {
                    return Err(self.wrong_type());
                }
                fours.iter().copied().try_for_each(push)
            }
            _ => Err(self.wrong_type()),
        }
    }

    /// Appends the f64 values of a repeated field, packed or not.
    pub(super) fn doubles(&self, list: &mut List<'_, '_, f64>) -> Result<()> {
        let mut push = |eight| list.push(f64::from_le_bytes(eight));
        match self.value {
            Value::Eight(eight) => push(eight),
            Value::Bytes(packed) => {
                let (eights, rest) = packed.bytes.as_chunks::<8>();
                if !rest.is_empty() {
                    return Err(self.wrong_type());
                }
                eights.iter().copied().try_for_each(push)
            }
            _ => Err(self.wrong_type()),
        }
    }
}

/// A list with a maximum length.
pub(super) struct List<'l, 'i, T> {
    pub values: Vec<T>,
    pub limit: usize,
    pub checks: &'l mut CancelChecks<'i>,
}

impl<T> List<'_, '_, T> {
    pub(super) fn push(&mut self, value: T) -> Result<()> {
        if self.values.len() == self.limit {
            bail!(Limit, "a list has more values than the limit of {}", self.limit);
        }
        self.checks.count()?;
        memory::push(&mut self.values, value)?;
        Ok(())
    }
}

pub(super) struct Fields<'a> {
    rest: &'a [u8],
    end: usize,
}

impl<'a> Fields<'a> {
    fn position(&self) -> usize {
        self.end - self.rest.len()
    }

    /// Returns the error for an overlong or truncated number.
    fn broken(&self) -> Error {
        let cut = self.rest.len() < 10 && self.rest.iter().all(|byte| *byte >= 0x80);
        let (kind, message) = if cut {
            (ErrorKind::Truncated, "a message ends within a number")
        } else {
            (ErrorKind::Syntax, "this is no field of a protocol buffer")
        };
        Error::new(kind, message).at(Place::Byte(self.position()))
    }

    fn varint(&mut self) -> Result<u64> {
        decode_varint(&mut self.rest).map_err(|_| self.broken())
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let split = usize::try_from(length).ok().and_then(|at| self.rest.split_at_checked(at));
        let Some((taken, rest)) = split else {
            return Err(fault!(Truncated, "a field ends after its message")
                .at(Place::Byte(self.position())));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    pub(super) fn next(&mut self, checks: &mut CancelChecks<'_>) -> Result<Option<Field<'a>>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        checks.count()?;
        let position = self.position();
        let (number, wire_type) = decode_key(&mut self.rest).map_err(|_| self.broken())?;
        let value = match wire_type {
            WireType::Varint => Value::Varint(self.varint()?),
            WireType::ThirtyTwoBit => Value::Four(self.array()?),
            WireType::SixtyFourBit => Value::Eight(self.array()?),
            WireType::LengthDelimited => {
                let length = self.varint()?;
                let start = self.position();
                Value::Bytes(Bytes { bytes: self.take(length)?, start })
            }
            WireType::StartGroup | WireType::EndGroup => {
                return Err(fault!(Syntax, "ONNX has no groups").at(Place::Byte(position)));
            }
        };
        Ok(Some(Field { number, value, position }))
    }
}
