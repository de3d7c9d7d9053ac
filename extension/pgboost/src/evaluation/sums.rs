//! The sums that metrics are computed of: they grow row by row, and those of two sets of rows add up.
//!
//! The sums of an aggregate are its state, a `double precision[]`, so workers pass them on without
//! serialization; `evaluate_model` adds to the same. Metrics are scikit-learn's `mean_squared_error`,
//! `root_mean_squared_error`, `mean_absolute_error`, `mean_absolute_percentage_error`, `r2_score`,
//! `log_loss`, `brier_score_loss` and `accuracy_score`. A metric is None where it is not defined, which SQL
//! shows as NULL: without rows, and where all weights are 0.

/// Weighted sums of a metric that is a mean, or of two: the weight, and for each metric weight times loss.
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

/// The mean of the first loss.
pub(crate) fn first_mean(sums: &Means) -> Option<f64> {
    let [weight, first, _] = *sums;
    defined(first / weight)
}

/// The mean of the second loss.
pub(crate) fn second_mean(sums: &Means) -> Option<f64> {
    let [weight, _, second] = *sums;
    defined(second / weight)
}

/// Rows, weight, weighted sums of squared, absolute and relative errors, and the targets' weighted mean and
/// their squared deviation from it.
pub(crate) type Errors = [f64; 7];

/// A metric of these sums.
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
        // Welford's update: sums of squares would lose what is left after their difference.
        let from_mean = target - *mean;
        *mean += from_mean * row_weight / *weight;
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

/// Not defined for fewer than two rows; as scikit-learn has it where all targets are the same.
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
