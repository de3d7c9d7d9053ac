//! The values that partial dependence gives to a feature, of its values in a source.
//!
//! They are scikit-learn's (`_grid_from_X` of sklearn/inspection/_partial_dependence.py): each value of a
//! category, or of a number that has fewer different ones than there are points, and else points at equal
//! distances between two percentiles (scipy's `mquantiles`). A missing value comes last, if the source has one;
//! scikit-learn has it among few values only.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use pg_interface::report::check_for_interrupts;
use pg_interface::{Number, NumberType, Value};
use row_source::sorter::{Sorter, double, ordered_double, work_mem};
use row_source::{PlacedColumn, Row, SourceError};

use crate::cache::ModelImage;
use crate::error::{Error, Result};

/// The settings of a grid.
#[derive(Clone, Copy)]
pub(crate) struct GridShape {
    pub(crate) points: usize,
    pub(crate) percentiles: [f64; 2],
}

/// A value of a feature.
pub(crate) struct GridValue {
    /// The value as text, `None` if it is missing.
    pub(crate) text: Option<String>,
    /// The content of its cells in a row.
    pub(crate) cells: Vec<f32>,
}

/// The values of a feature in the rows that were read.
pub(crate) struct FeatureValues {
    pub(crate) feature: usize,
    column: PlacedColumn,
    values: GridValues,
    /// The cells of a missing value, if there was one.
    missing: Option<Vec<f32>>,
}

enum GridValues {
    /// By number, if they are numbers, and by text.
    Categories {
        cells: BTreeMap<(u64, String), Vec<f32>>,
        bytes: usize,
    },
    Numbers {
        sorter: Sorter<1>,
        count: u64,
    },
}

/// Estimated overhead in bytes of a category.
const CATEGORY_BYTES: usize = 96;

impl FeatureValues {
    pub(crate) fn of(image: &ModelImage, feature: usize, column: &PlacedColumn) -> FeatureValues {
        let categorical = image.is_categorical(feature) || image.categories(feature).is_some();
        let values = if categorical {
            GridValues::Categories { cells: BTreeMap::new(), bytes: 0 }
        } else {
            GridValues::Numbers { sorter: Sorter::new(work_mem()), count: 0 }
        };
        FeatureValues { feature, column: column.clone(), values, missing: None }
    }

    /// Adds the value of a row, given the cells that were read of it.
    pub(crate) fn add(&mut self, image: &ModelImage, row: Row<'_>, cells: &[f32]) -> Result<()> {
        let read = || {
            let places = image.cells_of(self.feature);
            places.filter_map(|place| cells.get(place).copied()).collect::<Vec<f32>>()
        };
        let field = row.get(self.column.position);
        let value = match self.column.element {
            Some((place, _)) => {
                field.and_then(|field| field.elements()?.nth(place).flatten()).map(Value::Number)
            }
            None => field.and_then(|field| field.value()),
        };
        let number = match value {
            None => None,
            Some(Value::Text(_)) => Some(0.0),
            Some(Value::Number(number)) => Some(as_read(image, number)).filter(|x| !x.is_nan()),
        };
        let Some(number) = number else {
            self.missing.get_or_insert_with(read);
            return Ok(());
        };
        match &mut self.values {
            GridValues::Numbers { sorter, count } => {
                *count += 1;
                sorter.push([ordered_double(number)])?;
            }
            GridValues::Categories { cells, bytes } => {
                let label = match (self.column.element, field) {
                    (None, Some(field)) => field.category().unwrap_or_default().into_owned(),
                    _ => shown(number),
                };
                let key = (ordered_double(number), label);
                let room = CATEGORY_BYTES + key.1.len();
                if let Entry::Vacant(entry) = cells.entry(key) {
                    *bytes += room;
                    if *bytes > work_mem() {
                        let column = self.column.name.clone();
                        return Err(SourceError::TooManyTexts { column }.into());
                    }
                    entry.insert(read());
                }
            }
        }
        Ok(())
    }

    /// Returns the values in ascending order, a missing one last.
    pub(crate) fn grid(self, image: &ModelImage, shape: GridShape) -> Result<Vec<GridValue>> {
        let FeatureValues { feature, column, values, missing } = self;
        let mut grid: Vec<GridValue> = match values {
            GridValues::Categories { cells, .. } => {
                let value = |((_, text), cells)| {
                    check_for_interrupts();
                    GridValue { text: Some(text), cells }
                };
                cells.into_iter().map(value).collect()
            }
            GridValues::Numbers { sorter, count } => {
                let most = shape.points.saturating_sub(1 + usize::from(missing.is_some()));
                let numbers = match ordered(sorter, count, shape.percentiles, most)? {
                    Ordered::Few(numbers) => numbers,
                    Ordered::Between([first, last])
                        if first < last && (last - first).is_finite() =>
                    {
                        spaced(first, last, shape.points)
                    }
                    Ordered::Between(_) => {
                        let feature = format!("\"{}\"", column.name).into();
                        return Err(Error::NoGrid { feature });
                    }
                };
                let value = |number: f64| {
                    check_for_interrupts();
                    GridValue { text: Some(shown(number)), cells: cells(image, feature, number) }
                };
                numbers.into_iter().map(value).collect()
            }
        };
        grid.extend(missing.map(|cells| GridValue { text: None, cells }));
        Ok(grid)
    }
}

/// Returns the number that the model reads.
fn as_read(image: &ModelImage, number: Number<'_>) -> f64 {
    match number.number_type() {
        NumberType::Float4 => image.double_of_real(number.single()),
        _ => number.double(),
    }
}

/// Returns the cells of a number in a row.
fn cells(image: &ModelImage, feature: usize, number: f64) -> Vec<f32> {
    let mut values = vec![0.0; image.num_features()];
    let mut row = vec![0.0; image.row_length()];
    values.get_mut(feature).into_iter().for_each(|value| *value = number);
    image.narrow_row(&values, &mut row);
    image.cells_of(feature).filter_map(|place| row.get(place).copied()).collect()
}

enum Ordered {
    /// All different numbers.
    Few(Vec<f64>),
    /// The percentiles of more numbers.
    Between([f64; 2]),
}

/// Returns the different numbers if they are at most `most`, and otherwise the percentiles.
fn ordered(sorter: Sorter<1>, count: u64, percentiles: [f64; 2], most: usize) -> Result<Ordered> {
    let quantiles = percentiles.map(|share| Quantile::of(share, count));
    let mut few = Some(Vec::new());
    let mut ends = [[0.0; 2]; 2];
    let mut place: u64 = 0;
    sorter.each(|[word]| {
        let number = double(*word);
        if let Some(numbers) = &mut few
            && numbers.last() != Some(&number)
        {
            if numbers.len() < most {
                numbers.push(number);
            } else {
                few = None;
            }
        }
        for (quantile, ends) in quantiles.iter().zip(&mut ends) {
            let [below, above] = ends;
            if place == quantile.place {
                *below = number;
            }
            if place == quantile.place + u64::from(count > 1) {
                *above = number;
            }
        }
        place += 1;
    })?;
    let [first, last] = quantiles;
    let [of_first, of_last] = ends;
    let between = || Ordered::Between([first.between(of_first), last.between(of_last)]);
    Ok(few.map_or_else(between, Ordered::Few))
}

/// A place among ordered numbers, counted from 0, and the share of the next number in the quantile.
struct Quantile {
    place: u64,
    share: f64,
}

impl Quantile {
    /// Computes it as `mquantiles` does with its default parameters, both 0.4.
    fn of(share: f64, count: u64) -> Quantile {
        let count = count as f64;
        let rank = count * share + (0.4 + share * (1.0 - 0.4 - 0.4));
        let place = rank.clamp(1.0, (count - 1.0).max(1.0)).floor();
        Quantile { place: place as u64 - 1, share: (rank - place).clamp(0.0, 1.0) }
    }

    fn between(&self, [below, above]: [f64; 2]) -> f64 {
        (1.0 - self.share) * below + self.share * above
    }
}

/// Returns points at equal distances (numpy's `linspace`).
fn spaced(first: f64, last: f64, points: usize) -> Vec<f64> {
    let step = (last - first) / (points as f64 - 1.0);
    let inner = (0..points - 1).map(|point| point as f64 * step + first);
    inner.chain([last]).collect()
}

/// Returns a number as text that PostgreSQL casts to the same number.
fn shown(number: f64) -> String {
    let text = format!("{number:?}");
    text.strip_suffix(".0").unwrap_or(&text).replace("inf", "Infinity")
}

#[cfg(test)]
mod tests {
    use super::{Quantile, shown, spaced};

    #[test]
    fn quantiles_and_points_are_those_of_scipy_and_numpy() {
        let numbers = [1.0, 2.0, 4.0, 8.0, 16.0];
        let quantile = |share: f64, count: u64| {
            let quantile = Quantile::of(share, count);
            let place = quantile.place as usize;
            quantile.between([numbers[place], numbers[(place + 1).min(count as usize - 1)]])
        };
        // scipy.stats.mstats.mquantiles([1, 2, 4, 8, 16], [0, 0.05, 0.5, 0.95, 1])
        let found = [0.0, 0.05, 0.5, 0.95, 1.0].map(|share| quantile(share, 5));
        let expected = [1.0, 1.0, 4.0, 16.0, 16.0];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        assert_eq!(quantile(0.95, 1), 1.0);
        // numpy.linspace(0.1, 0.7, 4)
        assert_eq!(spaced(0.1, 0.7, 4), [0.1, 0.3, 0.5, 0.7]);
    }

    #[test]
    fn numbers_are_shown_as_postgresql_reads_them() {
        let shown = [0.1, -5.0, 1e300, f64::NEG_INFINITY].map(shown);
        assert_eq!(shown, ["0.1", "-5", "1e300", "-Infinity"]);
    }
}
