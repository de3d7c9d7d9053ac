//! The metrics of a part, by what its model predicts.

mod classes;
mod ranking;
mod regression;

use super::rows::KnownRow;
use super::sums::Errors;
use super::task::Task;
use crate::error::Result;
use crate::predictor::source::{Prediction, Predictions};

/// Metrics by name; nothing where one is not defined.
pub type Results = Vec<(String, Option<f64>)>;

/// Metrics that grow with each row.
pub trait Metrics {
    fn add(&mut self, row: &KnownRow, prediction: Prediction<'_>) -> Result<()>;

    /// The same for rows that follow one another.
    fn add_all(&mut self, rows: &[KnownRow], predictions: Predictions<'_>) -> Result<()> {
        let mut both = rows.iter().zip(predictions.iter());
        both.try_for_each(|(row, prediction)| self.add(row, prediction))
    }

    fn results(&mut self) -> Result<Results>;
}

/// Metrics of no rows yet.
pub fn of(task: &Task, target: &str) -> Box<dyn Metrics> {
    match task {
        Task::Number => Box::new(Errors::default()),
        Task::Quantiles(levels) => Box::new(regression::Quantiles::at(levels)),
        Task::Binary { probability } => Box::new(classes::Binary::new(*probability)),
        Task::Classes { count, probabilities } => {
            Box::new(classes::Multiclass::new(*count, *probabilities))
        }
        Task::Ranking => Box::new(ranking::Ranking::of(target)),
    }
}

/// Bytes that the metrics of a part take.
pub fn bytes(task: &Task) -> usize {
    size_of::<Errors>() + task.classes() * size_of::<[f64; 3]>()
}

fn named(name: &str, value: f64) -> (String, Option<f64>) {
    (name.to_owned(), (!value.is_nan()).then_some(value))
}
