//! Takes in the values of features, row by row.

use std::collections::BTreeMap;

use super::{FeatureProfile, Summary, Values};
use crate::sorter::{Sorter, number, ordered, work_mem};
use crate::source::SourceError;

/// Bytes that a distinct text takes besides itself.
const TEXT_BYTES: usize = 64;

/// The values met so far.
pub struct Collector {
    features: Vec<Feature>,
    /// The feature and the number in one word.
    sorter: Sorter<1>,
    text_bytes: usize,
}

struct Feature {
    name: String,
    rows: u64,
    missing: u64,
    numbers: Numbers,
    /// How often each text was met, of a categorical feature.
    texts: Option<BTreeMap<String, u64>>,
}

/// What is known of a feature's numbers before they are in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    /// How many there are.
    pub count: u64,
    /// The least one.
    pub least: f32,
    /// The greatest one.
    pub greatest: f32,
}

impl Collector {
    /// Of features of these names, each of them categorical or not.
    pub fn of(features: impl Iterator<Item = (String, bool)>) -> Collector {
        let feature = |(name, categorical): (String, bool)| Feature {
            name,
            rows: 0,
            missing: 0,
            numbers: Numbers { count: 0, least: f32::INFINITY, greatest: f32::NEG_INFINITY },
            texts: categorical.then(BTreeMap::new),
        };
        let features = features.map(feature).collect();
        Collector { features, sorter: Sorter::new(work_mem()), text_bytes: 0 }
    }

    /// Whether a feature is categorical.
    pub fn is_categorical(&self, feature: usize) -> bool {
        self.features.get(feature).is_some_and(|feature| feature.texts.is_some())
    }

    /// Takes in a feature's number; NaN is a missing one.
    ///
    /// # Errors
    /// Those of the temporary file.
    #[inline]
    pub fn number(&mut self, index: usize, value: f32) -> Result<(), SourceError> {
        let Some(feature) = self.features.get_mut(index) else { return Ok(()) };
        feature.rows += 1;
        if !value.is_finite() {
            feature.missing += 1;
            return Ok(());
        }
        let numbers = &mut feature.numbers;
        numbers.count += 1;
        numbers.least = numbers.least.min(value);
        numbers.greatest = numbers.greatest.max(value);
        self.sorter.push([(index as u64) << 32 | u64::from(ordered(value))])
    }

    /// Takes in a categorical feature's text, or nothing.
    ///
    /// # Errors
    /// [`SourceError::TooManyTexts`].
    pub fn text(&mut self, index: usize, value: Option<&str>) -> Result<(), SourceError> {
        let Some(feature) = self.features.get_mut(index) else { return Ok(()) };
        feature.rows += 1;
        let (Some(value), Some(texts)) = (value, &mut feature.texts) else {
            feature.missing += 1;
            return Ok(());
        };
        if let Some(count) = texts.get_mut(value) {
            *count += 1;
            return Ok(());
        }
        self.text_bytes += TEXT_BYTES + value.len();
        if self.text_bytes > work_mem() {
            return Err(SourceError::TooManyTexts { column: feature.name.clone() });
        }
        texts.insert(value.to_owned(), 1);
        Ok(())
    }

    /// What a categorical feature's texts are, and in how many rows, counted elsewhere.
    pub fn set_texts(&mut self, index: usize, rows: u64, texts: BTreeMap<String, u64>) {
        if let Some(feature) = self.features.get_mut(index) {
            feature.rows = rows;
            feature.missing = rows - texts.values().sum::<u64>();
            feature.texts = Some(texts);
        }
    }

    /// What is known of the numbers of each feature.
    pub fn numbers(&self) -> Vec<Numbers> {
        self.features.iter().map(|feature| feature.numbers).collect()
    }

    /// Hands over the numbers of all features in order, each with how many values are that number, and
    /// then gives what else is known: with no points for numbers.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn finish(
        self,
        mut each: impl FnMut(usize, f32, u64),
    ) -> Result<Vec<FeatureProfile>, SourceError> {
        let mut last = (0, 0);
        let mut give = |(key, values): (u64, u64)| {
            if values > 0 {
                each((key >> 32) as usize, number(key as u32), values);
            }
        };
        self.sorter.each(|[key]| {
            if *key != last.0 {
                give(last);
                last = (*key, 0);
            }
            last.1 += 1;
        })?;
        give(last);
        Ok(self.features.into_iter().map(Feature::described).collect())
    }

    /// The profiles of the features.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn profiles(self) -> Result<Vec<FeatureProfile>, SourceError> {
        let mut summaries: Vec<Summary> =
            self.numbers().into_iter().map(|numbers| Summary::of(numbers.count)).collect();
        let mut profiles = self.finish(|feature, number, values| {
            if let Some(summary) = summaries.get_mut(feature) {
                summary.add(number, values);
            }
        })?;
        for (profile, summary) in profiles.iter_mut().zip(summaries) {
            if let Values::Numbers(points) = &mut profile.values {
                *points = summary.points();
            }
        }
        Ok(profiles)
    }
}

impl Feature {
    fn described(self) -> FeatureProfile {
        let count = (self.rows - self.missing) as f64;
        let values = match self.texts {
            None => Values::Numbers(Vec::new()),
            Some(texts) => Values::Categories(
                texts.into_iter().map(|(text, times)| (text, times as f64 / count)).collect(),
            ),
        };
        FeatureProfile { feature: self.name, rows: self.rows, missing: self.missing, values }
    }
}
