//! The category dictionaries in an image: from a value to the code that the model was trained with.
//!
//! Values lie in the order of their codes; beside them lie the codes in the order of their values, so
//! that a look-up is a binary search. Numbers are kept as bits: integers as i64, floating point as
//! f64 with -0.0 turned into 0.0.

use std::cmp::Ordering;

use bytemuck::CheckedBitPattern;
use bytemuck::checked::try_cast;

use super::records::Dictionary;
use super::text::{TextList, to_u32};
use crate::Result;
use crate::format::hash_of_category;
use crate::model::{Categories, Model};
use crate::verified::sure;

/// What the values of a dictionary are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum CategoryKind {
    /// Text.
    Text = 1,
    /// Whole numbers.
    Integer = 2,
    /// Floating-point numbers.
    Float = 3,
    /// Hashes of text, or of a whole number's digits.
    Hashed = 4,
}

/// The dictionary of one categorical feature, read in place.
#[derive(Clone, Copy)]
pub struct CategoryView<'a> {
    kind: CategoryKind,
    start: usize,
    sorted: &'a [u32],
    numbers: &'a [u64],
    words: TextList<'a>,
    /// Whether a value that is none of these has a code, which is the one after the last.
    open: bool,
}

/// Added to a dictionary's kind: [`CategoryView::open`].
const OPEN: u32 = 1 << 16;

impl<'a> CategoryView<'a> {
    /// The dictionary that a record describes; nothing if it describes none.
    pub(super) fn new(
        record: Dictionary,
        sorted: &'a [u32],
        numbers: &'a [u64],
        words: TextList<'a>,
    ) -> Option<Self> {
        let open = record.kind & OPEN != 0;
        let kind = try_cast(record.kind & !OPEN).ok()?;
        let first = record.sorted as usize;
        let sorted = sorted.get(first..first.checked_add(record.count as usize)?)?;
        Some(CategoryView { kind, start: record.start as usize, sorted, numbers, words, open })
    }

    pub(super) fn is_sound(&self) -> bool {
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

    /// What the values are.
    pub fn kind(&self) -> CategoryKind {
        self.kind
    }

    /// The values as text, in the order of their codes; of hashes their numbers.
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

    /// The code of a text, if it is one of the values or unknown values have a code.
    pub fn code_of_text(&self, text: &str) -> Option<u32> {
        self.known_text(text).or(self.unknown())
    }

    fn unknown(&self) -> Option<u32> {
        self.open.then_some(self.sorted.len() as u32)
    }

    fn known_text(&self, text: &str) -> Option<u32> {
        if self.kind == CategoryKind::Hashed {
            return Some(self.code_of_hash(hash_of_category(text.as_bytes())));
        }
        if self.kind != CategoryKind::Text {
            return None;
        }
        self.search(|index| sure(self.words.bytes(index), WORD).cmp(text.as_bytes()))
    }

    /// The code of a hash; of one that no split tests, a code that is in no set.
    fn code_of_hash(&self, hash: u32) -> u32 {
        let hash = u64::from(hash);
        let code = self.search(|index| self.number(index).cmp(&hash));
        code.unwrap_or(self.sorted.len() as u32)
    }

    /// The code of a whole number, if it is one of the values or unknown values have a code.
    pub fn code_of_integer(&self, number: i64) -> Option<u32> {
        self.known_integer(number).or(self.unknown())
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

    /// The code of a floating-point number that is not NaN, if it is one of the values or unknown values
    /// have a code.
    pub fn code_of_float(&self, number: f64) -> Option<u32> {
        self.known_float(number).or(self.unknown())
    }

    fn known_float(&self, number: f64) -> Option<u32> {
        // Above this the neighbours of a float are not whole numbers that it could be told from.
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

    /// The code whose value compares equal, where `compare` is given the index of a value.
    fn search(&self, compare: impl Fn(usize) -> Ordering) -> Option<u32> {
        let at = |code: &u32| compare(self.start + *code as usize);
        self.sorted.binary_search_by(at).ok().map(|found| self.sorted[found])
    }
}

const WORD: &str = "a category of text has a word";

/// The sections of all dictionaries, as they are collected.
#[derive(Default)]
pub(super) struct Dictionaries<'a> {
    pub(super) records: Vec<Dictionary>,
    pub(super) numbers: Vec<u64>,
    pub(super) words: Vec<&'a str>,
    pub(super) sorted: Vec<u32>,
}

impl<'a> Dictionaries<'a> {
    /// The dictionaries of a model's features; no record at all if no feature has one.
    pub(super) fn collect(model: &'a Model) -> Result<Self> {
        let mut all = Dictionaries::default();
        if model.categories().iter().any(Option::is_some) {
            for (feature, categories) in model.categories().iter().enumerate() {
                all.add(categories.as_ref(), model.has_unknown_code(feature))?;
            }
        }
        Ok(all)
    }

    fn add(&mut self, categories: Option<&'a Categories>, open: bool) -> Result<()> {
        let sorted = to_u32(self.sorted.len())?;
        let Some(categories) = categories else {
            self.records.push(Dictionary { kind: 0, count: 0, start: 0, sorted });
            return Ok(());
        };
        let count = to_u32(categories.len())?;
        let (kind, start) = match categories {
            Categories::Text(values) => {
                self.sort(count, |a, b| values[a].cmp(&values[b]));
                let start = self.words.len();
                self.words.extend(values.iter().map(String::as_str));
                (CategoryKind::Text, start)
            }
            Categories::Integer(values) => {
                self.sort(count, |a, b| values[a].cmp(&values[b]));
                (CategoryKind::Integer, self.push(values.iter().map(|value| value.cast_unsigned())))
            }
            Categories::Float(values) => {
                // Adding zero makes -0.0 and 0.0 the one number that they are.
                let value = |index: usize| values[index] + 0.0;
                self.sort(count, |a, b| value(a).total_cmp(&value(b)));
                (CategoryKind::Float, self.push(values.iter().map(|value| (value + 0.0).to_bits())))
            }
            Categories::Hashed(hashes) => {
                self.sort(count, |a, b| hashes[a].cmp(&hashes[b]));
                (CategoryKind::Hashed, self.push(hashes.iter().map(|hash| (*hash).into())))
            }
        };
        let kind = kind as u32 | if open { OPEN } else { 0 };
        self.records.push(Dictionary { kind, count, start: to_u32(start)?, sorted });
        Ok(())
    }

    /// Appends numbers; gives the index of the first.
    fn push(&mut self, numbers: impl Iterator<Item = u64>) -> usize {
        let start = self.numbers.len();
        self.numbers.extend(numbers);
        start
    }

    /// Appends the codes below `count` in the order of their values.
    fn sort(&mut self, count: u32, compare: impl Fn(usize, usize) -> Ordering) {
        let start = self.sorted.len();
        self.sorted.extend(0..count);
        self.sorted[start..].sort_by(|a, b| compare(*a as usize, *b as usize));
    }
}
