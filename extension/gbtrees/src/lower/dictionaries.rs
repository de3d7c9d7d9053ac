//! The values of categorical features as sections of a compiled model.

use std::cmp::Ordering;

use crate::Result;
use crate::compiled::categories::{
    CategoryKind, TAKES_HASH, TAKES_VALUE, UNKNOWN_CODE, text_section,
};
use crate::compiled::records::Dictionary;
use crate::compiled::sections::{DICTIONARIES, NUMBERS, SORTED, WORDS, Writer};
use crate::ensemble::{ArrayCategories, Categories, Ensemble};
use crate::limits::to_u32;

/// The sections of all dictionaries.
#[derive(Default)]
pub(crate) struct Dictionaries<'a> {
    records: Vec<Dictionary>,
    numbers: Vec<u64>,
    words: Vec<&'a str>,
    text: Vec<u8>,
    sorted: Vec<u32>,
}

impl<'a> Dictionaries<'a> {
    /// Collects the dictionaries of a model's features; no record at all if no feature has one.
    pub(crate) fn collect(model: &'a Ensemble) -> Result<Self> {
        let mut all = Dictionaries::default();
        if model.categories().iter().any(Option::is_some) {
            for (feature, categories) in model.categories().iter().enumerate() {
                let unknown = if model.has_unknown_code(feature) { UNKNOWN_CODE } else { 0 };
                let hash = if model.ctrs.takes_hash(feature) { TAKES_HASH } else { 0 };
                let value = if takes_value(model, categories.as_ref()) { TAKES_VALUE } else { 0 };
                all.add(categories.as_ref(), unknown | hash | value)?;
            }
        }
        all.text = text_section(all.words.iter().copied())?;
        Ok(all)
    }

    pub(crate) fn put<'w>(&'w self, writer: &mut Writer<'w>) {
        writer.put(DICTIONARIES, &self.records);
        writer.put(NUMBERS, &self.numbers);
        writer.put(WORDS, &self.text);
        writer.put(SORTED, &self.sorted);
    }

    fn add(&mut self, categories: Option<&'a Categories>, flags: u32) -> Result<()> {
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
                self.sort(count, |a, b| values[a].total_cmp(&values[b]));
                // Adding zero merges -0.0 and 0.0, which are equal.
                (CategoryKind::Float, self.push(values.iter().map(|value| (value + 0.0).to_bits())))
            }
            Categories::Hashed(hashes) => {
                self.sort(count, |a, b| hashes[a].cmp(&hashes[b]));
                (CategoryKind::Hashed, self.push(hashes.iter().map(|hash| (*hash).into())))
            }
        };
        let kind = kind as u32 | flags;
        self.records.push(Dictionary { kind, count, start: to_u32(start)?, sorted });
        Ok(())
    }

    /// Appends numbers; returns the index of the first.
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

/// Returns whether an array has the categories themselves: CatBoost has no codes, and texts are no numbers.
fn takes_value(model: &Ensemble, categories: Option<&Categories>) -> bool {
    match categories {
        Some(Categories::Integer(_) | Categories::Float(_)) => {
            model.array_categories() == ArrayCategories::Values
        }
        Some(Categories::Hashed(_)) => true,
        Some(Categories::Text(_)) | None => false,
    }
}
