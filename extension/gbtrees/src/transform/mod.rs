//! Transforms: from the margins of a row to the values that the library's predict returns.
//!
//! `single` computes in f32, as XGBoost does; `double` in f64, as LightGBM and CatBoost do.

pub(crate) mod double;
pub(crate) mod single;

/// The index of the first of the largest margins, if there are any (XGBoost: `FindMaxIndex` in
/// src/common/math.h; numpy's `argmax`).
pub(crate) fn first_largest<M: Copy + PartialOrd>(margins: &[M]) -> Option<u32> {
    let mut largest = (0, *margins.first()?);
    for (index, margin) in (0..).zip(margins) {
        if *margin > largest.1 {
            largest = (index, *margin);
        }
    }
    Some(largest.0)
}
