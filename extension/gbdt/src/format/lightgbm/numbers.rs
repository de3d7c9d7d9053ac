//! Numbers and words of a text model, with as many to a line as the line's key says.
//!
//! LightGBM writes f64 with 17 digits, and reads them correctly rounded, as Rust does. Parameters of
//! objectives it reads with a parser of its own, which rounds more than once ([`parameter`]).

use std::str::FromStr;

use super::lines::Field;
use crate::format::reader::Interrupts;
use crate::{ErrorKind, Result};

impl<'a> Field<'a> {
    /// One number.
    pub(super) fn number<T: FromStr>(&self) -> Result<T> {
        self.value
            .trim()
            .parse()
            .map_err(|_| self.error(ErrorKind::Number, "is not a number of its type"))
    }

    /// The words between spaces, `most` and one more at most.
    pub(super) fn words(&self, most: usize, interrupts: &mut Interrupts<'_>) -> Vec<&'a str> {
        let words = self.value.split(' ').inspect(|_| interrupts.count());
        words.filter(|word| !word.is_empty()).take(most.saturating_add(1)).collect()
    }

    /// Exactly `count` numbers with spaces between.
    pub(super) fn numbers<T: FromStr>(
        &self,
        count: usize,
        interrupts: &mut Interrupts<'_>,
    ) -> Result<Vec<T>> {
        // Each takes a digit and a space at least.
        let most = self.value.len() / 2 + 1;
        let wrong = |found: &str| {
            let message = format!("has {found} values where {count} belong");
            self.error(ErrorKind::Length, &message)
        };
        let mut numbers = Vec::new();
        numbers.try_reserve(count.min(most)).map_err(|_| {
            self.error(ErrorKind::OutOfMemory, "has too many values for the memory")
        })?;
        for token in self.value.split(' ') {
            interrupts.count();
            if token.is_empty() {
                continue;
            }
            if numbers.len() == count {
                return Err(wrong("more"));
            }
            let number = token.trim_end().parse();
            numbers.push(
                number
                    .map_err(|_| self.error(ErrorKind::Number, "has a value of the wrong type"))?,
            );
        }
        if numbers.len() < count {
            return Err(wrong(&numbers.len().to_string()));
        }
        Ok(numbers)
    }
}

/// A parameter of an objective as LightGBM reads it: digits before the point, then digits behind it
/// divided by their power of ten, then the exponent, each step rounded (`Atof` in
/// include/LightGBM/utils/common.h). So 1.55177 is not the f64 nearest to 1.55177.
pub(super) fn parameter(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| {
        text.bytes()
            .filter(u8::is_ascii_digit)
            .fold(0.0, |value: f64, digit| value * 10.0 + f64::from(digit - b'0'))
    };
    let places = i32::try_from(fraction.len()).ok().filter(|places| *places <= 22)?;
    let value = digits(whole) + digits(fraction) / 10f64.powi(places);
    let exponent: i32 = exponent.parse().ok().filter(|exponent: &i32| exponent.abs() <= 22)?;
    let scale = 10f64.powi(exponent.abs());
    let value = if exponent < 0 { value / scale } else { value * scale };
    Some(value.copysign(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_rounded_as_lightgbm_rounds_them() {
        for exact in ["1", "0.7", "1.7", "0.123456", "45.6789", "1e-05", "2.5e+01", "0.001"] {
            assert_eq!(parameter(exact), exact.parse().ok(), "{exact}");
        }
        for text in ["1.55177", "14.5126", "7.77901"] {
            let nearest: f64 = text.parse().unwrap();
            let apart = parameter(text).unwrap().to_bits().abs_diff(nearest.to_bits());
            assert_eq!(apart, 1, "{text}");
        }
        assert_eq!(parameter("-2"), Some(-2.0));
        for text in ["", "x", "inf", "nan", "1e400", "1e300"] {
            assert_eq!(parameter(text), None, "{text}");
        }
    }
}
