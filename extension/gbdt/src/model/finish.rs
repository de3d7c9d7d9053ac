//! What libraries do to a sum of leaves before they transform it.

use super::Precision;
use crate::{Error, ErrorKind, Result};

/// What is added where there is no bias: it leaves the sign of a zero, which 0.0 does not.
pub(crate) const NO_BIAS: f64 = -0.0;

/// What follows the sum of leaves: `sum * scale / divisor + bias`, each step rounded to the precision
/// of sums.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finish {
    /// CatBoost's scale.
    pub scale: f64,
    /// The number of trees that are averaged.
    pub divisor: f64,
    /// What is added last, CatBoost's bias: one value per output, or nothing.
    pub bias: Vec<f64>,
    /// Whether margins are what comes after this; LightGBM's are what comes before.
    pub in_margin: bool,
}

impl Default for Finish {
    fn default() -> Self {
        Finish { scale: 1.0, divisor: 1.0, bias: Vec::new(), in_margin: true }
    }
}

impl Finish {
    pub(super) fn check(&self, outputs: usize) -> Result<()> {
        let numbers = self.bias.iter().chain([&self.scale, &self.divisor]);
        if !numbers.copied().all(f64::is_finite) || self.divisor == 0.0 {
            let message = "a scale, divisor or bias is not a finite number";
            return Err(Error::new(ErrorKind::NotFinite, message));
        }
        if ![0, outputs].contains(&self.bias.len()) {
            let message = format!("model has {outputs} outputs, but {} biases", self.bias.len());
            return Err(Error::new(ErrorKind::Length, message));
        }
        Ok(())
    }

    /// A sum, finished.
    pub fn of(&self, sum: f64, output: usize, precision: Precision) -> f64 {
        let bias = self.bias.get(output).copied().unwrap_or(NO_BIAS);
        match precision {
            Precision::Double => sum * self.scale / self.divisor + bias,
            Precision::Single => {
                f64::from(sum as f32 * self.scale as f32 / self.divisor as f32 + bias as f32)
            }
        }
    }
}
