//! Computes for which values of an input column a test holds after a chain of steps.
//!
//! The numbers from one infinity to the other fall into consecutive cells in each of which the test
//! holds everywhere or nowhere. Bisection over all f32 or f64 finds their ends with the arithmetic of
//! the steps itself, so rounding is exact. Except at jumps, a step keeps or reverses the order of
//! numbers, so a comparison of its result changes once. Encoders are excluded; `splits` turns them into
//! tests of the steps before.

use crate::ensemble::Precision;
use crate::format::onnx::columns::{I64_END, Step, after};

/// The condition on a value other than NaN.
pub(super) enum Test<'a> {
    Below(f64),
    AtMost(f64),
    /// Ascending numbers, without -0.0.
    In(&'a [f64]),
}

impl Test<'_> {
    pub(super) fn holds(&self, value: f64) -> bool {
        match self {
            Test::Below(threshold) => value < *threshold,
            Test::AtMost(threshold) => value <= *threshold,
            Test::In(numbers) => {
                numbers.binary_search_by(|number| number.total_cmp(&(value + 0.0))).is_ok()
            }
        }
    }

    /// Returns the comparisons that determine the outcome.
    fn comparisons(&self) -> Vec<Test<'static>> {
        match self {
            Test::Below(threshold) => vec![Test::Below(*threshold)],
            Test::AtMost(threshold) => vec![Test::AtMost(*threshold)],
            Test::In(numbers) => numbers.iter().flat_map(|number| at(*number)).collect(),
        }
    }
}

/// Returns the comparisons that single out a number.
fn at(number: f64) -> [Test<'static>; 2] {
    [Test::Below(number), Test::AtMost(number)]
}

/// The cells of a test: the starts of all but the first, and the outcome in the first, which alternates
/// from cell to cell.
#[derive(Debug)]
pub(super) struct Cells {
    pub first: bool,
    pub starts: Vec<f64>,
    /// Whether the test holds for NaN; `None` if NaN is still NaN after all steps.
    pub missing: Option<bool>,
}

impl Cells {
    /// Computes the cells among the numbers of one width.
    pub(super) fn of(test: &Test<'_>, steps: &[Step], width: Precision) -> Cells {
        let mut starts = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let before = steps.get(..index).unwrap_or_default();
            starts.extend(jumps(step).iter().filter_map(|test| change(test, before, width)));
        }
        starts.extend(test.comparisons().iter().filter_map(|test| change(test, steps, width)));
        starts.sort_unstable_by(f64::total_cmp);
        starts.dedup();
        let holds = |value: f64| {
            let value = after(steps, value);
            (!value.is_nan()).then(|| test.holds(value))
        };
        // No step turns a number into NaN.
        let first = holds(f64::NEG_INFINITY).unwrap_or(false);
        let mut last = first;
        starts.retain(|start| {
            let before = last;
            last = holds(*start).unwrap_or(false);
            before != last
        });
        Cells { first, starts, missing: holds(f64::NAN) }
    }
}

/// Returns comparisons that change where a step jumps.
fn jumps(step: &Step) -> Vec<Test<'static>> {
    match step {
        Step::Impute { replaced, .. } if !replaced.is_nan() => at(*replaced).into(),
        // Numbers below i64 clamp to its minimum, numbers above wrap to it.
        Step::Truncate => vec![Test::Below(I64_END)],
        _ => Vec::new(),
    }
}

/// Returns the first number at which a comparison after some steps differs from that of the smallest
/// number, ignoring jumps.
fn change(test: &Test<'_>, steps: &[Step], width: Precision) -> Option<f64> {
    let steady = |value: f64, step: &Step| match step {
        Step::Impute { .. } => value,
        Step::Truncate => value.trunc(),
        step => step.of(value),
    };
    let holds = |value: f64| test.holds(steps.iter().fold(value, steady));
    let (start, end) = (order(f64::NEG_INFINITY, width), order(f64::INFINITY, width));
    let first = holds(f64::NEG_INFINITY);
    if holds(f64::INFINITY) == first {
        return None;
    }
    // Invariant: unchanged at `low`, changed at `high`.
    let (mut low, mut high) = (start, end);
    // Usually the steps leave the compared number unchanged.
    let guess = match test {
        Test::Below(threshold) | Test::AtMost(threshold) => order(*threshold, width),
        Test::In(_) => start,
    };
    for place in [guess - 1, guess + 1] {
        if low < place && place < high {
            if holds(number(place, width)) == first { low = place } else { high = place }
        }
    }
    while low + 1 < high {
        let middle = low.midpoint(high);
        if holds(number(middle, width)) == first { low = middle } else { high = middle }
    }
    Some(number(high, width))
}

/// Returns a number's position among all of its width; both zeros share one.
fn order(number: f64, width: Precision) -> i64 {
    let (negative, magnitude) = match width {
        Precision::Single => {
            let bits = (number as f32).to_bits();
            (bits >> 31 == 1, i64::from(bits & (u32::MAX >> 1)))
        }
        Precision::Double => {
            let bits = number.to_bits();
            (bits >> 63 == 1, (bits & (u64::MAX >> 1)).cast_signed())
        }
    };
    if negative { -magnitude } else { magnitude }
}

/// Returns the number at a position, never -0.0.
fn number(order: i64, width: Precision) -> f64 {
    let magnitude = order.unsigned_abs();
    let number = match width {
        Precision::Single => f64::from(f32::from_bits(magnitude as u32)),
        Precision::Double => f64::from_bits(magnitude),
    };
    if order < 0 { -number } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::onnx::columns::Operation;
    use crate::random::Random;

    fn finite(random: &mut Random) -> f64 {
        let few = [0.0, 1.0, -1.0, 0.1, 3.0, 1e-30, 16_777_217.0, 1e38, -2.5];
        match random.below(3) {
            0 => few[random.below(few.len())],
            1 => random.below(2001) as f64 / 1000.0 - 1.0,
            _ => f64::from((random.below(1 << 20) as f32 - 5e5) * 1.7e-3),
        }
    }

    fn steps(random: &mut Random) -> Vec<Step> {
        use Operation::{Add, Divide, Multiply, Subtract};
        let one = |random: &mut Random| match random.below(5) {
            0 => Some(Step::Round),
            4 => Some(Step::Truncate),
            1 => {
                let few = [f64::NAN, f64::INFINITY, 0.0];
                let any = [few[random.below(3)], finite(random)];
                Some(Step::Impute { replaced: any[random.below(2)], by: finite(random) })
            }
            _ => {
                let operation = [Add, Subtract, Multiply, Divide][random.below(4)];
                let precision = [Precision::Single, Precision::Double][random.below(2)];
                let number = f64::from(finite(random) as f32);
                Step::arithmetic(operation, number, precision)
            }
        };
        (0..random.below(5)).filter_map(|_| one(random)).collect()
    }

    #[test]
    fn cells_agree_with_the_test_for_every_number() {
        let mut random = Random(11);
        let mut changes = [0usize; 6];
        for _ in 0..20_000 {
            let steps = steps(&mut random);
            let mut numbers: Vec<f64> =
                (0..1 + random.below(3)).map(|_| finite(&mut random) + 0.0).collect();
            numbers.sort_unstable_by(f64::total_cmp);
            numbers.dedup();
            let test = match random.below(3) {
                0 => Test::Below(numbers[0]),
                1 => Test::AtMost(numbers[0]),
                _ => Test::In(&numbers),
            };
            let width = [Precision::Single, Precision::Double][random.below(2)];
            let cells = Cells::of(&test, &steps, width);
            changes[cells.starts.len().min(5)] += 1;
            let near = cells.starts.iter().chain(&numbers).copied();
            let end = I64_END;
            let few = [f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MAX, 5e-324, end, -end];
            let any: Vec<f64> = (0..8).map(|_| finite(&mut random)).collect();
            for value in near.chain(few).chain(any) {
                for value in [value, value.next_up(), value.next_down(), f64::from(value as f32)] {
                    if width == Precision::Single && f64::from(value as f32) != value {
                        continue;
                    }
                    let cell = cells.starts.partition_point(|start| *start <= value);
                    let holds = cells.first != (cell % 2 == 1);
                    assert_eq!(
                        holds,
                        test.holds(after(&steps, value)),
                        "{value:e} of {cells:?} {steps:?}"
                    );
                }
            }
            let missing = after(&steps, f64::NAN);
            assert_eq!(cells.missing, (!missing.is_nan()).then(|| test.holds(missing)));
        }
        assert!(changes.iter().all(|count| *count > 50), "{changes:?}");
    }
}
