//! Lists of text in an image.
//!
//! A section of text is a count n, then n + 1 ascending offsets as u32, then the UTF-8 of all texts
//! without anything between them. The last offset is the length of that.

use bytemuck::cast_slice;

use crate::{Error, ErrorKind, Result};

#[derive(Clone, Copy)]
pub(super) struct TextList<'a> {
    offsets: &'a [u32],
    text: &'a [u8],
}

impl<'a> TextList<'a> {
    /// The list that a section holds, or an empty one if it cannot be one. Takes no time; whether
    /// the texts are sound is for [`TextList::check`] to say.
    pub(super) fn read(section: &'a [u8]) -> Self {
        Self::split(section).unwrap_or(TextList { offsets: &[], text: &[] })
    }

    fn split(section: &'a [u8]) -> Option<Self> {
        let (head, rest) = section.split_at_checked(4)?;
        let count = bytemuck::pod_read_unaligned::<u32>(head) as usize;
        let (offsets, text) = rest.split_at_checked(count.checked_add(1)?.checked_mul(4)?)?;
        Some(TextList { offsets: bytemuck::try_cast_slice(offsets).ok()?, text })
    }

    /// Whether a section is a list of this many texts, each of them UTF-8.
    pub(super) fn check(section: &[u8], count: usize) -> bool {
        if count == 0 {
            return section.is_empty();
        }
        let list = TextList::read(section);
        let Ok(text) = std::str::from_utf8(list.text) else { return false };
        let offsets = list.offsets;
        list.len() == count
            && offsets.first() == Some(&0)
            && offsets.is_sorted()
            && offsets.last().is_some_and(|last| *last as usize == text.len())
            && offsets.iter().all(|offset| text.is_char_boundary(*offset as usize))
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The bytes of a text, if there is one with this index.
    pub(super) fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        let start = *self.offsets.get(index)? as usize;
        let end = *self.offsets.get(index.checked_add(1)?)? as usize;
        self.text.get(start..end)
    }

    pub(super) fn get(&self, index: usize) -> Option<&'a str> {
        std::str::from_utf8(self.bytes(index)?).ok()
    }
}

/// The section that holds these texts.
pub(super) fn write<'a>(texts: impl ExactSizeIterator<Item = &'a str> + Clone) -> Result<Vec<u8>> {
    if texts.len() == 0 {
        return Ok(Vec::new());
    }
    let mut numbers = vec![to_u32(texts.len())?, 0];
    let mut end = 0;
    for text in texts.clone() {
        end += text.len();
        numbers.push(to_u32(end)?);
    }
    let mut section = cast_slice(&numbers).to_vec();
    texts.for_each(|text| section.extend_from_slice(text.as_bytes()));
    Ok(section)
}

/// A count or index as it stands in an image.
pub(super) fn to_u32(number: usize) -> Result<u32> {
    u32::try_from(number)
        .map_err(|_| Error::new(ErrorKind::Limit, "model is too large for an image"))
}
