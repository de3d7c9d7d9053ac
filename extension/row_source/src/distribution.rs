//! The distributions of features in rows: how many values are missing, how the numbers are distributed, and
//! what shares the categories have.
//!
//! A [`Collector`] takes in values and sorts the numbers of all features together in bounded memory; a
//! [`Summary`] keeps of a feature's numbers every distinct one, or where there are more than [`MAX_POINTS`]
//! as many quantiles. Numbers are f32, as models take them, and infinite ones are missing.

use std::collections::BTreeMap;

use crate::SourceError;
use crate::sorter::{Sorter, number, ordered, work_mem};

/// Most points that a distribution is kept by, besides its last.
pub const MAX_POINTS: u64 = 1000;

/// A number, and the shares of the numbers below it and up to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The number.
    pub number: f64,
    /// The share of smaller ones.
    pub below: f64,
    /// The share of those that are not greater.
    pub upto: f64,
}

/// What is kept of a feature.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureProfile {
    /// Its name.
    pub feature: String,
    /// Rows that were looked at.
    pub rows: u64,
    /// Those of them without a value.
    pub missing: u64,
    /// The values of the others.
    pub values: Values,
}

/// How values are distributed.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Points in ascending order.
    Numbers(Vec<Point>),
    /// Each category with its share, in the order of their bytes.
    Categories(Vec<(String, f64)>),
}

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

/// Takes in the numbers of a feature in ascending order.
pub struct Summary {
    count: u64,
    seen: u64,
    /// A point for each number, as long as there are few.
    all: Option<Vec<Point>>,
    /// Points at ranks of equal distance.
    quantiles: Vec<Point>,
    next: u64,
}

impl Summary {
    /// Of so many numbers.
    pub fn of(count: u64) -> Summary {
        Summary { count, seen: 0, all: Some(Vec::new()), quantiles: Vec::new(), next: 0 }
    }

    /// Takes in a number that so many values are.
    pub fn add(&mut self, number: f32, values: u64) {
        let share = |rank: u64| rank as f64 / self.count as f64;
        let (below, upto) = (share(self.seen), share(self.seen + values));
        let point = Point { number: f64::from(number), below, upto };
        self.seen += values;
        let mut chosen = false;
        while self.next <= MAX_POINTS && self.rank(self.next) < self.seen {
            chosen = true;
            self.next += 1;
        }
        if chosen {
            self.quantiles.push(point);
        }
        match &mut self.all {
            Some(all) if (all.len() as u64) < MAX_POINTS => all.push(point),
            _ => self.all = None,
        }
    }

    /// The rank of a quantile: the first is the least number's, the last the greatest's.
    fn rank(&self, quantile: u64) -> u64 {
        let last = u128::from(self.count.saturating_sub(1));
        (u128::from(quantile) * last / u128::from(MAX_POINTS)) as u64
    }

    /// The points.
    pub fn points(self) -> Vec<Point> {
        self.all.unwrap_or(self.quantiles)
    }
}

/// The ranges of all features, in the model's order.
pub struct Ranges {
    least: Box<[f32]>,
    greatest: Box<[f32]>,
}

impl Ranges {
    /// Of features whose least and greatest number are these; nothing of one without a profile of numbers,
    /// which is never outside. Nothing if that goes for all.
    pub fn of(ranges: impl IntoIterator<Item = Option<(f64, f64)>>) -> Option<Ranges> {
        let mut known = false;
        let (least, greatest): (Vec<f32>, Vec<f32>) = ranges
            .into_iter()
            .inspect(|range| known |= range.is_some())
            .map(|range| range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY)))
            .map(|(least, greatest)| (least as f32, greatest as f32))
            .unzip();
        let ranges = Ranges { least: least.into(), greatest: greatest.into() };
        known.then_some(ranges)
    }

    /// Whether any feature of a row is outside. A missing one is not.
    #[inline]
    pub fn exclude(&self, features: &[f32]) -> bool {
        // Without a jump per feature: several are compared at once.
        features.iter().zip(&self.least).zip(&self.greatest).fold(
            false,
            |outside, ((feature, least), greatest)| {
                outside | (feature < least) | (feature > greatest)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at a surprise")]

    use super::{Ranges, Summary};

    #[test]
    fn few_numbers_are_kept_and_many_are_summarized() {
        let mut few = Summary::of(4);
        few.add(1.0, 3);
        few.add(2.0, 1);
        let points = few.points();
        assert_eq!(points.iter().map(|point| point.upto).collect::<Vec<_>>(), [0.75, 1.0]);
        let mut many = Summary::of(100_000);
        (0..100_000).for_each(|number| many.add(number as f32, 1));
        let points = many.points();
        assert_eq!(points.len(), 1001);
        assert_eq!((points[0].number, points[1000].number), (0.0, 99_999.0));
        assert_eq!(points[1000].upto, 1.0);
    }

    #[test]
    fn numbers_beyond_either_end_are_outside() {
        let ranges = Ranges::of([Some((-1.0, 2.5)), None, Some((7.0, 7.0))]).unwrap();
        for inside in [[-1.0, 1e30, 7.0], [2.5, f32::NEG_INFINITY, f32::NAN]] {
            assert!(!ranges.exclude(&inside), "{inside:?}");
        }
        for outside in [[-1.1, 0.0, 7.0], [2.6, 0.0, 7.0], [0.0, 0.0, 6.9], [0.0, 0.0, 7.1]] {
            assert!(ranges.exclude(&outside), "{outside:?}");
        }
        assert!(Ranges::of([None, None]).is_none());
    }
}
