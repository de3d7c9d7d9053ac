//! Gauss-Legendre quadrature on [0, 1].
//!
//! `n` points are exact for polynomials of degree `2n - 1`. The integrands of a path with `d` features
//! have degree `d - 1`, so `d / 2` points, rounded up, are exact.

/// The points and weights of a rule.
#[derive(Default)]
pub(crate) struct Rule {
    pub(crate) points: Vec<f64>,
    pub(crate) weights: Vec<f64>,
}

/// Returns the number of points that is exact for a path of `features` features; at least one.
pub(crate) fn exact_points(features: usize) -> usize {
    features.div_ceil(2).max(1)
}

impl Rule {
    /// Computes the rule of `count` points by Newton's method on the Legendre polynomial.
    pub(crate) fn of(count: usize) -> Rule {
        let mut rule = Rule::default();
        let n = count as f64;
        for index in 0..count {
            // First approximation of the root (Abramowitz and Stegun 22.16.6).
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

/// Returns the Legendre polynomial of a positive degree and its derivative, by Bonnet's recursion.
fn legendre(degree: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for k in 2..=degree {
        let k = k as f64;
        let next = ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k;
        (before, value) = (value, next);
    }
    (value, degree as f64 * (x * value - before) / (x * x - 1.0))
}

/// Quadrature points with their weights.
#[derive(Default)]
pub(crate) struct Points {
    pub(crate) points: Vec<f32>,
    pub(crate) weights: Vec<f32>,
}

/// Maximum points that a walk handles at once.
pub(crate) const MAX_POINTS: usize = 8;

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
