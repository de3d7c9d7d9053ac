//! The losses of a row's prediction, in f64, and the sums from which metrics are computed. The sums of two sets
//! of rows can be added.
//!
//! They are the states of aggregates, a `double precision[]`, which workers pass on without serialization;
//! `evaluate_model` uses the same. Losses and metrics are scikit-learn's
//! (sklearn/metrics/_regression.py and _classification.py): `mean_squared_error`, `root_mean_squared_error`,
//! `mean_absolute_error`, `mean_absolute_percentage_error`, `r2_score`, `log_loss`, `brier_score_loss` and
//! `accuracy_score`. A metric is None where it is not defined, which SQL shows as NULL: without rows, and
//! where all weights are 0.

use super::predictions::Prediction;
use super::target::Task;

/// The sums of one or two metrics that are means: the weight, and for each metric the weighted losses.
pub(crate) type Means = [f64; 3];

/// Adds a row with its losses.
#[inline]
pub(crate) fn add_losses(sums: &mut Means, losses: [f64; 2], row_weight: f64) {
    let [weight, first, second] = sums;
    *weight += row_weight;
    *first += row_weight * losses[0];
    *second += row_weight * losses[1];
}

/// Adds the sums of other rows.
pub(crate) fn combine_means(sums: &mut Means, others: &Means) {
    sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
}

/// Returns the mean of the first loss.
pub(crate) fn first_mean(sums: &Means) -> Option<f64> {
    let [weight, first, _] = *sums;
    defined(first / weight)
}

/// Returns the mean of the second loss.
pub(crate) fn second_mean(sums: &Means) -> Option<f64> {
    let [weight, _, second] = *sums;
    defined(second / weight)
}

/// The number of rows, the weight, the weighted sums of squared, absolute and relative errors, and the targets'
/// weighted mean and squared deviation from it.
pub(crate) type Errors = [f64; 7];

/// A metric of the errors' sums.
pub(crate) type Metric = fn(&Errors) -> Option<f64>;

/// Adds a row.
#[inline]
pub(crate) fn add_error(sums: &mut Errors, prediction: f64, target: f64, row_weight: f64) {
    let [rows, weight, squared, absolute, relative, mean, deviation] = sums;
    let error = target - prediction;
    *rows += 1.0;
    *weight += row_weight;
    *squared += row_weight * error * error;
    *absolute += row_weight * error.abs();
    *relative += row_weight * error.abs() / target.abs().max(f64::EPSILON);
    if row_weight > 0.0 {
        // Welford's update: the difference of two sums of squares would lose digits. The share of the first row
        // is exactly 1, so that the mean is its target.
        let from_mean = target - *mean;
        *mean += from_mean * (row_weight / *weight);
        *deviation += row_weight * from_mean * (target - *mean);
    }
}

/// Adds the sums of other rows (Chan, Golub and LeVeque's update of mean and deviation).
pub(crate) fn combine_errors(sums: &mut Errors, others: &Errors) {
    let [rows, weight, squared, absolute, relative, mean, deviation] = sums;
    let [
        more_rows,
        more_weight,
        more_squared,
        more_absolute,
        more_relative,
        other_mean,
        other_deviation,
    ] = *others;
    let together = *weight + more_weight;
    if together > 0.0 {
        let apart = other_mean - *mean;
        *deviation += other_deviation + apart * apart * (*weight * (more_weight / together));
        *mean += apart * (more_weight / together);
    }
    *rows += more_rows;
    *weight = together;
    *squared += more_squared;
    *absolute += more_absolute;
    *relative += more_relative;
}

pub(crate) fn mse(sums: &Errors) -> Option<f64> {
    let [_, weight, squared, ..] = *sums;
    defined(squared / weight)
}

pub(crate) fn rmse(sums: &Errors) -> Option<f64> {
    mse(sums).map(f64::sqrt)
}

pub(crate) fn mae(sums: &Errors) -> Option<f64> {
    let [_, weight, _, absolute, ..] = *sums;
    defined(absolute / weight)
}

pub(crate) fn mape(sums: &Errors) -> Option<f64> {
    let [_, weight, _, _, relative, ..] = *sums;
    defined(relative / weight)
}

/// Returns R², or `None` for fewer than two rows. It is scikit-learn's also for equal targets.
pub(crate) fn r2(sums: &Errors) -> Option<f64> {
    let [rows, weight, squared, _, _, _, deviation] = *sums;
    match (squared, deviation) {
        _ if rows < 2.0 || weight == 0.0 => None,
        (0.0, 0.0) => Some(1.0),
        (_, 0.0) => Some(0.0),
        (squared, deviation) => defined(1.0 - squared / deviation),
    }
}

fn defined(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

/// Clips a probability as `log_loss` does, away from 0 and 1.
#[inline]
fn clipped(probability: f64) -> f64 {
    probability.clamp(f64::EPSILON, 1.0 - f64::EPSILON)
}

/// Returns the probability of a row's class, of two classes, from that of the second; the target is 0 or 1.
#[inline]
pub(crate) fn binary_probability(target: f64, second: f64) -> f64 {
    clipped(if target == 1.0 { second } else { 1.0 - second })
}

/// Returns the `log_loss` of two classes; the target is 0 or 1.
#[inline]
pub(crate) fn binary_log(target: f64, second: f64) -> f64 {
    -binary_probability(target, second).ln()
}

/// Returns the `log_loss` of several classes; the target is the number of one.
#[inline]
pub(crate) fn class_log(target: f64, probabilities: &[f32]) -> f64 {
    -clipped(probabilities.get(target as usize).copied().map_or(0.0, f64::from)).ln()
}

/// Returns the `zero_one_loss`, 1 for a wrong class.
#[inline]
pub(crate) fn zero_one(target: f64, prediction: Prediction<'_>) -> f64 {
    f64::from(u8::from(target as u32 != prediction.class))
}

/// Returns the `mean_pinball_loss` of one row.
#[inline]
pub(crate) fn pinball(target: f64, prediction: f64, level: f64) -> f64 {
    let difference = target - prediction;
    (level * difference).max((level - 1.0) * difference)
}

/// Returns the losses of a row whose means are metrics, in the order of [`names`].
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

/// Returns the names of the metrics that are means of losses.
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

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn sums_of_two_sets_of_rows_add_up() {
        let rows = [(1.0, 2.0, 1.0), (5.0, 3.5, 0.0), (-2.0, 8.0, 2.5), (4.0, 4.5, 0.5)];
        let of = |rows: &[(f64, f64, f64)]| {
            let mut sums = Errors::default();
            rows.iter().for_each(|(p, t, weight)| add_error(&mut sums, *p, *t, *weight));
            sums
        };
        let all = of(&rows);
        for border in 0..=rows.len() {
            let (first, second) = rows.split_at(border);
            let mut sums = of(first);
            combine_errors(&mut sums, &of(second));
            for (sum, wanted) in sums.iter().zip(all) {
                assert!((sum - wanted).abs() < 1e-12, "{border}: {sums:?} {all:?}");
            }
        }
        assert_eq!(rmse(&Errors::default()), None);
    }
}
