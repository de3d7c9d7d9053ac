//! Comparisons as `x < cut` in double precision, for models that round values to f32 first too.
//!
//! Arguments are double precision, which every number is cast to without an error. Rounding to f32 keeps
//! the order of numbers, so the values that round to less than a threshold are those below a cut: the middle
//! between the threshold and the f32 before it, or the number after that where a tie rounds down.

use crate::decimal::shortest_decimal;
use crate::ensemble::{Comparison, Precision};

/// Returns the number such that exactly the smaller values go left; `None` if all go left.
pub(super) fn cut(precision: Precision, comparison: Comparison, threshold: f64) -> Option<f64> {
    // Adding zero turns -0.0 into 0.0.
    let cut = match comparison {
        Comparison::Less => threshold + 0.0,
        Comparison::LessOrEqual if threshold == f64::INFINITY => return None,
        Comparison::LessOrEqual => threshold.next_up() + 0.0,
    };
    Some(match precision {
        Precision::Double => cut,
        Precision::Single => rounded_below(cut),
    })
}

/// Returns the reals whose decimals are on another side of a cut than they are: at most the nearest one.
pub(super) fn reals_across(cut: f64) -> impl Iterator<Item = f32> {
    let nearest = cut as f32;
    let near = [nearest.next_down(), nearest, nearest.next_up()];
    near.into_iter().filter(move |real| {
        real.is_finite() && (f64::from(*real) < cut) != (shortest_decimal(*real) < cut)
    })
}

/// Returns the bits of a number in the order of numbers.
pub(super) fn ordered(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Returns the number of these bits.
pub(super) fn unordered(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

/// Returns the smallest number that, rounded to f32, is not below a cut.
fn rounded_below(cut: f64) -> f64 {
    let nearest = cut as f32;
    let end = if f64::from(nearest) < cut { nearest.next_up() } else { nearest } + 0.0;
    if end == f32::NEG_INFINITY {
        return f64::NEG_INFINITY;
    }
    let middle = (wide(end) + wide(end.next_down())) / 2.0;
    if (middle as f32) < end { middle.next_up() } else { middle }
}

/// Widens a number of f32; infinity as the number that would follow the largest one.
fn wide(single: f32) -> f64 {
    if single.is_infinite() { 2f64.powi(128).copysign(single.into()) } else { single.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn all_other_reals_are_on_the_side_of_their_decimals() {
        let mut random = Random(12);
        let mut across = 0;
        let rounds = if cfg!(miri) { 200 } else { 20_000 };
        for _ in 0..rounds {
            let real = match random.below(3) {
                0 => (random.below(4000) as f32 - 2000.0) / 100.0,
                1 => [f32::MAX, f32::MIN_POSITIVE, 1e-45, 0.0, -0.0][random.below(5)],
                _ => f32::from_bits(random.next() as u32),
            };
            if !real.is_finite() {
                continue;
            }
            let ends = [f64::from(real), shortest_decimal(real)];
            let ends = [ends[0], ends[1], (ends[0] + ends[1]) / 2.0, f64::from(real.next_up())];
            let cut = ends[random.below(ends.len())];
            let cut = [cut, cut.next_up(), cut.next_down()][random.below(3)];
            let found: Vec<f32> = reals_across(cut).collect();
            across += found.len();
            for near in [real, real.next_up(), real.next_down(), f32::INFINITY, -f32::INFINITY] {
                let decimal = if near.is_finite() { shortest_decimal(near) } else { near.into() };
                let differs = (f64::from(near) < cut) != (decimal < cut);
                assert_eq!(found.contains(&near), differs, "{near:e} at {cut:e}");
            }
        }
        assert!(across > rounds / 20, "{across}");
    }

    #[test]
    fn rounded_values_stay_on_their_side() {
        let mut random = Random(11);
        let ends = [0.0, -0.0, f32::MIN_POSITIVE, 1e-45, f32::MAX, f32::INFINITY, 1.0, 0.1, 1e-40];
        for _ in 0..if cfg!(miri) { 200 } else { 20_000 } {
            let single = match random.below(3) {
                0 => ends[random.below(ends.len())],
                _ => f32::from_bits(random.next() as u32),
            };
            let single = if random.below(2) == 0 { single } else { -single };
            if single.is_nan() {
                continue;
            }
            let own = f64::from(single);
            let threshold = [own, own.next_up(), own.next_down()][random.below(3)];
            let comparison = [Comparison::Less, Comparison::LessOrEqual][random.below(2)];
            let cut = cut(Precision::Single, comparison, threshold);
            let near = [single, single.next_up(), single.next_down()].map(f64::from);
            let middles = [(near[0] + near[1]) / 2.0, (near[0] + near[2]) / 2.0];
            let points = near.into_iter().chain(middles).chain(cut).chain([2f64.powi(128), 1e300]);
            for point in points.flat_map(|x| [x, x.next_up(), x.next_down(), -x]) {
                if point.is_nan() {
                    continue;
                }
                let expected = comparison.holds(f64::from(point as f32), threshold);
                let found = cut.is_none_or(|cut| point < cut);
                assert_eq!(found, expected, "{point:e} {comparison:?} {threshold:e}: {cut:?}");
            }
        }
    }
}
