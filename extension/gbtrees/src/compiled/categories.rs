//! Text lists and category dictionaries, which map values to the codes of training.
//!
//! A text section is a count n, n + 1 ascending u32 offsets, then the concatenated UTF-8. A
//! dictionary's values are in code order; a second list has the codes in order of values, for binary
//! search. Numbers are kept as bits: i64, or f64 with -0.0 turned into 0.0.

use std::cmp::Ordering;

use bytemuck::checked::try_cast;
use bytemuck::{CheckedBitPattern, cast_slice};

use crate::Result;
use crate::compiled::records::Dictionary;
use crate::ensemble::{RowNumber, city_hash};
use crate::limits::to_u32;
use crate::memory::with_capacity;
use crate::verified::sure;

/// The type of a dictionary's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum CategoryKind {
    /// Text.
    Text = 1,
    /// Integers.
    Integer = 2,
    /// Floating-point numbers.
    Float = 3,
    /// Hashes of text, or of an integer's digits.
    Hashed = 4,
}

/// The dictionary of a categorical feature, read in place.
#[derive(Clone, Copy)]
pub struct CategoryView<'a> {
    kind: CategoryKind,
    start: usize,
    sorted: &'a [u32],
    numbers: &'a [u64],
    words: TextList<'a>,
    /// Whether unknown values have a code, the one after the last.
    open: bool,
    takes_hash: bool,
    takes_value: bool,
}

/// Flag of a dictionary's kind: unknown values have a code.
pub(crate) const UNKNOWN_CODE: u32 = 1 << 16;
/// Flag of a dictionary's kind: rows hold the hash of a value instead of its code.
pub(crate) const TAKES_HASH: u32 = 1 << 17;
/// Flag of a dictionary's kind: an array of features has the values instead of their codes.
pub(crate) const TAKES_VALUE: u32 = 1 << 18;

impl<'a> CategoryView<'a> {
    /// Returns the dictionary of a record; `None` for an empty one.
    pub(crate) fn new(
        record: Dictionary,
        sorted: &'a [u32],
        numbers: &'a [u64],
        words: TextList<'a>,
    ) -> Option<Self> {
        let open = record.kind & UNKNOWN_CODE != 0;
        let takes_hash = record.kind & TAKES_HASH != 0;
        let takes_value = record.kind & TAKES_VALUE != 0;
        let kind = try_cast(record.kind & !(UNKNOWN_CODE | TAKES_HASH | TAKES_VALUE)).ok()?;
        let first = record.sorted as usize;
        let sorted = sorted.get(first..first.checked_add(record.count as usize)?)?;
        let start = record.start as usize;
        Some(CategoryView { kind, start, sorted, numbers, words, open, takes_hash, takes_value })
    }

    pub(crate) fn is_sound(&self) -> bool {
        let values = match self.kind {
            CategoryKind::Text => self.words.len(),
            CategoryKind::Integer | CategoryKind::Float | CategoryKind::Hashed => {
                self.numbers.len()
            }
        };
        let count = self.sorted.len();
        self.start.checked_add(count).is_some_and(|end| end <= values)
            && self.sorted.iter().all(|code| (*code as usize) < count)
    }

    /// Returns the type of values.
    pub fn kind(&self) -> CategoryKind {
        self.kind
    }

    /// Returns whether an array of features has the values instead of their codes.
    pub fn takes_value(&self) -> bool {
        self.takes_value
    }

    /// Returns the number in a row for a code, or a hash.
    #[inline]
    pub fn row_value<T: RowNumber>(&self, code: u32) -> T {
        if self.takes_hash { T::of_hash(code) } else { T::of_code(code) }
    }

    /// Returns the values as text in code order; hashes as numbers.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        (self.start..self.start + self.sorted.len()).map(|index| match self.kind {
            CategoryKind::Text => sure(self.words.get(index), WORD).to_owned(),
            CategoryKind::Integer => self.number(index).cast_signed().to_string(),
            CategoryKind::Hashed => self.number(index).to_string(),
            CategoryKind::Float => f64::from_bits(self.number(index)).to_string(),
        })
    }

    fn number(&self, index: usize) -> u64 {
        self.numbers[index]
    }

    /// Returns the code of a text, or its hash where rows hold hashes, if it is known or unknown values
    /// have a code.
    pub fn code_of_text(&self, text: &str) -> Option<u32> {
        self.known_text(text).or(self.unknown_code())
    }

    /// Returns the code of unknown values, if they have one.
    pub fn unknown_code(&self) -> Option<u32> {
        self.open.then_some(self.sorted.len() as u32)
    }

    fn known_text(&self, text: &str) -> Option<u32> {
        if self.kind == CategoryKind::Hashed {
            let hash = city_hash::hash(text.as_bytes());
            return Some(if self.takes_hash { hash } else { self.code_of_hash(hash) });
        }
        if self.kind != CategoryKind::Text {
            return None;
        }
        self.search(|index| sure(self.words.bytes(index), WORD).cmp(text.as_bytes()))
    }

    /// Returns the code of a hash; one in no set if no split tests it.
    pub(crate) fn code_of_hash(&self, hash: u32) -> u32 {
        let hash = u64::from(hash);
        let code = self.search(|index| self.number(index).cmp(&hash));
        code.unwrap_or(self.sorted.len() as u32)
    }

    /// Returns the code of an integer, or its hash where rows hold hashes, if it is known or unknown
    /// values have a code.
    pub fn code_of_integer(&self, number: i64) -> Option<u32> {
        self.known_integer(number).or(self.unknown_code())
    }

    fn known_integer(&self, number: i64) -> Option<u32> {
        match self.kind {
            CategoryKind::Text => None,
            CategoryKind::Integer => {
                self.search(|index| self.number(index).cast_signed().cmp(&number))
            }
            CategoryKind::Float => self.known_float(number as f64),
            CategoryKind::Hashed => self.known_text(&number.to_string()),
        }
    }

    /// Returns the code of a number other than NaN, if it is known or unknown values have a code.
    pub fn code_of_float(&self, number: f64) -> Option<u32> {
        self.known_float(number).or(self.unknown_code())
    }

    /// Whether the values are floating-point numbers, and this one of them.
    pub fn has_float(&self, number: f64) -> bool {
        self.kind == CategoryKind::Float && self.known_float(number).is_some()
    }

    fn known_float(&self, number: f64) -> Option<u32> {
        // Above this, not all integers are floats.
        const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;
        let number = number + 0.0;
        match self.kind {
            CategoryKind::Text => None,
            CategoryKind::Integer | CategoryKind::Hashed => (number.fract() == 0.0
                && number.abs() <= MAX_WHOLE)
                .then(|| self.known_integer(number as i64))?,
            CategoryKind::Float => {
                self.search(|index| f64::from_bits(self.number(index)).total_cmp(&number))
            }
        }
    }

    /// Returns the code whose value compares equal; `compare` takes the index of a value.
    fn search(&self, compare: impl Fn(usize) -> Ordering) -> Option<u32> {
        let at = |code: &u32| compare(self.start + *code as usize);
        self.sorted.binary_search_by(at).ok().map(|found| self.sorted[found])
    }
}

const WORD: &str = "a category of text has a word";

#[derive(Clone, Copy)]
pub(crate) struct TextList<'a> {
    offsets: &'a [u32],
    text: &'a [u8],
}

impl<'a> TextList<'a> {
    /// Reads a section, as an empty list if it is malformed. Takes constant time; [`TextList::check`]
    /// checks the texts.
    pub(crate) fn read(section: &'a [u8]) -> Self {
        Self::split(section).unwrap_or(TextList { offsets: &[], text: &[] })
    }

    fn split(section: &'a [u8]) -> Option<Self> {
        let (head, rest) = section.split_at_checked(4)?;
        let count = bytemuck::pod_read_unaligned::<u32>(head) as usize;
        let (offsets, text) = rest.split_at_checked(count.checked_add(1)?.checked_mul(4)?)?;
        Some(TextList { offsets: bytemuck::try_cast_slice(offsets).ok()?, text })
    }

    /// Returns whether a section is a list of `count` texts in UTF-8.
    pub(crate) fn check(section: &[u8], count: usize) -> bool {
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

    pub(crate) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns the bytes of a text.
    pub(crate) fn bytes(&self, index: usize) -> Option<&'a [u8]> {
        let start = *self.offsets.get(index)? as usize;
        let end = *self.offsets.get(index.checked_add(1)?)? as usize;
        self.text.get(start..end)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&'a str> {
        std::str::from_utf8(self.bytes(index)?).ok()
    }
}

/// Creates the section of a list of texts.
pub(crate) fn text_section<'a>(
    texts: impl ExactSizeIterator<Item = &'a str> + Clone,
) -> Result<Vec<u8>> {
    if texts.len() == 0 {
        return Ok(Vec::new());
    }
    let mut numbers = with_capacity(texts.len() + 2)?;
    numbers.extend([to_u32(texts.len())?, 0]);
    let mut end = 0;
    for text in texts.clone() {
        end += text.len();
        numbers.push(to_u32(end)?);
    }
    let numbers = cast_slice(&numbers);
    let mut section = with_capacity(numbers.len() + end)?;
    section.extend_from_slice(numbers);
    texts.for_each(|text| section.extend_from_slice(text.as_bytes()));
    Ok(section)
}
