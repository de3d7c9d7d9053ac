//! Compares two models on the same rows: the mean of each loss, and of its paired differences.
//!
//! Both models lose most on the same rows, so the 95 % interval is that of the paired differences, by the normal
//! distribution. With weights it is that of a weighted mean,
//! whose variance is the sum of w²(d - mean)² over (sum of w)², times n / (n - 1).

use super::predictions::Prediction;
use super::rows::KnownRow;
use super::sums;
use super::target::Task;

/// The 97.5 % quantile of the normal distribution.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// One row of the result.
pub(crate) struct Compared {
    pub(crate) metric: &'static str,
    pub(crate) baseline: Option<f64>,
    pub(crate) candidate: Option<f64>,
    pub(crate) difference: Difference,
    /// The numbers of rows with a lower loss of the candidate, and with a higher one.
    pub(crate) better: i64,
    pub(crate) worse: i64,
}

/// A mean difference and the bounds of its interval.
pub(crate) struct Difference {
    pub(crate) mean: Option<f64>,
    pub(crate) lower: Option<f64>,
    pub(crate) upper: Option<f64>,
}

impl Difference {
    /// Returns which model the interval favours by a loss, or `None` without an interval.
    pub(crate) fn verdict(&self) -> Option<&'static str> {
        let (lower, upper) = self.lower.zip(self.upper)?;
        Some(match (lower > 0.0, upper < 0.0) {
            (true, _) => "baseline is better",
            (_, true) => "candidate is better",
            _ => "no difference",
        })
    }
}

/// Returns `None` for a mean over no weight.
fn number(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

/// Returns `None` also for a difference of infinite losses.
fn finite(value: f64) -> Option<f64> {
    number(value).filter(|value| value.is_finite())
}

#[derive(Clone, Default)]
struct Sums {
    rows: f64,
    weight: f64,
    baseline: f64,
    candidate: f64,
    difference: f64,
    /// Sums of squared weights: alone, times the difference, times its square.
    squares: [f64; 3],
    better: i64,
    worse: i64,
}

impl Sums {
    fn add(&mut self, weight: f64, baseline: f64, candidate: f64) {
        let difference = candidate - baseline;
        self.rows += 1.0;
        self.weight += weight;
        self.baseline += weight * baseline;
        self.candidate += weight * candidate;
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

pub(crate) struct Comparison {
    task: Task,
    losses: Vec<Sums>,
    /// Sums of the share of rows with another class.
    changed: Sums,
}

impl Comparison {
    pub(crate) fn of(task: Task) -> Comparison {
        let losses = vec![Sums::default(); sums::names(&task).len()];
        Comparison { task, losses, changed: Sums::default() }
    }

    pub(crate) fn add(
        &mut self,
        row: &KnownRow,
        baseline: Prediction<'_>,
        candidate: Prediction<'_>,
    ) {
        let losses = sums::losses(&self.task, row.target, baseline);
        let others = sums::losses(&self.task, row.target, candidate);
        for ((sums, baseline), candidate) in self.losses.iter_mut().zip(losses).zip(others) {
            sums.add(row.weight, baseline, candidate);
        }
        if self.task.classes() > 0 {
            self.changed.add(
                row.weight,
                0.0,
                f64::from(u8::from(baseline.class != candidate.class)),
            );
        }
    }

    /// Returns a row for each loss, and for a classifier one of the share of rows whose class changed, with the
    /// numbers of rows as for the error.
    pub(crate) fn results(self) -> Vec<Compared> {
        let mut results: Vec<Compared> = sums::names(&self.task)
            .iter()
            .zip(&self.losses)
            .map(|(metric, sums)| Compared {
                metric,
                baseline: number(sums.baseline / sums.weight),
                candidate: number(sums.candidate / sums.weight),
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
                baseline: None,
                candidate: None,
                difference,
                better,
                worse,
            });
        }
        results
    }
}
