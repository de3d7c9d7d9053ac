//! The drift of a source's features from their baseline: the population stability index and the
//! Kolmogorov-Smirnov statistic.
//!
//! Both are evidently's (src/evidently/calculations/stattests: psi.py, utils.py `get_binned_data`,
//! ks_stattest.py). Missing values are left out. The index is the sum over bins of (r - c) ln(r / c), for
//! the shares r of the baseline and c of the current values. If the baseline has more than 20 numbers, they are
//! in bins of equal width from the least to the greatest of both, whose number is by Sturges' rule; otherwise
//! each number or category is a bin. A share of 0 is replaced by 0.0001, or by a
//! millionth of the least other share if that is at most 0.0001. Features are read without the
//! model's encoding: a category that it was not trained on counts as well.

use std::collections::BTreeMap;

use pg_interface::report::{check_for_interrupts, counted};
use pg_interface::{ScalarType, catalog};
use row_source::distribution::{Collector, Numbers, Point};
use row_source::{Field, PlacedColumn, Row, Source, SourceError, width};

use crate::cache::ModelImage;
use crate::error::{Error, Result};
use crate::features::by_name;

/// The number of rows between two checks for interrupts.
const ROWS_PER_CHECK: u64 = 1 << 12;

/// Collects the values of a model's features in the rows of a source, which runs once, with the caller's
/// privileges.
pub(crate) fn collect(image: &ModelImage, source: &str) -> Result<Collector> {
    let names = by_name::column_names(image);
    let features = names.iter().map(String::as_str).collect();
    let (query, columns) = Source::of(source)?.select(&[features], &[], None, "source")?;
    let categorical =
        |index: usize| image.is_categorical(index) || image.categories(index).is_some();
    for (index, column) in columns.iter().enumerate() {
        check_type(column, categorical(index))?;
    }
    let features = names.iter().enumerate().map(|(index, name)| (name.clone(), categorical(index)));
    let mut collector = Collector::of(features);
    let mut rows: u64 = 0;
    row_source::run_first(&query, "source", width(&columns), |row| {
        rows += 1;
        if rows.is_multiple_of(ROWS_PER_CHECK) {
            check_for_interrupts();
        }
        read(&mut collector, &columns, row)
    })?;
    if rows == 0 {
        return Err(SourceError::NoRows { argument: "source", skipped: 0 }.into());
    }
    Ok(collector)
}

fn check_type(column: &PlacedColumn, categorical: bool) -> Result<()> {
    match ScalarType::of(column.type_oid) {
        None if column.element.is_some() && !categorical => Ok(()),
        Some(ScalarType::Number(_)) => Ok(()),
        Some(ScalarType::Text(_)) if categorical => Ok(()),
        _ => Err(SourceError::ColumnType {
            column: column.name.clone(),
            type_name: catalog::type_name(column.type_oid),
            role: "a feature of this model",
            hint: "Cast it to a numeric type in a query.",
        }
        .into()),
    }
}

fn read(collector: &mut Collector, columns: &[PlacedColumn], row: Row<'_>) -> Result<()> {
    for (index, column) in columns.iter().enumerate() {
        let field = row.get(column.position);
        if let Some((place, count)) = column.element {
            if place == 0 {
                read_elements(collector, index, count, column, field)?;
            }
        } else if collector.is_categorical(index) {
            collector.text(index, field.and_then(Field::category).as_deref())?;
        } else {
            let number = field.and_then(|field| field.number()).map_or(f32::NAN, |x| x as f32);
            collector.number(index, number)?;
        }
    }
    Ok(())
}

/// Reads an array whose elements are the features from this one on; if it is NULL, they are missing.
fn read_elements(
    collector: &mut Collector,
    first: usize,
    expected: usize,
    column: &PlacedColumn,
    field: Option<Field<'_>>,
) -> Result<()> {
    let Some(elements) = field.and_then(|field| field.elements()) else {
        return Ok(
            (first..first + expected).try_for_each(|index| collector.number(index, f32::NAN))?
        );
    };
    let given = elements.len();
    if given != expected {
        let column = column.array_name().to_owned();
        return Err(Error::ArrayLength { column, expected: counted(expected, "element"), given });
    }
    for (index, element) in (first..).zip(elements) {
        collector.number(index, element.map_or(f32::NAN, |number| number.double() as f32))?;
    }
    Ok(())
}

/// The most distinct numbers that are not put into bins.
const MAX_VALUES: usize = 20;
const REPLACES_ZERO: f64 = 1e-4;
/// The terms of the series of Kolmogorov's distribution; after the hundredth they no longer change the sum.
const TERMS: i32 = 100;

/// The distribution of a profile's numbers, linear between two points.
pub(crate) struct Distribution {
    points: Vec<Point>,
    count: u64,
}

impl Distribution {
    /// Creates the distribution from points in ascending order and the number of values.
    pub(crate) fn new(points: Vec<Point>, count: u64) -> Distribution {
        Distribution { points, count }
    }

    /// Returns the shares of numbers below `number`, and up to it.
    fn shares(&self, number: f64) -> (f64, f64) {
        let after = self.points.partition_point(|point| point.number <= number);
        let before = after.checked_sub(1).and_then(|index| self.points.get(index));
        match (before, self.points.get(after)) {
            (Some(at), _) if at.number == number => (at.below, at.upto),
            (Some(left), Some(right)) => {
                let between = (number - left.number) / (right.number - left.number);
                let share = left.upto + (right.below - left.upto) * between;
                (share, share)
            }
            (Some(_), None) => (1.0, 1.0),
            (None, _) => (0.0, 0.0),
        }
    }
}

/// The drift of a numeric feature, computed from its current numbers in ascending order.
pub(crate) struct NumberDrift<'a> {
    reference: &'a Distribution,
    count: u64,
    seen: u64,
    statistic: f64,
    bins: Bins,
}

enum Bins {
    /// Borders of bins, and the current values in each.
    Widths { borders: Vec<f64>, counts: Vec<u64>, bin: usize },
    /// The count of each number of the profile; for the others, the number of those with each count.
    Values { counts: Vec<u64>, others: BTreeMap<u64, u64> },
}

impl<'a> NumberDrift<'a> {
    pub(crate) fn from(reference: &'a Distribution, current: Numbers) -> NumberDrift<'a> {
        let bins = if reference.points.len() > MAX_VALUES {
            let borders = borders(reference, current);
            let counts = vec![0; borders.len().saturating_sub(1)];
            Bins::Widths { borders, counts, bin: 0 }
        } else {
            Bins::Values { counts: vec![0; reference.points.len()], others: BTreeMap::new() }
        };
        NumberDrift { reference, count: current.count, seen: 0, statistic: 0.0, bins }
    }

    pub(crate) fn add(&mut self, number: f32, values: u64) {
        let number = f64::from(number);
        let share = |rank: u64| rank as f64 / self.count as f64;
        let (below, upto) = self.reference.shares(number);
        let apart = (below - share(self.seen)).abs().max((upto - share(self.seen + values)).abs());
        self.statistic = self.statistic.max(apart);
        self.seen += values;
        match &mut self.bins {
            Bins::Widths { borders, counts, bin } => {
                // The last bin has its upper border.
                while *bin + 1 < counts.len()
                    && borders.get(*bin + 1).is_some_and(|border| number >= *border)
                {
                    *bin += 1;
                }
                if let Some(count) = counts.get_mut(*bin) {
                    *count += values;
                }
            }
            Bins::Values { counts, others } => {
                let points = &self.reference.points;
                match points.binary_search_by(|point| point.number.total_cmp(&number)) {
                    Ok(place) => {
                        counts.get_mut(place).into_iter().for_each(|count| *count = values)
                    }
                    Err(_) => *others.entry(values).or_default() += 1,
                }
            }
        }
    }

    /// Returns the index, the statistic, and its p-value by Kolmogorov's limit.
    pub(crate) fn finish(self) -> Option<(f64, f64, f64)> {
        if self.count == 0 || self.reference.count == 0 {
            return None;
        }
        let share = |count: &u64| *count as f64 / self.count as f64;
        let bins: Vec<Shares> = match &self.bins {
            Bins::Widths { borders, counts, .. } => {
                let mut below = borders.iter().map(|border| self.reference.shares(*border).0);
                let mut before = below.next().unwrap_or(0.0);
                let mut bins = Vec::with_capacity(counts.len());
                for (index, (upper, count)) in below.zip(counts).enumerate() {
                    let upper = if index + 1 == counts.len() { 1.0 } else { upper };
                    bins.push(Shares::of(upper - before, share(count)));
                    before = upper;
                }
                bins
            }
            Bins::Values { counts, others } => {
                let known = self.reference.points.iter().zip(counts);
                let known =
                    known.map(|(point, count)| Shares::of(point.upto - point.below, share(count)));
                let others = others.iter().map(|(count, times)| Shares {
                    reference: 0.0,
                    current: share(count),
                    times: *times as f64,
                });
                known.chain(others).collect()
            }
        };
        let (a, b) = (self.reference.count as f64, self.count as f64);
        let chance = kolmogorov(self.statistic * (a * b / (a + b)).sqrt());
        Some((stability_index(&bins), self.statistic, chance))
    }
}

/// Returns borders of equal width over both (numpy: `histogram_bin_edges(bins="sturges")`).
fn borders(reference: &Distribution, current: Numbers) -> Vec<f64> {
    let ends = reference.points.first().zip(reference.points.last());
    let (mut first, mut last) = ends.map_or((0.0, 0.0), |(a, b)| (a.number, b.number));
    if current.count > 0 {
        first = first.min(f64::from(current.least));
        last = last.max(f64::from(current.greatest));
    }
    let total = (reference.count + current.count) as f64;
    let width = (last - first) / (total.log2() + 1.0);
    let bins = ((last - first) / width).ceil().max(1.0);
    let step = (last - first) / bins;
    let inner = (0..bins as usize).map(|border| border as f64 * step + first);
    inner.chain([last]).collect()
}

/// The shares of a bin, or of several equal ones.
pub(crate) struct Shares {
    reference: f64,
    current: f64,
    times: f64,
}

impl Shares {
    /// Creates the shares of one bin.
    pub(crate) fn of(reference: f64, current: f64) -> Shares {
        Shares { reference, current, times: 1.0 }
    }
}

/// Computes the index from the bins.
pub(crate) fn stability_index(bins: &[Shares]) -> f64 {
    let zero = |share: fn(&Shares) -> f64| {
        let shares = bins.iter().map(share).filter(|share| *share > 0.0);
        let least = shares.fold(f64::INFINITY, f64::min);
        if least <= REPLACES_ZERO { least / 1e6 } else { REPLACES_ZERO }
    };
    let zeros = (zero(|bin| bin.reference), zero(|bin| bin.current));
    let or = |share: f64, zero: f64| if share > 0.0 { share } else { zero };
    let part = |bin: &Shares| {
        let (r, c) = (or(bin.reference, zeros.0), or(bin.current, zeros.1));
        bin.times * (r - c) * (r / c).ln()
    };
    bins.iter().map(part).sum()
}

/// Returns the probability that Kolmogorov's statistic, times the root of the sample's size, is larger.
fn kolmogorov(scaled: f64) -> f64 {
    // The series does not converge for arguments where the probability is 1 to six digits.
    if scaled < 0.3 {
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * f64::from(k * k) * scaled * scaled).exp()
    };
    (1..=TERMS).map(term).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {

    use super::Shares;
    use super::kolmogorov;
    use super::stability_index;

    #[test]
    fn kolmogorov_has_its_tabulated_values() {
        for (scaled, chance) in [(1.3581, 0.05), (1.6276, 0.01), (0.8276, 0.5)] {
            assert!((kolmogorov(scaled) - chance).abs() < 1e-4, "{scaled}");
        }
        assert!(kolmogorov(0.31) > 0.9999);
    }

    #[test]
    fn equal_shares_are_at_no_distance() {
        assert_eq!(stability_index(&[Shares::of(0.25, 0.25), Shares::of(0.75, 0.75)]), 0.0);
        assert!(stability_index(&[Shares::of(1.0, 0.0), Shares::of(0.0, 1.0)]) > 10.0);
    }
}
