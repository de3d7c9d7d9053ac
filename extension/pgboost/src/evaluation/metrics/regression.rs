//! Metrics of numbers, from their sums, and of quantiles: scikit-learn's `mean_pinball_loss`.

use super::{Metrics, Results, named};
use crate::error::Result;
use crate::evaluation::loss::pinball;
use crate::evaluation::rows::KnownRow;
use crate::evaluation::sums::{self, Errors, Metric};
use crate::predictor::source::Prediction;

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
pub struct Quantiles {
    levels: Vec<f64>,
    sums: Vec<f64>,
    weight: f64,
}

impl Quantiles {
    pub fn at(levels: &[f64]) -> Quantiles {
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
