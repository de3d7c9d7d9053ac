//! Permutation importance: how much worse a metric is when a feature's values are shuffled among the rows, as
//! scikit-learn's `permutation_importance`.
//!
//! The source runs once, and its rows are kept. Each feature's values are in `work_mem` while they are shuffled.

use pg_interface::report::check_for_interrupts;
use row_source::random::{Random, shuffle};
use row_source::sorter::work_mem;
use row_source::spool::Spool;

use super::curve::{Areas, Curve};
use super::metrics::{self, Metrics, Results};
use super::predictions::{Predictions, SourcePredictor};
use super::rows::{self, BATCH_ROWS, KnownRow};
use super::target::Task;
use crate::error::{Error, Result};

pub(crate) struct Request<'a> {
    pub(crate) rows: rows::Request<'a>,
    /// A metric of `evaluate_model`, or `None` for its first one.
    pub(crate) metric: Option<&'a str>,
    pub(crate) repeats: usize,
    pub(crate) seed: u64,
}

/// The importance of a feature, `None` where the metric is not defined.
pub(crate) struct Importance {
    pub(crate) feature: String,
    pub(crate) mean: Option<f64>,
    /// The standard deviation of the repeats.
    pub(crate) deviation: Option<f64>,
}

/// Metrics that are higher for a better model.
const HIGHER_IS_BETTER: [&str; 8] =
    ["r2", "precision", "recall", "f1", "auc", "aucpr", "ndcg", "ndcg@10"];
/// Metrics of the rows in order.
const AREAS: [&str; 2] = ["auc", "aucpr"];

/// Computes the importance of each feature, the most important first.
pub(crate) fn importances(
    predictor: SourcePredictor,
    task: &Task,
    request: &Request<'_>,
) -> Result<Vec<Importance>> {
    let mut predictors = [predictor];
    let target = request.rows.target;
    let (kept, results) = read(&mut predictors, task, request)?;
    let (metric, base) = chosen(task, results, request.metric)?;
    let [mut predictor] = predictors;
    let is_loss = !HIGHER_IS_BETTER.contains(&metric.as_str());
    let increase = |(new, base): (f64, f64)| if is_loss { new - base } else { base - new };
    let mut importances = Vec::new();
    for (feature, name) in predictor.column_names().into_iter().enumerate() {
        let mut column = kept.column(&predictor, feature)?;
        let mut random = Random::of(request.seed, feature as u64);
        // A caller may ask for more repeats than there is memory, and cancel them.
        let mut worse = Vec::new();
        for _ in 0..request.repeats {
            shuffle(&mut column, &mut random, check_for_interrupts);
            let mut scoring = Scoring::of(task, target, AREAS.contains(&metric.as_str()));
            kept.score(&mut predictor, feature, &column, &mut scoring)?;
            worse.push(named(scoring.results()?, &metric).zip(base).map(increase));
        }
        importances.push(Importance::of(name, worse.into_iter().collect()));
    }
    let rank = |importance: &Importance| importance.mean.unwrap_or(f64::NEG_INFINITY);
    importances.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    Ok(importances)
}

impl Importance {
    fn of(feature: String, repeats: Option<Vec<f64>>) -> Importance {
        let Some(repeats) = repeats else {
            return Importance { feature, mean: None, deviation: None };
        };
        let mean_of = |sum: f64| sum / repeats.len() as f64;
        let mean = mean_of(repeats.iter().sum());
        let squares = repeats.iter().map(|repeat| (repeat - mean).powi(2)).sum();
        Importance { feature, mean: Some(mean), deviation: Some(f64::sqrt(mean_of(squares))) }
    }
}

/// Returns the metric's name and its value for the rows as they are.
fn chosen(task: &Task, results: Results, metric: Option<&str>) -> Result<(String, Option<f64>)> {
    let mut names: Vec<String> = results.iter().map(|(name, _)| name.clone()).collect();
    if matches!(task, Task::Binary { .. }) && metric.is_none_or(|metric| !AREAS.contains(&metric)) {
        names.extend(AREAS.map(str::to_owned));
    }
    let found = match metric {
        Some(metric) => results.into_iter().find(|(name, _)| name == metric),
        None => results.into_iter().next(),
    };
    found.ok_or_else(|| Error::UnknownMetric {
        metric: metric.unwrap_or_default().to_owned(),
        known: format!("The metrics of the model are {}.", names.join(", ")).into(),
    })
}

fn named(results: Results, metric: &str) -> Option<f64> {
    results.into_iter().find(|(name, _)| name == metric).and_then(|(_, value)| value)
}

/// The metrics of all rows.
struct Scoring {
    metrics: Box<dyn Metrics>,
    curve: Option<Curve>,
}

impl Scoring {
    fn of(task: &Task, target: &str, areas: bool) -> Scoring {
        Scoring { metrics: metrics::of(task, target), curve: areas.then(Curve::default) }
    }

    fn add(&mut self, rows: &[KnownRow], predictions: Predictions<'_>) -> Result<()> {
        self.metrics.add_all(rows, predictions)?;
        self.curve.as_mut().map_or(Ok(()), |curve| curve.add_all(rows, predictions))
    }

    fn results(mut self) -> Result<Results> {
        let areas = self.curve.map(|curve| curve.areas(1)).transpose()?;
        let areas = areas.into_iter().flatten().flat_map(Areas::named);
        Ok(self.metrics.results()?.into_iter().chain(areas).collect())
    }
}

/// The rows of a source, as the model reads them.
struct KeptRows {
    features: Spool<f32>,
    /// The bits of the target and the weight of a row, and its group.
    known: Spool<u64>,
    rows: usize,
}

/// The words of a row in [`KeptRows::known`].
const WORDS: usize = 3;

/// Reads the rows of the source, and evaluates them as they are.
fn read(
    predictors: &mut [SourcePredictor],
    task: &Task,
    request: &Request<'_>,
) -> Result<(KeptRows, Results)> {
    let memory = || work_mem() / 2;
    let mut kept =
        KeptRows { features: Spool::new(memory()), known: Spool::new(memory()), rows: 0 };
    let areas = matches!(task, Task::Binary { .. })
        && request.metric.is_some_and(|metric| AREAS.contains(&metric));
    let mut scoring = Scoring::of(task, request.rows.target, areas);
    rows::each(predictors, task, 0, &request.rows, &mut |rows, predictors| {
        let Some(predictor) = predictors.first() else { return Ok(()) };
        kept.features.push(predictor.features())?;
        let words = |row: &KnownRow| [row.target.to_bits(), row.weight.to_bits(), row.group];
        kept.known.push(&rows.iter().flat_map(words).collect::<Vec<u64>>())?;
        kept.rows += rows.len();
        scoring.add(rows, predictor.predictions())
    })?;
    Ok((kept, scoring.results()?))
}

/// The most cells of a feature in a row.
const CELLS: usize = 3;

impl KeptRows {
    /// Returns the cells of a feature in each row.
    fn column(&self, predictor: &SourcePredictor, feature: usize) -> Result<Vec<[f32; CELLS]>> {
        let room = work_mem() / size_of::<[f32; CELLS]>();
        if self.rows > room {
            return Err(Error::TooManyRows { rows: room });
        }
        let image = predictor.image();
        let (width, places) = (image.row_length(), image.cells_of(feature));
        let mut column = Vec::new();
        column.try_reserve_exact(self.rows).map_err(gbtrees::Error::from)?;
        let mut features = Vec::new();
        for (first, rows) in self.batches() {
            check_for_interrupts();
            self.features.read((first * width) as u64, rows * width, &mut features)?;
            column.extend(features.chunks_exact(width).map(|row| {
                let mut cells = [0.0; CELLS];
                for (cell, place) in cells.iter_mut().zip(places.clone()) {
                    *cell = row.get(place).copied().unwrap_or_default();
                }
                cells
            }));
        }
        Ok(column)
    }

    /// Evaluates the rows with these cells of a feature.
    fn score(
        &self,
        predictor: &mut SourcePredictor,
        feature: usize,
        column: &[[f32; CELLS]],
        scoring: &mut Scoring,
    ) -> Result<()> {
        let width = predictor.image().row_length();
        let places = predictor.image().cells_of(feature);
        let (mut features, mut words) = (Vec::new(), Vec::new());
        for (first, rows) in self.batches() {
            self.features.read((first * width) as u64, rows * width, &mut features)?;
            self.known.read((first * WORDS) as u64, rows * WORDS, &mut words)?;
            let cells = column.get(first..first + rows).unwrap_or_default();
            for (row, cells) in features.chunks_exact_mut(width).zip(cells) {
                for (place, cell) in places.clone().zip(cells) {
                    row.get_mut(place).into_iter().for_each(|own| *own = *cell);
                }
            }
            predictor.evaluate_rows(&features, rows)?;
            let known: Vec<KnownRow> = words.as_chunks::<WORDS>().0.iter().map(known).collect();
            scoring.add(&known, predictor.predictions())?;
        }
        Ok(())
    }

    /// Returns the first row of each batch, and the number of its rows.
    fn batches(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let all = self.rows;
        (0..all).step_by(BATCH_ROWS).map(move |first| (first, BATCH_ROWS.min(all - first)))
    }
}

fn known(&[target, weight, group]: &[u64; WORDS]) -> KnownRow {
    let (target, weight) = (f64::from_bits(target), f64::from_bits(weight));
    KnownRow { target, weight, slice: 0, group }
}
