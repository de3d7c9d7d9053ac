//! Metrics of numbers and of quantiles: scikit-learn's `mean_squared_error`, `root_mean_squared_error`,
//! `mean_absolute_error`, `mean_absolute_percentage_error`, `r2_score` and `mean_pinball_loss`.

use super::{Metrics, Results, named};
use crate::error::Result;
use crate::evaluation::loss::pinball;
use crate::evaluation::predictions::Prediction;
use crate::evaluation::rows::KnownRow;

/// Sums of weighted errors, and the targets' weighted mean and squared deviation from it.
#[derive(Default)]
pub(crate) struct Regression {
    rows: u64,
    weight: f64,
    squared: f64,
    absolute: f64,
    relative: f64,
    mean: f64,
    deviation: f64,
}

impl Metrics for Regression {
    #[inline]
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()> {
        let KnownRow { target, weight, .. } = *row;
        let error = target - f64::from(prediction.value());
        self.rows += 1;
        self.weight += weight;
        self.squared += weight * error * error;
        self.absolute += weight * error.abs();
        self.relative += weight * error.abs() / target.abs().max(f64::EPSILON);
        if weight > 0.0 {
            // Welford's update: sums of squares would lose what is left after their difference.
            let from_mean = target - self.mean;
            self.mean += from_mean * weight / self.weight;
            self.deviation += weight * from_mean * (target - self.mean);
        }
        Ok(())
    }

    fn results(&mut self) -> Result<Results> {
        let mse = self.squared / self.weight;
        let r2 = match (self.squared, self.deviation) {
            _ if self.rows < 2 || self.weight == 0.0 => f64::NAN,
            // As scikit-learn has it where all targets are the same.
            (0.0, 0.0) => 1.0,
            (_, 0.0) => 0.0,
            (squared, deviation) => 1.0 - squared / deviation,
        };
        Ok(vec![
            named("rmse", mse.sqrt()),
            named("mse", mse),
            named("mae", self.absolute / self.weight),
            named("mape", self.relative / self.weight),
            named("r2", r2),
        ])
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
