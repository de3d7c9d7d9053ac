//! Distributions of features: missing values, points of the numbers, shares of categories.
//!
//! A [`Collector`] gathers values and sorts the numbers of all features together in bounded memory; a
//! [`Summary`] keeps a feature's distinct numbers, or [`MAX_POINTS`] quantiles if there are more.
//! Numbers are f32, as in models; infinite ones count as missing.

use std::collections::BTreeMap;

use pg_interface::report::check_for_interrupts;

use crate::SourceError;
use crate::sorter::{Sorter, number, ordered, work_mem};

/// Maximum points of a distribution, not counting its last.
pub const MAX_POINTS: u64 = 1000;

/// A number with its cumulative shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The number.
    pub number: f64,
    /// The share of smaller numbers.
    pub below: f64,
    /// The share of numbers up to this one.
    pub upto: f64,
}

/// The distribution of a feature.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureProfile {
    /// Name of the feature.
    pub feature: String,
    /// Number of rows.
    pub rows: u64,
    /// Rows without a value.
    pub missing: u64,
    /// Distribution of the other values.
    pub values: ProfileValues,
}

/// The distribution of values.
#[derive(Clone, Debug, PartialEq)]
pub enum ProfileValues {
    /// Points in ascending order.
    Numbers(Vec<Point>),
    /// Categories with their shares, in byte order.
    Categories(Vec<(String, f64)>),
}

/// Estimated overhead in bytes of a distinct text.
const TEXT_BYTES: usize = 64;

/// Gathers the values of features.
pub struct Collector {
    features: Vec<Feature>,
    /// Entries are the feature and the number in one word.
    sorter: Sorter<1>,
    text_bytes: usize,
}

struct Feature {
    name: String,
    rows: u64,
    missing: u64,
    numbers: Numbers,
    /// Counts by text, for a categorical feature.
    texts: Option<BTreeMap<String, u64>>,
}

/// A summary of a feature's unsorted numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    /// Number of numbers.
    pub count: u64,
    /// The smallest number.
    pub least: f32,
    /// The largest number.
    pub greatest: f32,
}

impl Collector {
    /// Creates a collector of features, given names and whether they are categorical.
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

    /// Returns whether a feature is categorical.
    pub fn is_categorical(&self, feature: usize) -> bool {
        self.features.get(feature).is_some_and(|feature| feature.texts.is_some())
    }

    /// Adds a feature's number; NaN is missing.
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

    /// Adds a categorical feature's text, `None` if missing.
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

    /// Sets a categorical feature's texts and number of rows, counted elsewhere.
    pub fn set_texts(&mut self, index: usize, rows: u64, texts: BTreeMap<String, u64>) {
        if let Some(feature) = self.features.get_mut(index) {
            feature.rows = rows;
            feature.missing = rows - texts.values().sum::<u64>();
            feature.texts = Some(texts);
        }
    }

    /// Returns the summary of each feature's numbers.
    pub fn numbers(&self) -> Vec<Numbers> {
        self.features.iter().map(|feature| feature.numbers).collect()
    }

    /// Passes the sorted distinct numbers of all features, with their counts, to a closure; returns the
    /// profiles without points.
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

    /// Returns the features' profiles.
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
            if let ProfileValues::Numbers(points) = &mut profile.values {
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
            None => ProfileValues::Numbers(Vec::new()),
            Some(texts) => {
                let share = |(text, times): (String, u64)| {
                    check_for_interrupts();
                    (text, times as f64 / count)
                };
                ProfileValues::Categories(texts.into_iter().map(share).collect())
            }
        };
        FeatureProfile { feature: self.name, rows: self.rows, missing: self.missing, values }
    }
}

/// Summarizes a feature's numbers, added in ascending order.
pub struct Summary {
    count: u64,
    seen: u64,
    /// A point per distinct number, unless they are too many.
    all: Option<Vec<Point>>,
    /// Points at equally spaced ranks.
    quantiles: Vec<Point>,
    next: u64,
}

impl Summary {
    /// Creates a summary of `count` numbers.
    pub fn of(count: u64) -> Summary {
        Summary { count, seen: 0, all: Some(Vec::new()), quantiles: Vec::new(), next: 0 }
    }

    /// Adds a number that occurs `values` times.
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

    /// Returns the rank of a quantile; the first is the smallest number's, the last the largest's.
    fn rank(&self, quantile: u64) -> u64 {
        let last = u128::from(self.count.saturating_sub(1));
        (u128::from(quantile) * last / u128::from(MAX_POINTS)) as u64
    }

    /// Returns the points.
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
    /// Collects the smallest and largest numbers of features; `None` has no bounds. Returns `None` if
    /// no feature has bounds.
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

    /// Returns whether any feature of a row is out of range; missing ones are not.
    #[inline]
    pub fn exclude(&self, features: &[f32]) -> bool {
        // Branchless, so that several features are compared at once.
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
