//! Partial dependence: the mean of the predictions for a source's rows, with one or two features set to each value
//! of a grid, as scikit-learn's `partial_dependence` with `method="brute"`.
//!
//! The source runs once. Its rows are kept, and each batch of them is predicted for every point of the grid.

use pg_interface::report::check_for_interrupts;
use row_source::sorter::work_mem;
use row_source::spool::{self, Spool};
use row_source::{PlacedColumn, Row, Source, SourceError, names, width};

use super::grid::{FeatureValues, GridShape, GridValue};
use super::predictions::SourcePredictor;
use super::rows::{BATCH_ROWS, checked_weight, weight};
use crate::error::{Error, Result};

pub(crate) struct Request<'a> {
    pub(crate) source: &'a str,
    /// The names of one or two features.
    pub(crate) features: &'a [&'a str],
    pub(crate) weight: Option<&'a str>,
    pub(crate) shape: GridShape,
}

/// The mean of an output at a point of the grid.
pub(crate) struct Average {
    pub(crate) output: usize,
    /// The value of each feature as text, `None` if it is missing.
    pub(crate) values: Vec<Option<String>>,
    /// `None` if all weights are 0.
    pub(crate) average: Option<f64>,
}

/// Estimated bytes of a value of the grid.
const VALUE_BYTES: usize = 128;

/// Sums between two checks for interrupts.
const SUMS_PER_CHECK: usize = 1 << 20;

/// Computes the averages, by output, and by the values of the features, the first of which changes last.
pub(crate) fn averages(
    mut predictor: SourcePredictor,
    request: &Request<'_>,
) -> Result<impl Iterator<Item = Average> + use<>> {
    let room = work_mem().min(spool::MAX_BYTES);
    if request.shape.points > room / VALUE_BYTES {
        return Err(Error::GridTooLarge { points: request.shape.points });
    }
    let features = places(&predictor, request.features)?;
    let (kept, values) = read(&mut predictor, request, &features)?;
    let image = predictor.image();
    let grids = values.into_iter().map(|values| values.grid(image, request.shape));
    let points = Points { grids: grids.collect::<Result<_>>()? };
    let outputs = image.num_values().max(1);
    let count = points.len();
    if count.saturating_mul(outputs) > room / size_of::<f64>() {
        return Err(Error::GridTooLarge { points: count });
    }
    let sums = kept.sums(&mut predictor, &features, &points)?;
    let average = move |(output, point): (usize, usize)| {
        let sum = sums.get(point * outputs + output).copied().unwrap_or(f64::NAN);
        Average {
            output,
            values: points.values(point).map(|value| value.text.clone()).collect(),
            average: Some(sum / kept.weight).filter(|average| !average.is_nan()),
        }
    };
    let of_output = move |output| (0..count).map(move |point| (output, point));
    Ok((0..outputs).flat_map(of_output).map(average))
}

/// Finds the features of these names.
fn places(predictor: &SourcePredictor, features: &[&str]) -> Result<Vec<usize>> {
    let names = predictor.column_names();
    let place = |feature: &&str| {
        let place = names.iter().position(|name| name == feature);
        place.ok_or_else(|| Error::NotAFeature {
            model: predictor.model().to_owned(),
            feature: (*feature).to_owned(),
            nearest: names::nearest(feature, names.iter().map(String::as_str)).map(str::to_owned),
        })
    };
    let places: Vec<usize> = features.iter().map(place).collect::<Result<_>>()?;
    match *places {
        [first, second] if first == second => Err(Error::SameFeature),
        _ => Ok(places),
    }
}

/// The combinations of the features' values.
struct Points {
    grids: Vec<Vec<GridValue>>,
}

impl Points {
    fn len(&self) -> usize {
        self.grids.iter().fold(1, |all, grid| all.saturating_mul(grid.len()))
    }

    /// Returns the value of each feature at a point; the last feature's changes first.
    fn values(&self, point: usize) -> impl Iterator<Item = &GridValue> {
        let mut below = self.len();
        self.grids.iter().filter_map(move |grid| {
            below /= grid.len().max(1);
            grid.get(point / below.max(1) % grid.len().max(1))
        })
    }
}

/// The rows of a source, as the model reads them.
struct KeptRows {
    features: Spool<f32>,
    /// The bits of the weights, if there are any.
    weights: Option<Spool<u64>>,
    rows: usize,
    /// The sum of the weights.
    weight: f64,
}

/// Reads the rows of the source, and collects the values of features.
fn read(
    predictor: &mut SourcePredictor,
    request: &Request<'_>,
    features: &[usize],
) -> Result<(KeptRows, Vec<FeatureValues>)> {
    let names = predictor.column_names();
    let columns = names.iter().map(String::as_str).collect();
    let others: Vec<&str> = request.weight.into_iter().collect();
    let (query, placed) =
        Source::of(request.source)?.select(&[columns], &others, None, "source")?;
    let (own, rest) = placed.split_at(names.len().min(placed.len()));
    predictor.bind(own)?;
    let weight = rest.first().map(checked_weight).transpose()?;
    let of_feature = |feature: &usize| {
        own.get(*feature).map(|column| FeatureValues::of(predictor.image(), *feature, column))
    };
    let kept = KeptRows {
        features: Spool::new(work_mem()),
        weights: weight.map(|_| Spool::new(work_mem())),
        rows: 0,
        weight: 0.0,
    };
    let values = features.iter().filter_map(of_feature).collect();
    let mut reader = DependenceReader { predictor, values, weight, kept };
    row_source::run_first(&query, "source", width(&placed), |row| reader.take(row))?;
    let DependenceReader { values, kept, .. } = reader;
    if kept.rows == 0 {
        return Err(SourceError::NoRows { argument: "source", skipped: 0 }.into());
    }
    Ok((kept, values))
}

struct DependenceReader<'a> {
    predictor: &'a mut SourcePredictor,
    values: Vec<FeatureValues>,
    weight: Option<&'a PlacedColumn>,
    kept: KeptRows,
}

impl DependenceReader<'_> {
    fn take(&mut self, row: Row<'_>) -> Result<()> {
        let DependenceReader { predictor, values, kept, .. } = self;
        let weight = self.weight.map_or(Ok(1.0), |column| weight(column, row))?;
        predictor.clear();
        predictor.read(row)?;
        let (image, features) = (predictor.image(), predictor.features());
        values.iter_mut().try_for_each(|values| values.add(image, row, features))?;
        kept.features.push(features)?;
        if let Some(weights) = &mut kept.weights {
            weights.push(&[weight.to_bits()])?;
        }
        kept.weight += weight;
        kept.rows += 1;
        if kept.rows.is_multiple_of(BATCH_ROWS) {
            check_for_interrupts();
        }
        Ok(())
    }
}

impl KeptRows {
    /// Returns the weighted sum of each output at each point.
    fn sums(
        &self,
        predictor: &mut SourcePredictor,
        features: &[usize],
        points: &Points,
    ) -> Result<Vec<f64>> {
        let (width, outputs) = (predictor.image().row_length(), predictor.image().num_values());
        let mut sums = Vec::new();
        let length = points.len() * outputs.max(1);
        sums.try_reserve_exact(length).map_err(gbtrees::Error::from)?;
        while sums.len() < length {
            // The operating system also takes some tenths of a second to give a gigabyte.
            check_for_interrupts();
            sums.resize(length.min(sums.len() + SUMS_PER_CHECK), 0.0);
        }
        let (mut cells, mut weights) = (Vec::new(), Vec::new());
        for first in (0..self.rows).step_by(BATCH_ROWS) {
            let rows = BATCH_ROWS.min(self.rows - first);
            self.features.read((first * width) as u64, rows * width, &mut cells)?;
            if let Some(kept) = &self.weights {
                kept.read(first as u64, rows, &mut weights)?;
            }
            for (point, sums) in sums.chunks_mut(outputs.max(1)).enumerate() {
                for (feature, value) in features.iter().zip(points.values(point)) {
                    set(predictor, *feature, value, &mut cells);
                }
                predictor.evaluate_rows(&cells, rows)?;
                for (row, prediction) in predictor.predictions().iter().enumerate() {
                    let weight = weights.get(row).map_or(1.0, |bits| f64::from_bits(*bits));
                    for (sum, value) in sums.iter_mut().zip(prediction.values) {
                        *sum += weight * f64::from(*value);
                    }
                }
            }
        }
        Ok(sums)
    }
}

/// Sets a feature of all rows to a value.
fn set(predictor: &SourcePredictor, feature: usize, value: &GridValue, rows: &mut [f32]) {
    let image = predictor.image();
    for row in rows.chunks_exact_mut(image.row_length()) {
        for (place, cell) in image.cells_of(feature).zip(&value.cells) {
            row.get_mut(place).into_iter().for_each(|own| *own = *cell);
        }
    }
}
