//! Objectives: what a model was trained for, and with it how margins become values.
//!
//! Each format has its own table of names. A model whose objective is not in it is refused rather
//! than scored as if it were linear, since its margins may be transformed in a way not known here.

use bytemuck::CheckedBitPattern;

use crate::{Error, ErrorKind, Result};

/// How the margins of a row become what the library's predict returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum Transform {
    /// The margins themselves.
    Identity = 0,
    /// The logistic function of each margin times the objective's slope.
    Logistic = 1,
    /// One probability per output, from exponentials shifted by the largest margin.
    Softmax = 2,
    /// One value: the index of the first largest margin.
    ArgMax = 3,
    /// The exponential of each margin.
    Exponential = 4,
    /// 1 where the margin is above 0, else 0.
    Hinge = 5,
    /// The margins of a row in ascending order: quantiles that do not cross.
    Ascending = 6,
    /// Expectiles: each output lies above the one before it by a softplus of its margin.
    Expectile = 7,
    /// The square of each margin, with the margin's sign.
    SignedSquare = 8,
    /// The logarithm of one plus the exponential of each margin.
    LogOnePlusExp = 9,
    /// Of two margins the first, and the exponential of twice the second: a mean and a variance.
    MeanVariance = 10,
    /// The logistic function of each margin; of one below 0, 1 minus that of its opposite.
    LogisticMirrored = 11,
    /// As [`Transform::Softmax`], with the sum of exponentials in f32.
    SoftmaxSingle = 12,
    /// The objective's slope less 2 to the power of the opposite of each margin: what an isolation
    /// forest makes of mean depths.
    Isolation = 13,
    /// One value: the mean of the logistic functions of all margins. Of two classes, the mean of what
    /// several models say of the second.
    MeanLogistic = 14,
    /// The exponential of each margin, less one.
    ExponentialMinusOne = 15,
}

/// The width of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum Precision {
    /// f32.
    Single = 0,
    /// f64.
    Double = 1,
}

/// By what a row's class is chosen: with several outputs the first of the largest, with one whether it
/// is above [`Objective::class_threshold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum ClassBy {
    /// The values. Margins that differ in their last bits may have the same one.
    Value = 0,
    /// The margins.
    Margin = 1,
}

impl Transform {
    /// Whether a library computes it in that precision.
    pub(crate) fn is_in(self, precision: Precision) -> bool {
        use Transform::{
            Ascending, Expectile, ExponentialMinusOne, Hinge, LogOnePlusExp, MeanLogistic,
            MeanVariance, SignedSquare,
        };
        match precision {
            Precision::Single => !matches!(
                self,
                SignedSquare | LogOnePlusExp | MeanVariance | MeanLogistic | ExponentialMinusOne
            ),
            Precision::Double => !matches!(self, Hinge | Ascending | Expectile),
        }
    }

    /// Whether a row has one value, however many margins it has.
    pub(crate) fn gives_one_value(self) -> bool {
        matches!(self, Transform::ArgMax | Transform::MeanLogistic)
    }
}

/// What a model's values are good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum Task {
    /// Numbers.
    Regression = 0,
    /// One of two classes, by one output.
    Binary = 1,
    /// One of several classes, with one output per class.
    Multiclass = 2,
    /// An order of rows.
    Ranking = 3,
}

/// An objective, and what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    pub(crate) name: String,
    pub(crate) transform: Transform,
    pub(crate) slope: f64,
    pub(crate) task: Task,
    pub(crate) class_by: ClassBy,
    pub(crate) class_threshold: f64,
}

impl Objective {
    /// The library's name for it, `binary:logistic` for one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How margins become values.
    pub fn transform(&self) -> Transform {
        self.transform
    }

    /// The factor of a margin in [`Transform::Logistic`]; XGBoost's is 1, LightGBM's `sigmoid`. What is
    /// added in [`Transform::Isolation`].
    pub fn slope(&self) -> f64 {
        self.slope
    }

    /// What the values are good for.
    pub fn task(&self) -> Task {
        self.task
    }

    /// By what a class is chosen.
    pub fn class_by(&self) -> ClassBy {
        self.class_by
    }

    /// Of two classes, the second is chosen where the value or margin is above this.
    pub fn class_threshold(&self) -> f64 {
        self.class_threshold
    }
}

/// What is added where there is no bias: it leaves the sign of a zero, which 0.0 does not.
pub(crate) const NO_BIAS: f64 = -0.0;

/// What follows the sum of leaves: `sum * scale / divisor + bias`, each step rounded to the precision
/// of sums.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scaling {
    /// CatBoost's scale.
    pub scale: f64,
    /// The number of trees that are averaged.
    pub divisor: f64,
    /// What is added last, CatBoost's bias: one value per output, or nothing.
    pub bias: Vec<f64>,
    /// Whether margins are what comes after this; LightGBM's are what comes before.
    pub in_margin: bool,
}

impl Default for Scaling {
    fn default() -> Self {
        Scaling { scale: 1.0, divisor: 1.0, bias: Vec::new(), in_margin: true }
    }
}

impl Scaling {
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

    /// A sum, scaled.
    pub(crate) fn of(&self, sum: f64, output: usize, precision: Precision) -> f64 {
        let bias = self.bias.get(output).copied().unwrap_or(NO_BIAS);
        match precision {
            Precision::Double => sum * self.scale / self.divisor + bias,
            Precision::Single => {
                f64::from(sum as f32 * self.scale as f32 / self.divisor as f32 + bias as f32)
            }
        }
    }
}
