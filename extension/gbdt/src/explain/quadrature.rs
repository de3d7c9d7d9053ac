//! Gauss-Legendre quadrature on the interval from 0 to 1.
//!
//! `n` points integrate polynomials of degree `2n - 1` exactly. A path with `d` features has integrands
//! of degree `d - 1`, so `d / 2` points, rounded up, are exact for it.

use std::sync::OnceLock;

/// Points that are computed with together.
pub(super) const POINTS: usize = 4;

/// The points and weights of one rule.
#[derive(Default)]
pub(super) struct Rule {
    pub(super) points: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

/// Rules that are kept: enough for the deepest trees that are explained.
const KEPT: usize = 64;

/// The rule of so many times [`POINTS`] points, made when it is first asked for: that takes as long as the
/// contributions of a tree.
pub(super) fn rule(times: usize) -> &'static Rule {
    static RULES: [OnceLock<Rule>; KEPT] = [const { OnceLock::new() }; KEPT];
    RULES[times - 1].get_or_init(|| Rule::of(times * POINTS))
}

impl Rule {
    /// The rule of `count` points, by Newton's method on the Legendre polynomial.
    pub(super) fn of(count: usize) -> Rule {
        let mut rule = Rule::default();
        let n = count as f64;
        for index in 0..count {
            // Where the root lies, nearly (Abramowitz and Stegun 22.16.6).
            let mut x = (std::f64::consts::PI * (index as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..8 {
                let (value, derivative) = legendre(count, x);
                slope = derivative;
                x -= value / derivative;
            }
            rule.points.push(0.5 * (1.0 - x));
            rule.weights.push(1.0 / ((1.0 - x * x) * slope * slope));
        }
        rule
    }
}

/// The Legendre polynomial of a degree above 0 and its derivative, by Bonnet's recursion.
fn legendre(degree: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for k in 2..=degree {
        let k = k as f64;
        let next = ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k;
        (before, value) = (value, next);
    }
    (value, degree as f64 * (x * value - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_integrated_exactly() {
        for count in [1, 2, 3, 4, 8, 64, 256] {
            let Rule { points, weights } = Rule::of(count);
            for degree in 0..2 * count as i32 {
                let terms = points.iter().zip(&weights);
                let sum: f64 = terms.map(|(point, weight)| weight * point.powi(degree)).sum();
                let exact = 1.0 / f64::from(degree + 1);
                assert!((sum - exact).abs() < 1e-13, "{count} points, degree {degree}: {sum}");
            }
            assert!(points.iter().all(|point| (0.0..1.0).contains(point) && *point > 0.0));
        }
    }
}
