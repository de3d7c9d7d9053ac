//! Laying the sections of a compiled model one after another, behind its header.
//!
//! Nothing in the bytes depends on addresses, time or hashing order.

use bytemuck::{NoUninit, bytes_of, cast_slice};

use crate::compiled::aligned::{ALIGNMENT, AlignedBytes, PIECE};
use crate::compiled::sections::*;
use crate::{Cancel, Result};

/// The bytes of each section, to be laid one after another.
pub(crate) struct Writer<'a> {
    sections: [&'a [u8]; SECTIONS],
}

impl<'a> Writer<'a> {
    /// Of sections without records.
    pub(crate) fn new() -> Self {
        Writer { sections: [&[]; SECTIONS] }
    }

    pub(crate) fn put<T: NoUninit>(&mut self, section: Section<T>, records: &'a [T]) {
        self.sections[section.index] = cast_slice(records);
    }

    /// The header and the sections behind it as one compiled model.
    pub(crate) fn assemble(self, mut header: Header, cancel: Cancel<'_>) -> Result<AlignedBytes> {
        let mut end = size_of::<Header>();
        for (span, section) in header.sections.iter_mut().zip(self.sections) {
            let offset = end.next_multiple_of(ALIGNMENT);
            *span = Span { offset: offset as u64, length: section.len() as u64 };
            end = offset + section.len();
        }
        let mut compiled = AlignedBytes::zeroed(end, cancel)?;
        header.length = compiled.len() as u64;
        let bytes = compiled.bytes_mut();
        copy_to(bytes, 0, bytes_of(&header));
        for (span, section) in header.sections.iter().zip(self.sections) {
            for (offset, piece) in
                (span.offset as usize..).step_by(PIECE).zip(section.chunks(PIECE))
            {
                copy_to(bytes, offset, piece);
                cancel.check()?;
            }
        }
        header.checksum = checksum(bytes, cancel)?;
        copy_to(bytes, 0, bytes_of(&header));
        Ok(compiled)
    }
}

/// Copies a part to its offset, for which the caller has made room.
fn copy_to(bytes: &mut [u8], offset: usize, part: &[u8]) {
    bytes[offset..offset + part.len()].copy_from_slice(part);
}
