//! Two models on the same rows: the mean of each loss, and of its difference row by row.
//!
//! A difference of means says little alone: both models lose most on the same rows. The interval is that of
//! the paired differences, of 95 %, by the normal distribution; for weights it is that of a weighted mean,
//! whose variance is the sum of w²(d - mean)² over (sum of w)², times n / (n - 1).

use super::loss;
use super::rows::KnownRow;
use super::task::Task;
use crate::predictor::source::Prediction;

/// Half of 95 % of the normal distribution lies within so many standard deviations of its mean.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// One row of the result.
pub struct Compared {
    pub metric: &'static str,
    pub a: Option<f64>,
    pub b: Option<f64>,
    pub difference: Difference,
    /// Rows on which b loses less than a, and more.
    pub better: i64,
    pub worse: i64,
}

/// A mean difference and the ends of its interval.
pub struct Difference {
    pub mean: Option<f64>,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
}

/// Nothing for a mean of no weight.
fn number(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

/// Nothing for a difference of infinite losses either.
fn finite(value: f64) -> Option<f64> {
    number(value).filter(|value| value.is_finite())
}

#[derive(Clone, Default)]
struct Sums {
    rows: f64,
    weight: f64,
    a: f64,
    b: f64,
    difference: f64,
    /// Of squared weights: alone, times the difference, times its square.
    squares: [f64; 3],
    better: i64,
    worse: i64,
}

impl Sums {
    fn add(&mut self, weight: f64, a: f64, b: f64) {
        let difference = b - a;
        self.rows += 1.0;
        self.weight += weight;
        self.a += weight * a;
        self.b += weight * b;
        self.difference += weight * difference;
        let square = weight * weight;
        let [alone, once, twice] = &mut self.squares;
        *alone += square;
        *once += square * difference;
        *twice += square * difference * difference;
        self.better += i64::from(difference < 0.0);
        self.worse += i64::from(difference > 0.0);
    }

    fn difference(&self) -> Difference {
        let mean = self.difference / self.weight;
        let [alone, once, twice] = self.squares;
        let spread = (twice - 2.0 * mean * once + mean * mean * alone).max(0.0);
        let variance = spread / (self.weight * self.weight) * self.rows / (self.rows - 1.0);
        let half = QUANTILE * variance.sqrt();
        Difference { mean: finite(mean), lower: finite(mean - half), upper: finite(mean + half) }
    }
}

pub struct Comparison {
    task: Task,
    losses: Vec<Sums>,
    /// Of the classes: whether they differ.
    changed: Sums,
}

impl Comparison {
    pub fn of(task: Task) -> Comparison {
        let losses = vec![Sums::default(); loss::names(&task).len()];
        Comparison { task, losses, changed: Sums::default() }
    }

    pub fn add(&mut self, row: &KnownRow, a: Prediction<'_>, b: Prediction<'_>) {
        let losses = loss::losses(&self.task, row.target, a);
        let others = loss::losses(&self.task, row.target, b);
        for ((sums, a), b) in self.losses.iter_mut().zip(losses).zip(others) {
            sums.add(row.weight, a, b);
        }
        if self.task.classes() > 0 {
            self.changed.add(row.weight, 0.0, f64::from(u8::from(a.class != b.class)));
        }
    }

    /// A row for each loss, and for a classifier one of the share of rows whose class changed: to the right
    /// one and from it are as for the error.
    pub fn results(self) -> Vec<Compared> {
        let mut results: Vec<Compared> = loss::names(&self.task)
            .iter()
            .zip(&self.losses)
            .map(|(metric, sums)| Compared {
                metric,
                a: number(sums.a / sums.weight),
                b: number(sums.b / sums.weight),
                difference: sums.difference(),
                better: sums.better,
                worse: sums.worse,
            })
            .collect();
        if self.task.classes() > 0 {
            let (better, worse) =
                results.last().map_or((0, 0), |error| (error.better, error.worse));
            let difference = self.changed.difference();
            results.push(Compared {
                metric: "changed",
                a: None,
                b: None,
                difference,
                better,
                worse,
            });
        }
        results
    }
}
