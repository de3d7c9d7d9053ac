//! Transforms of a row's margins into the values of the library's predict: in f32 as in XGBoost, in f64
//! as in LightGBM and CatBoost.

/// Returns the index of the first largest margin (`FindMaxIndex` in XGBoost's src/common/math.h;
/// numpy's `argmax`).
pub(crate) fn first_largest<M: Copy + PartialOrd>(margins: &[M]) -> Option<u32> {
    let mut largest = (0, *margins.first()?);
    for (index, margin) in (0..).zip(margins) {
        if *margin > largest.1 {
            largest = (index, *margin);
        }
    }
    Some(largest.0)
}

pub(crate) mod single {
    //! Transforms in f32, as in XGBoost.
    //!
    //! Operations follow XGBoost's order, with the C library's exponential, which `f32::exp` calls, so
    //! values differ from XGBoost's only as C libraries do. Quantiles ascend since 3.4 (`PredTransform`
    //! in src/objective/quantile_obj.cu).

    use crate::ensemble::Transform;
    use crate::transform::first_largest;

    /// XGBoost's `kRtEps` (include/xgboost/base.h), the minimum distance of expectiles.
    const EXPECTILE_GAP: f32 = 1e-6;

    /// Transforms a row's margins in place; returns the number of values, 1 if
    /// [`Transform::gives_one_value`], otherwise the number of margins. `slope` is
    /// [`crate::ensemble::Objective::slope`].
    pub(crate) fn apply(transform: Transform, slope: f32, margins: &mut [f32]) -> usize {
        match transform {
            Transform::Identity => {}
            Transform::Logistic => each(margins, |margin| logistic(margin * slope)),
            Transform::Softmax => softmax(margins),
            Transform::ArgMax => return arg_max(margins),
            Transform::Exponential => each(margins, f32::exp),
            Transform::Hinge => each(margins, |margin| if margin > 0.0 { 1.0 } else { 0.0 }),
            Transform::Ascending => margins.sort_unstable_by(f32::total_cmp),
            Transform::Expectile => expectiles(margins),
            Transform::LogisticMirrored => each(margins, logistic_mirrored),
            Transform::SoftmaxSingle => softmax_single(margins),
            // skl2onnx adds the slope to the negated power, which rounds alike.
            Transform::Isolation => each(margins, |margin| slope - 2f32.powf(-margin)),
            // Used only by libraries that sum in f64.
            Transform::SignedSquare
            | Transform::LogOnePlusExp
            | Transform::MeanVariance
            | Transform::MeanLogistic
            | Transform::ExponentialMinusOne
            | Transform::WeightedMedian => {}
        }
        margins.len()
    }

    fn each(margins: &mut [f32], value: impl Fn(f32) -> f32) {
        margins.iter_mut().for_each(|margin| *margin = value(*margin));
    }

    /// The logistic function, bounded to keep the exponential finite (`Sigmoid` in XGBoost's
    /// src/common/math.h).
    fn logistic(margin: f32) -> f32 {
        let negated = if -margin > 88.7 { 88.7 } else { -margin };
        // 1e-16 has no effect in f32, but XGBoost adds it.
        1.0 / (negated.exp() + 1.0 + 1e-16)
    }

    /// Exponentials shifted by the largest margin, divided by their f64 sum (`Softmax` in XGBoost's
    /// src/common/math.h).
    fn softmax(margins: &mut [f32]) {
        let largest = margins.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0f64;
        for margin in margins.iter_mut() {
            *margin = (*margin - largest).exp();
            sum += f64::from(*margin);
        }
        let sum = sum as f32;
        each(margins, |exponential| exponential / sum);
    }

    /// `ComputeLogistic` in ONNX Runtime's onnxruntime/core/providers/cpu/ml/ml_common.h.
    fn logistic_mirrored(margin: f32) -> f32 {
        let value = 1.0 / (1.0 + (-margin.abs()).exp());
        if margin < 0.0 { 1.0 - value } else { value }
    }

    /// `ComputeSoftmax` in the same file.
    fn softmax_single(margins: &mut [f32]) {
        let largest = margins.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for margin in margins.iter_mut() {
            *margin = (*margin - largest).exp();
            sum += *margin;
        }
        each(margins, |exponential| exponential / sum);
    }

    fn arg_max(margins: &mut [f32]) -> usize {
        let class = first_largest(margins);
        match (margins.first_mut(), class) {
            (Some(first), Some(class)) => {
                *first = class as f32;
                1
            }
            _ => 0,
        }
    }

    /// Each expectile exceeds the previous one by a softplus of its margin and a small gap
    /// (`PredTransform` in XGBoost's src/objective/expectile_obj.cc).
    fn expectiles(margins: &mut [f32]) {
        let mut expectile = None;
        for margin in margins {
            let next = match expectile {
                None => *margin,
                Some(before) => before + (EXPECTILE_GAP + softplus(*margin)),
            };
            *margin = next;
            expectile = Some(next);
        }
    }

    /// Computes `ln(1 + exp(x))` without overflow.
    fn softplus(x: f32) -> f32 {
        x.max(0.0) + (-x.abs()).exp().ln_1p()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn applied(transform: Transform, margins: &[f32]) -> Vec<f32> {
            let mut values = margins.to_vec();
            let count = apply(transform, 1.0, &mut values);
            values.truncate(count);
            values
        }

        #[test]
        fn logistic_is_bounded_below_and_exact_at_zero() {
            let values = applied(Transform::Logistic, &[0.0, 1000.0, -1000.0]);
            assert_eq!(values[..2], [0.5, 1.0]);
            assert_eq!(values[2], 1.0 / (88.7f32.exp() + 1.0));
            assert!(values[2] > 0.0);
            let mut sloped = [3.0];
            apply(Transform::Logistic, 0.5, &mut sloped);
            assert_eq!(sloped[..], applied(Transform::Logistic, &[1.5]));
        }

        #[test]
        fn softmax_sums_to_one_and_survives_large_margins() {
            assert_eq!(applied(Transform::Softmax, &[1000.0, 1000.0]), [0.5, 0.5]);
            let values = applied(Transform::Softmax, &[0.0, 1.0, -200.0]);
            assert!((values.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            assert_eq!(values[0], (-1.0f32).exp() / ((-1.0f32).exp() + 1.0));
        }

        #[test]
        fn exact_transforms_have_these_values() {
            let cases: [(Transform, &[f32], &[f32]); 10] = [
                // The first of equal margins.
                (Transform::ArgMax, &[1.0, 3.0, 3.0], &[1.0]),
                (Transform::ArgMax, &[-1.0, -3.0], &[0.0]),
                (Transform::ArgMax, &[], &[]),
                (Transform::Hinge, &[0.0, 1e-45, -1.0], &[0.0, 1.0, 0.0]),
                (Transform::Exponential, &[0.0, 1.0], &[1.0, std::f32::consts::E]),
                (Transform::Ascending, &[2.0, -1.0, 0.5], &[-1.0, 0.5, 2.0]),
                (Transform::Identity, &[-0.0, 7.0], &[-0.0, 7.0]),
                (Transform::LogisticMirrored, &[0.0, 200.0, -200.0], &[0.5, 1.0, 0.0]),
                (Transform::SoftmaxSingle, &[1000.0, 1000.0], &[0.5, 0.5]),
                (Transform::Isolation, &[0.0, 1.0, 2.0], &[0.0, 0.5, 0.75]),
            ];
            for (transform, margins, values) in cases {
                assert_eq!(applied(transform, margins), values, "{transform:?}");
            }
        }

        #[test]
        fn expectiles_ascend() {
            let values = applied(Transform::Expectile, &[3.0, 0.0, -200.0, 90.0]);
            assert_eq!(values[0], 3.0);
            assert_eq!(values[1], 3.0 + (EXPECTILE_GAP + 2.0f32.ln()));
            assert_eq!(values[2], values[1] + EXPECTILE_GAP);
            assert_eq!(values[3], values[2] + (EXPECTILE_GAP + 90.0));
        }
    }
}

pub(crate) mod double {
    //! Transforms in f64, as in LightGBM and CatBoost.
    //!
    //! Exponentials are the C library's, which `f64::exp` calls. LightGBM's are `ConvertOutput` in
    //! src/objective, and `Common::Softmax` and `Common::Sign` in include/LightGBM/utils/common.h.

    use crate::ensemble::Transform;
    use crate::transform::first_largest;

    /// Transforms a row's margins: see [`crate::transform::single::apply`].
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
            Transform::WeightedMedian => return weighted_median(margins),
            Transform::Exponential => each(margins, f64::exp),
            Transform::ExponentialMinusOne => each(margins, f64::exp_m1),
            Transform::SignedSquare => each(margins, signed_square),
            Transform::LogOnePlusExp => each(margins, |margin| margin.exp().ln_1p()),
            Transform::MeanVariance => {
                each(margins.get_mut(1..).unwrap_or_default(), |margin| (2.0 * margin).exp());
            }
            // Used only by XGBoost, which sums in f32.
            Transform::Hinge | Transform::Ascending | Transform::Expectile => {}
        }
        margins.len()
    }

    fn each(margins: &mut [f64], value: impl Fn(f64) -> f64) {
        margins.iter_mut().for_each(|margin| *margin = value(*margin));
    }

    /// ONNX Runtime rounds f64 margins to f32 before transforming them.
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

    /// Sums in the order of margins, then divides, like scikit-learn.
    fn mean_logistic(slope: f64, margins: &mut [f64]) -> usize {
        let count = margins.len();
        let sum: f64 = margins.iter().map(|margin| logistic(slope, *margin)).sum();
        margins.first_mut().map_or(0, |first| {
            *first = sum / count as f64;
            1
        })
    }

    /// The first number in ascending order at which the weights up to it are half of all or more, as in
    /// `AdaBoostRegressor._get_median_predict` of scikit-learn.
    fn weighted_median(margins: &mut [f64]) -> usize {
        let (numbers, weights) = margins.split_at(margins.len() / 2);
        let mut pairs: Vec<(f64, f64)> =
            numbers.iter().copied().zip(weights.iter().copied()).collect();
        pairs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let total: f64 = pairs.iter().map(|pair| pair.1).sum();
        let mut sum = 0.0;
        let median = pairs.iter().find(|(_, weight)| {
            sum += weight;
            sum >= 0.5 * total
        });
        match (margins.first_mut(), median) {
            (Some(first), Some((number, _))) => {
                *first = *number;
                1
            }
            _ => 0,
        }
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
            let cases: [(Transform, &[f64], &[f64]); 17] = [
                (Transform::Logistic, &[0.0, 1000.0, -1000.0], &[0.5, 1.0, 0.0]),
                (Transform::Softmax, &[1000.0, 1000.0], &[0.5, 0.5]),
                (Transform::Exponential, &[0.0, 1.0], &[1.0, e]),
                (Transform::ExponentialMinusOne, &[0.0, 1.0, -1e9], &[0.0, 1f64.exp_m1(), -1.0]),
                (Transform::SignedSquare, &[-3.0, 0.0, 0.5], &[-9.0, 0.0, 0.25]),
                (Transform::LogOnePlusExp, &[0.0, 1e3], &[2f64.ln(), f64::INFINITY]),
                (Transform::MeanVariance, &[7.0, 0.5], &[7.0, e]),
                (Transform::ArgMax, &[1.0, 3.0, 3.0], &[1.0]),
                (Transform::ArgMax, &[], &[]),
                (Transform::MeanLogistic, &[1000.0, 0.0, -1000.0, 1000.0], &[0.625]),
                (Transform::MeanLogistic, &[], &[]),
                (Transform::WeightedMedian, &[7.0, -2.0, 3.0, 1.0, 1.0, 1.0], &[3.0]),
                (Transform::WeightedMedian, &[7.0, -2.0, 3.0, 2.5, 1.0, 1.0], &[7.0]),
                // Half of all weights are enough.
                (Transform::WeightedMedian, &[7.0, -2.0, 0.5, 0.5], &[-2.0]),
                (Transform::WeightedMedian, &[], &[]),
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
}
