//! What a prediction of a row loses, in f64, as scikit-learn computes it (sklearn/metrics/_regression.py
//! and _classification.py).

use super::predictions::Prediction;
use super::task::Task;

/// A probability, which `log_loss` keeps from 0 and 1.
#[inline]
fn clipped(probability: f64) -> f64 {
    probability.clamp(f64::EPSILON, 1.0 - f64::EPSILON)
}

/// The probability of the class that a row has, of two, by that of the second; the target is 0 or 1.
#[inline]
pub(crate) fn binary_probability(target: f64, second: f64) -> f64 {
    clipped(if target == 1.0 { second } else { 1.0 - second })
}

/// `log_loss` of two classes; the target is 0 or 1.
#[inline]
pub(crate) fn binary_log(target: f64, second: f64) -> f64 {
    -binary_probability(target, second).ln()
}

/// `log_loss` of several classes; the target is the place of one.
#[inline]
pub(crate) fn class_log(target: f64, probabilities: &[f32]) -> f64 {
    -clipped(probabilities.get(target as usize).copied().map_or(0.0, f64::from)).ln()
}

/// 1 where the class is another one (`zero_one_loss`).
#[inline]
pub(crate) fn zero_one(target: f64, prediction: Prediction<'_>) -> f64 {
    f64::from(u8::from(target as u32 != prediction.class))
}

/// `mean_pinball_loss` of one row.
#[inline]
pub(crate) fn pinball(target: f64, prediction: f64, level: f64) -> f64 {
    let difference = target - prediction;
    (level * difference).max((level - 1.0) * difference)
}

/// The losses of a row whose means are metrics, as many as [`names`] has, in their order.
pub(crate) fn losses(task: &Task, target: f64, prediction: Prediction<'_>) -> [f64; 2] {
    let difference = target - f64::from(prediction.value());
    match task {
        Task::Number => [difference * difference, difference.abs()],
        Task::Quantiles(levels) => {
            let pairs = levels.iter().zip(prediction.values);
            let sum: f64 = pairs.map(|(level, x)| pinball(target, f64::from(*x), *level)).sum();
            [sum / levels.len() as f64, 0.0]
        }
        Task::Binary { probability: true } => {
            [binary_log(target, f64::from(prediction.value())), zero_one(target, prediction)]
        }
        Task::Classes { probabilities: true, .. } => {
            [class_log(target, prediction.values), zero_one(target, prediction)]
        }
        Task::Binary { .. } | Task::Classes { .. } => [zero_one(target, prediction), 0.0],
        Task::Ranking => [0.0; 2],
    }
}

/// The metrics that are means of losses.
pub(crate) fn names(task: &Task) -> &'static [&'static str] {
    match task {
        Task::Number => &["mse", "mae"],
        Task::Quantiles(_) => &["quantile"],
        Task::Binary { probability: true } => &["logloss", "error"],
        Task::Classes { probabilities: true, .. } => &["mlogloss", "merror"],
        Task::Binary { .. } => &["error"],
        Task::Classes { .. } => &["merror"],
        Task::Ranking => &[],
    }
}
