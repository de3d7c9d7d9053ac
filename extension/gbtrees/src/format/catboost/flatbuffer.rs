//! A reader of untrusted FlatBuffers.
//!
//! A table begins with the distance back to its list of fields, which gives each field's place in the
//! table; vectors, texts and nested tables lie elsewhere, at a distance stored in the field. Every
//! distance is checked. Fields may share a vector, so the bytes read are counted: no more can be read
//! than the file has, which bounds time and memory.

use std::cell::Cell;

use crate::{Error, ErrorKind, Place, Result};

pub(super) struct Buffer<'a> {
    bytes: &'a [u8],
    /// Offset of the buffer in the file.
    start: usize,
    /// Bytes that may still be read.
    left: Cell<usize>,
}

/// A table; fields are addressed by their numbers in the schema.
#[derive(Clone, Copy)]
pub(super) struct Table<'b, 'a> {
    buffer: &'b Buffer<'a>,
    at: usize,
    /// Two bytes per field: its distance from the table's start, 0 if absent.
    fields: &'a [u8],
}

impl<'a> Buffer<'a> {
    pub(super) fn new(bytes: &'a [u8], start: usize) -> Self {
        Buffer { bytes, start, left: Cell::new(bytes.len()) }
    }

    pub(super) fn root(&self) -> Result<Table<'_, 'a>> {
        self.table(self.target(0)?)
    }

    /// Returns an error at a byte, or at the end if the byte lies behind it.
    fn fault(&self, at: usize, message: &str) -> Error {
        let at = at.min(self.bytes.len());
        Error::new(ErrorKind::Syntax, message).at(Place::Byte(self.start + at))
    }

    /// Returns a range of bytes, and counts them as read.
    fn take(&self, at: usize, length: usize) -> Result<&'a [u8]> {
        let bytes = at.checked_add(length).and_then(|end| self.bytes.get(at..end));
        let bytes = bytes.ok_or_else(|| self.fault(at, "a link leads out of the file"))?;
        let left = self.left.get().checked_sub(length);
        self.left.set(left.ok_or_else(|| self.fault(at, "parts of the file overlap"))?);
        Ok(bytes)
    }

    /// Reads a word that is not counted; there is one per table or vector.
    fn word(&self, at: usize) -> Result<u32> {
        let bytes = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        let bytes = bytes.ok_or_else(|| self.fault(at, "a link leads out of the file"))?;
        Ok(u32::from_le_bytes(*bytes))
    }

    /// Follows a distance; 0 is an error.
    fn target(&self, at: usize) -> Result<usize> {
        let target = at.checked_add(self.word(at)? as usize).filter(|target| *target != at);
        target.ok_or_else(|| self.fault(at, "a link leads nowhere"))
    }

    fn table(&self, at: usize) -> Result<Table<'_, 'a>> {
        let back = i64::from(self.word(at)?.cast_signed());
        let list = i64::try_from(at).ok().and_then(|at| usize::try_from(at - back).ok());
        let list = list.ok_or_else(|| self.fault(at, "a link leads out of the file"))?;
        let length = usize::from(self.word(list)? as u16);
        if length < 4 || !length.is_multiple_of(2) {
            return Err(self.fault(list, "a list of fields has an impossible length"));
        }
        // Counts the table by its distance only; many tables share a list of fields.
        self.take(at, 4)?;
        let fields = self.bytes.get(list..).and_then(|rest| rest.get(4..length));
        let fields = fields.ok_or_else(|| self.fault(list, "a link leads out of the file"))?;
        Ok(Table { buffer: self, at, fields })
    }

    /// Returns the bytes of a vector of elements of `size` bytes.
    fn vector(&self, at: usize, size: usize) -> Result<&'a [u8]> {
        let count = self.word(at)? as usize;
        let length = count.checked_mul(size);
        let length = length.ok_or_else(|| self.fault(at, "a vector is longer than the file"))?;
        self.take(at + 4, length)
    }

    fn text(&self, at: usize) -> Result<&'a str> {
        std::str::from_utf8(self.vector(at, 1)?)
            .map_err(|_| fault!(Encoding, "a text is not UTF-8"))
    }
}

impl<'b, 'a> Table<'b, 'a> {
    /// Returns the position of a field, if present.
    fn field(&self, number: usize) -> Option<usize> {
        let distance = self.fields.get(2 * number..).and_then(|rest| rest.first_chunk())?;
        let distance = usize::from(u16::from_le_bytes(*distance));
        (distance > 0).then_some(self.at + distance)
    }

    fn scalar<const SIZE: usize>(&self, number: usize) -> Result<Option<[u8; SIZE]>> {
        let Some(at) = self.field(number) else { return Ok(None) };
        let bytes = self.buffer.bytes.get(at..).and_then(|rest| rest.first_chunk());
        let bytes = bytes.ok_or_else(|| self.buffer.fault(at, "a field lies outside the file"))?;
        Ok(Some(*bytes))
    }

    /// Reads a byte field, or returns `default` if it is absent.
    pub(super) fn byte(&self, number: usize, default: u8) -> Result<u8> {
        Ok(self.scalar(number)?.map_or(default, |[byte]| byte))
    }

    pub(super) fn integer(&self, number: usize, default: i32) -> Result<i64> {
        Ok(self.scalar(number)?.map_or(default, i32::from_le_bytes).into())
    }

    pub(super) fn float(&self, number: usize, default: f32) -> Result<f32> {
        Ok(self.scalar(number)?.map_or(default, f32::from_le_bytes))
    }

    pub(super) fn double(&self, number: usize, default: f64) -> Result<f64> {
        Ok(self.scalar(number)?.map_or(default, f64::from_le_bytes))
    }

    pub(super) fn text(&self, number: usize) -> Result<Option<&'a str>> {
        let Some(at) = self.field(number) else { return Ok(None) };
        self.buffer.target(at).and_then(|at| self.buffer.text(at)).map(Some)
    }

    pub(super) fn table(&self, number: usize) -> Result<Option<Table<'b, 'a>>> {
        let Some(at) = self.field(number) else { return Ok(None) };
        self.buffer.target(at).and_then(|at| self.buffer.table(at)).map(Some)
    }

    /// Returns the `SIZE`-byte elements of a vector; empty if absent.
    pub(super) fn vector<const SIZE: usize>(&self, number: usize) -> Result<&'a [[u8; SIZE]]> {
        let Some(at) = self.field(number) else { return Ok(&[]) };
        let bytes = self.buffer.vector(self.buffer.target(at)?, SIZE)?;
        Ok(bytes.as_chunks().0)
    }

    /// Returns the tables of a vector; empty if absent.
    pub(super) fn tables(
        &self,
        number: usize,
    ) -> Result<impl ExactSizeIterator<Item = Result<Table<'b, 'a>>> + use<'b, 'a>> {
        let buffer = self.buffer;
        Ok(self.links(number)?.map(move |target| buffer.table(target?)))
    }

    /// Returns the texts of a vector; empty if absent.
    pub(super) fn texts(
        &self,
        number: usize,
    ) -> Result<impl ExactSizeIterator<Item = Result<&'a str>> + use<'b, 'a>> {
        let buffer = self.buffer;
        Ok(self.links(number)?.map(move |target| buffer.text(target?)))
    }

    /// Returns the positions of a vector's tables or texts.
    fn links(
        &self,
        number: usize,
    ) -> Result<impl ExactSizeIterator<Item = Result<usize>> + use<'b, 'a>> {
        let buffer = self.buffer;
        let (first, links) = match self.field(number) {
            Some(at) => {
                let vector = buffer.target(at)?;
                (vector + 4, buffer.vector(vector, 4)?.as_chunks::<4>().0)
            }
            None => (0, &[][..]),
        };
        Ok((0..links.len()).map(move |index| buffer.target(first + 4 * index)))
    }
}
