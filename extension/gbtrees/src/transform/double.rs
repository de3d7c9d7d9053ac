//! Transforms in f64, as LightGBM and CatBoost compute them.
//!
//! Exponentials are the C library's, which is what `f64::exp` calls. LightGBM's are `ConvertOutput` of
//! src/objective/, and `Common::Softmax` and `Common::Sign` of include/LightGBM/utils/common.h.

use crate::ensemble::Transform;
use crate::transform::single::first_largest;

/// Turns the margins of a row into its values: see [`crate::transform::single::apply`].
pub(crate) fn apply(transform: Transform, slope: f64, margins: &mut [f64]) -> usize {
    match transform {
        Transform::Identity => {}
        Transform::Logistic => each(margins, |margin| logistic(slope, margin)),
        Transform::Softmax => softmax(margins),
        Transform::Isolation => each(margins, |margin| slope - 2f64.powf(-margin)),
        Transform::LogisticMirrored | Transform::SoftmaxSingle => {
            in_single(transform, slope, margins);
        }
        Transform::ArgMax => return arg_max(margins),
        Transform::MeanLogistic => return mean_logistic(slope, margins),
        Transform::Exponential => each(margins, f64::exp),
        Transform::SignedSquare => each(margins, signed_square),
        Transform::LogOnePlusExp => each(margins, |margin| margin.exp().ln_1p()),
        Transform::MeanVariance => {
            each(margins.get_mut(1..).unwrap_or_default(), |margin| (2.0 * margin).exp());
        }
        // Of XGBoost, which computes in f32 alone.
        Transform::Hinge | Transform::Ascending | Transform::Expectile => {}
    }
    margins.len()
}

fn each(margins: &mut [f64], value: impl Fn(f64) -> f64) {
    margins.iter_mut().for_each(|margin| *margin = value(*margin));
}

/// ONNX Runtime rounds margins of f64 to f32 before it transforms them.
fn in_single(transform: Transform, slope: f64, margins: &mut [f64]) {
    let mut singles: Vec<f32> = margins.iter().map(|margin| *margin as f32).collect();
    crate::transform::single::apply(transform, slope as f32, &mut singles);
    margins.iter_mut().zip(singles).for_each(|(margin, single)| *margin = f64::from(single));
}

fn softmax(margins: &mut [f64]) {
    let largest = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for margin in margins.iter_mut() {
        *margin = (*margin - largest).exp();
        sum += *margin;
    }
    each(margins, |exponential| exponential / sum);
}

fn signed_square(margin: f64) -> f64 {
    let sign = f64::from(i8::from(margin > 0.0) - i8::from(margin < 0.0));
    sign * margin * margin
}

/// Added in the order of the margins, then divided, as scikit-learn averages probabilities.
fn mean_logistic(slope: f64, margins: &mut [f64]) -> usize {
    let count = margins.len();
    let sum: f64 = margins.iter().map(|margin| logistic(slope, *margin)).sum();
    margins.first_mut().map_or(0, |first| {
        *first = sum / count as f64;
        1
    })
}

fn logistic(slope: f64, margin: f64) -> f64 {
    1.0 / (1.0 + (-margin * slope).exp())
}

fn arg_max(margins: &mut [f64]) -> usize {
    let class = first_largest(margins);
    match (margins.first_mut(), class) {
        (Some(first), Some(class)) => {
            *first = f64::from(class);
            1
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_have_these_values() {
        let e = std::f64::consts::E;
        let cases: [(Transform, &[f64], &[f64]); 12] = [
            (Transform::Logistic, &[0.0, 1000.0, -1000.0], &[0.5, 1.0, 0.0]),
            (Transform::Softmax, &[1000.0, 1000.0], &[0.5, 0.5]),
            (Transform::Exponential, &[0.0, 1.0], &[1.0, e]),
            (Transform::SignedSquare, &[-3.0, 0.0, 0.5], &[-9.0, 0.0, 0.25]),
            (Transform::LogOnePlusExp, &[0.0, 1e3], &[2f64.ln(), f64::INFINITY]),
            (Transform::MeanVariance, &[7.0, 0.5], &[7.0, e]),
            (Transform::ArgMax, &[1.0, 3.0, 3.0], &[1.0]),
            (Transform::ArgMax, &[], &[]),
            (Transform::MeanLogistic, &[1000.0, 0.0, -1000.0, 1000.0], &[0.625]),
            (Transform::MeanLogistic, &[], &[]),
            (Transform::Isolation, &[0.0, 1.0, 2.0], &[0.0, 0.5, 0.75]),
            (Transform::Identity, &[-0.0, 1e-300], &[-0.0, 1e-300]),
        ];
        for (transform, margins, expected) in cases {
            let mut values = margins.to_vec();
            let count = apply(transform, 1.0, &mut values);
            assert_eq!(values[..count], *expected, "{transform:?}");
        }
        let mut sloped = [3.0];
        apply(Transform::Logistic, 0.5, &mut sloped);
        assert_eq!(sloped, [1.0 / (1.0 + (-1.5f64).exp())]);
    }
}
