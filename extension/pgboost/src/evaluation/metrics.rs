//! The metrics of a slice, by the model's task, as scikit-learn defines them.
//!
//! Numbers and quantiles: `mean_squared_error`, `root_mean_squared_error`, `mean_absolute_error`,
//! `mean_absolute_percentage_error`, `r2_score` and `mean_pinball_loss`. Classes: `log_loss`,
//! `zero_one_loss`, and
//! `precision_score`, `recall_score` and `f1_score`, of two classes for the second one, of more the mean over
//! the classes that a row has or was predicted, whatever its weight (`average="macro"`); a share of nothing
//! is 0.
//!
//! Rankings: the mean of `ndcg_score` over the groups, of all rows and of the best ten. The gain is the
//! target itself, and rows of the same score share their places (sklearn/metrics/_ranking.py,
//! `_tie_averaged_dcg`). XGBoost's own metric has exponential gains and takes such rows as they come. The
//! weight of a group is that of its first row. A group of one row is an error, as it is in scikit-learn: any
//! order of it is the best.

use pg_interface::report::check_for_interrupts;
use row_source::SourceError;
use row_source::sorter::{sort_many, work_mem};

use super::predictions::{Prediction, Predictions};
use super::rows::KnownRow;
use super::sums::{self, Errors, Metric, pinball};
use super::target::Task;
use crate::error::{Error, Result};

/// Metrics by name; `None` where not defined.
pub(crate) type Results = Vec<(String, Option<f64>)>;

/// Metrics that are computed row by row.
pub(crate) trait Metrics {
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()>;

    /// Adds consecutive rows.
    fn add_all(&mut self, rows: &[KnownRow], predictions: Predictions<'_>) -> Result<()> {
        let mut both = rows.iter().zip(predictions.iter());
        both.try_for_each(|(row, prediction)| self.add(row, prediction))
    }

    fn results(&mut self) -> Result<Results>;
}

/// Creates the metrics of no rows.
pub(crate) fn of(task: &Task, target: &str) -> Box<dyn Metrics> {
    match task {
        Task::Number => Box::new(Errors::default()),
        Task::Quantiles(levels) => Box::new(Quantiles::at(levels)),
        Task::Binary { probability } => Box::new(Binary::new(*probability)),
        Task::Classes { count, probabilities } => Box::new(Multiclass::new(*count, *probabilities)),
        Task::Ranking => Box::new(Ranking::of(target)),
    }
}

/// Returns the number of bytes of a slice's metrics.
pub(crate) fn bytes(task: &Task) -> usize {
    size_of::<Errors>() + task.classes() * size_of::<[f64; 3]>()
}

fn named(name: &str, value: f64) -> (String, Option<f64>) {
    (name.to_owned(), (!value.is_nan()).then_some(value))
}

/// Weights of the rows of a class: the actual ones, the predicted ones, and those that are both.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// A row has the class, or it was predicted.
    met: bool,
    actual: f64,
    predicted: f64,
    right: f64,
}

impl Counts {
    /// Returns precision, recall and their harmonic mean.
    fn scores(self) -> [f64; 3] {
        let share = |of: f64| if of > 0.0 { self.right / of } else { 0.0 };
        [share(self.predicted), share(self.actual), share((self.predicted + self.actual) / 2.0)]
    }
}

struct Classes {
    weight: f64,
    log: f64,
    wrong: f64,
    counts: Vec<Counts>,
}

impl Classes {
    fn new(count: usize) -> Classes {
        Classes { weight: 0.0, log: 0.0, wrong: 0.0, counts: vec![Counts::default(); count] }
    }

    #[inline]
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>, log: f64) {
        let KnownRow { target, weight, .. } = *row;
        let (actual, predicted) = (target as usize, prediction.class as usize);
        self.weight += weight;
        self.log += weight * log;
        if let Some(counts) = self.counts.get_mut(actual) {
            counts.met = true;
            counts.actual += weight;
            counts.right += if actual == predicted { weight } else { 0.0 };
        }
        if let Some(counts) = self.counts.get_mut(predicted) {
            counts.met = true;
            counts.predicted += weight;
        }
        self.wrong += if actual == predicted { 0.0 } else { weight };
    }
}

/// Returns the metrics by these names: the logarithmic loss if there is one, the error, and the other scores. All
/// are means over the weight, and not defined for a weight of 0.
fn results(names: [&str; 2], log: Option<f64>, error: f64, scores: [f64; 3]) -> Results {
    let [log_name, error_name] = names;
    let log = log.map(|log| named(log_name, log));
    let scores = ["precision", "recall", "f1"].into_iter().zip(scores);
    let scores =
        scores.map(|(name, score)| named(name, if error.is_nan() { error } else { score }));
    log.into_iter().chain([named(error_name, error)]).chain(scores).collect()
}

pub(crate) struct Binary {
    probability: bool,
    log: f64,
    /// Weights of rows by the actual and by the predicted class.
    cells: [[f64; 2]; 2],
    /// The product of probabilities whose logarithms are not added yet, and their number.
    product: f64,
    factors: u32,
}

/// The most probabilities, each at least 1e-16, whose product is above 0. A logarithm takes as long as the rest
/// of a row's work.
const MAX_FACTORS: u32 = 16;

impl Binary {
    pub(crate) fn new(probability: bool) -> Binary {
        Binary { probability, log: 0.0, cells: [[0.0; 2]; 2], product: 1.0, factors: 0 }
    }

    fn add_logarithm(&mut self) {
        self.log -= std::mem::replace(&mut self.product, 1.0).ln();
        self.factors = 0;
    }
}

impl Metrics for Binary {
    #[inline]
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()> {
        self.cells[usize::from(row.target == 1.0)][usize::from(prediction.class == 1)] +=
            row.weight;
        if !self.probability {
            return Ok(());
        }
        let right = sums::binary_probability(row.target, f64::from(prediction.value()));
        if row.weight == 1.0 {
            self.product *= right;
            self.factors += 1;
            if self.factors >= MAX_FACTORS {
                self.add_logarithm();
            }
        } else {
            self.log -= row.weight * right.ln();
        }
        Ok(())
    }

    fn results(&mut self) -> Result<Results> {
        self.add_logarithm();
        let [[first, wrong_second], [wrong_first, second]] = self.cells;
        let wrong = wrong_first + wrong_second;
        let weight = first + second + wrong;
        let counts = Counts {
            met: true,
            actual: second + wrong_first,
            predicted: second + wrong_second,
            right: second,
        };
        let log = self.probability.then(|| self.log / weight);
        Ok(results(["logloss", "error"], log, wrong / weight, counts.scores()))
    }
}

pub(crate) struct Multiclass {
    probabilities: bool,
    classes: Classes,
}

impl Multiclass {
    pub(crate) fn new(count: usize, probabilities: bool) -> Multiclass {
        Multiclass { probabilities, classes: Classes::new(count) }
    }
}

impl Metrics for Multiclass {
    #[inline]
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()> {
        let log =
            if self.probabilities { sums::class_log(row.target, prediction.values) } else { 0.0 };
        self.classes.add(row, prediction, log);
        Ok(())
    }

    fn results(&mut self) -> Result<Results> {
        let met = self.classes.counts.iter().filter(|class| class.met);
        let scores: Vec<[f64; 3]> = met.map(|class| class.scores()).collect();
        let mean = |which: fn(&[f64; 3]) -> f64| {
            scores.iter().map(which).sum::<f64>() / scores.len() as f64
        };
        let means = [mean(|[x, _, _]| *x), mean(|[_, x, _]| *x), mean(|[_, _, x]| *x)];
        let Classes { weight, log, wrong, .. } = self.classes;
        let log = self.probabilities.then(|| log / weight);
        Ok(results(["mlogloss", "merror"], log, wrong / weight, means))
    }
}

/// The number of best rows that count, and the metric's name.
const CUTS: [(usize, &str); 2] = [(usize::MAX, "ndcg"), (10, "ndcg@10")];

pub(crate) struct Ranking {
    target: String,
    /// Scores and targets of the current group.
    group: Vec<(f32, f64)>,
    group_number: u64,
    group_weight: f64,
    weight: f64,
    sums: [f64; CUTS.len()],
}

impl Ranking {
    /// Creates the metrics; `target` is the column of the relevance.
    pub(crate) fn of(target: &str) -> Ranking {
        let target = target.to_owned();
        Ranking {
            target,
            group: Vec::new(),
            group_number: 0,
            group_weight: 0.0,
            weight: 0.0,
            sums: [0.0; CUTS.len()],
        }
    }

    fn end_group(&mut self) -> Result<()> {
        match self.group.len() {
            0 => return Ok(()),
            1 => return Err(Error::GroupOfOneRow { number: self.group_number }),
            _ => {}
        }
        self.weight += self.group_weight;
        sort_many(&mut self.group, |a, b| b.1.total_cmp(&a.1));
        let best = CUTS.map(|(cut, _)| gain(&self.group, cut, |_, _| false));
        sort_many(&mut self.group, |a, b| b.0.total_cmp(&a.0));
        let found = CUTS.map(|(cut, _)| gain(&self.group, cut, |a, b| a == b));
        for ((sum, found), best) in self.sums.iter_mut().zip(found).zip(best) {
            *sum += self.group_weight * if best > 0.0 { found / best } else { 0.0 };
        }
        self.group.clear();
        Ok(())
    }
}

/// Places between two checks for interrupts.
const PLACES_PER_CHECK: usize = 1 << 16;

/// Returns the discounted gain of rows in this order; tied rows share their places.
fn gain(rows: &[(f32, f64)], cut: usize, tied: impl Fn(f32, f32) -> bool) -> f64 {
    let mut place = 0;
    let blocks = rows.chunk_by(|a, b| tied(a.0, b.0));
    blocks
        .map(|block| {
            let places = place..place + block.len();
            place = places.end;
            let discounts: f64 = places
                .take_while(|place| *place < cut)
                .map(|place| {
                    if place.is_multiple_of(PLACES_PER_CHECK) {
                        check_for_interrupts();
                    }
                    1.0 / (place as f64 + 2.0).log2()
                })
                .sum();
            let mean = block.iter().map(|row| row.1).sum::<f64>() / block.len() as f64;
            discounts * mean
        })
        .sum()
}

impl Metrics for Ranking {
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()> {
        if row.target < 0.0 {
            let (column, what) = (self.target.clone(), "is negative, so it cannot be a relevance");
            return Err(SourceError::ValueRefused { column, what }.into());
        }
        if row.group != self.group_number {
            self.end_group()?;
            self.group_number = row.group;
            self.group_weight = row.weight;
        }
        if size_of_val(self.group.as_slice()) > work_mem() {
            return Err(Error::GroupTooLarge { rows: self.group.len() });
        }
        self.group.push((prediction.value(), row.target));
        Ok(())
    }

    fn results(&mut self) -> Result<Results> {
        self.end_group()?;
        let means = CUTS.iter().zip(self.sums);
        Ok(means.map(|((_, name), sum)| named(name, sum / self.weight)).collect())
    }
}

impl Metrics for Errors {
    #[inline]
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()> {
        sums::add_error(self, f64::from(prediction.value()), row.target, row.weight);
        Ok(())
    }

    fn results(&mut self) -> Result<Results> {
        let metrics: [(&str, Metric); 5] = [
            ("rmse", sums::rmse),
            ("mse", sums::mse),
            ("mae", sums::mae),
            ("mape", sums::mape),
            ("r2", sums::r2),
        ];
        Ok(metrics.iter().map(|(name, metric)| ((*name).to_owned(), metric(self))).collect())
    }
}

/// The pinball loss at each level.
pub(crate) struct Quantiles {
    levels: Vec<f64>,
    sums: Vec<f64>,
    weight: f64,
}

impl Quantiles {
    pub(crate) fn at(levels: &[f64]) -> Quantiles {
        Quantiles { levels: levels.to_vec(), sums: vec![0.0; levels.len()], weight: 0.0 }
    }
}

impl Metrics for Quantiles {
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()> {
        self.weight += row.weight;
        for ((sum, level), value) in self.sums.iter_mut().zip(&self.levels).zip(prediction.values) {
            *sum += row.weight * pinball(row.target, f64::from(*value), *level);
        }
        Ok(())
    }

    fn results(&mut self) -> Result<Results> {
        let sum: f64 = self.sums.iter().sum();
        let mean = sum / self.weight / self.levels.len() as f64;
        let each = self.levels.iter().zip(&self.sums);
        let each = each.map(|(level, sum)| named(&format!("quantile@{level}"), sum / self.weight));
        Ok(std::iter::once(named("quantile", mean)).chain(each).collect())
    }
}
