//! Objectives: the training loss, which determines the transform of margins.
//!
//! Each format has a table of names. Unknown objectives are refused instead of scored as linear, since
//! their transforms are unknown.

use bytemuck::CheckedBitPattern;

use crate::Result;

/// The transform from a row's margins to the result of the library's predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum Transform {
    /// The margins themselves.
    Identity = 0,
    /// The logistic function of each margin times the objective's slope.
    Logistic = 1,
    /// Softmax over outputs, shifted by the largest margin.
    Softmax = 2,
    /// The index of the first largest margin, as a single value.
    ArgMax = 3,
    /// The exponential of each margin.
    Exponential = 4,
    /// 1 if the margin is above 0, otherwise 0.
    Hinge = 5,
    /// A row's margins in ascending order: quantiles that do not cross.
    Ascending = 6,
    /// Expectiles: each output exceeds the previous one by a softplus of its margin.
    Expectile = 7,
    /// The square of each margin, with its sign.
    SignedSquare = 8,
    /// `ln(1 + exp(margin))`.
    LogOnePlusExp = 9,
    /// A mean and a variance: the first margin, and the exponential of twice the second.
    MeanVariance = 10,
    /// The logistic function; below 0, computed as one minus that of the negated margin.
    LogisticMirrored = 11,
    /// [`Transform::Softmax`] with an f32 sum of exponentials.
    SoftmaxSingle = 12,
    /// The slope minus 2 to the power of the negated margin: an isolation forest's score from mean
    /// depths.
    Isolation = 13,
    /// The mean of the logistic functions of all margins, as a single value: several models' mean
    /// probability of the second of two classes.
    MeanLogistic = 14,
    /// The exponential of each margin, less one.
    ExponentialMinusOne = 15,
    /// The median of the first half of the margins, weighted by the second half, as a single value.
    WeightedMedian = 16,
}

impl Transform {
    /// The link that it is the inverse of, in the words of the tree ensemble file.
    pub fn link(self) -> &'static str {
        match self {
            Transform::Identity => "identity",
            Transform::Logistic | Transform::LogisticMirrored => "logistic",
            Transform::Softmax | Transform::SoftmaxSingle => "softmax",
            Transform::ArgMax => "arg_max",
            Transform::Exponential => "exponential",
            Transform::Hinge => "hinge",
            Transform::Ascending => "ascending",
            Transform::Expectile => "expectile",
            Transform::SignedSquare => "signed_square",
            Transform::LogOnePlusExp => "log_one_plus_exp",
            Transform::MeanVariance => "mean_variance",
            Transform::Isolation => "isolation",
            Transform::MeanLogistic => "mean_logistic",
            Transform::ExponentialMinusOne => "exponential_minus_one",
            Transform::WeightedMedian => "weighted_median",
        }
    }
}

/// The width of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum Precision {
    /// f32.
    Single = 0,
    /// f64.
    Double = 1,
}

impl Precision {
    /// Rounds a number to this width.
    pub(crate) fn rounded(self, number: f64) -> f64 {
        match self {
            Precision::Single => f64::from(number as f32),
            Precision::Double => number,
        }
    }
}

/// The number that a value of f32 is to a model that compares in f64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum RealInput {
    /// The f32 itself, as NumPy widens it.
    #[default]
    Binary = 0,
    /// Its shortest decimal, which is its text.
    Decimal = 1,
}

impl RealInput {
    /// Each by the name that users give it.
    pub const NAMES: [(&'static str, RealInput); 2] =
        [("decimal", RealInput::Decimal), ("float32", RealInput::Binary)];

    /// The one of that name.
    pub fn named(name: &str) -> Option<RealInput> {
        RealInput::NAMES.iter().find(|(own, _)| *own == name).map(|(_, input)| *input)
    }
}

/// Numbers that choose a row's class: the first largest of several outputs, or whether a single one is
/// above [`Objective::class_threshold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum ClassBy {
    /// Values, in which close margins may tie.
    Value = 0,
    /// The margins.
    Margin = 1,
}

impl Transform {
    /// Returns whether a library computes the transform in this precision.
    pub(crate) fn is_in(self, precision: Precision) -> bool {
        use Transform::{
            Ascending, Expectile, ExponentialMinusOne, Hinge, LogOnePlusExp, MeanLogistic,
            MeanVariance, SignedSquare, WeightedMedian,
        };
        match precision {
            Precision::Single => !matches!(
                self,
                SignedSquare
                    | LogOnePlusExp
                    | MeanVariance
                    | MeanLogistic
                    | ExponentialMinusOne
                    | WeightedMedian
            ),
            Precision::Double => !matches!(self, Hinge | Ascending | Expectile),
        }
    }

    /// Returns whether a row has a single value for any number of margins.
    pub(crate) fn gives_one_value(self) -> bool {
        matches!(self, Transform::ArgMax | Transform::MeanLogistic | Transform::WeightedMedian)
    }
}

/// The kind of prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern)]
#[repr(u32)]
pub enum Task {
    /// Numbers.
    Regression = 0,
    /// One of two classes, by a single output.
    Binary = 1,
    /// One of several classes, with an output per class.
    Multiclass = 2,
    /// A ranking of rows.
    Ranking = 3,
}

impl Task {
    /// Its name, in the words of the tree ensemble file.
    pub fn name(self) -> &'static str {
        match self {
            Task::Regression => "regression",
            Task::Binary => "binary",
            Task::Multiclass => "multiclass",
            Task::Ranking => "ranking",
        }
    }

    /// Returns whether values are class probabilities: of the second of two, or of each of several. A
    /// library that sums probabilities does not transform them, and decides between two classes by the sum, at
    /// a number between 0 and 1.
    pub(crate) fn has_probabilities(
        self,
        transform: Transform,
        has_one_value: bool,
        (class_by, threshold): (ClassBy, f64),
    ) -> bool {
        use Transform::{
            Identity, Logistic, LogisticMirrored, MeanLogistic, Softmax, SoftmaxSingle,
        };
        match (self, transform) {
            (Task::Binary, _) if !has_one_value => false,
            (Task::Binary, Identity) => {
                class_by == ClassBy::Margin && threshold > 0.0 && threshold < 1.0
            }
            (Task::Multiclass, Identity) => true,
            (Task::Binary | Task::Multiclass, transform) => matches!(
                transform,
                Logistic | LogisticMirrored | MeanLogistic | Softmax | SoftmaxSingle
            ),
            (Task::Regression | Task::Ranking, _) => false,
        }
    }
}

/// An objective with its consequences.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    pub(crate) name: String,
    pub(crate) transform: Transform,
    pub(crate) slope: f64,
    pub(crate) task: Task,
    pub(crate) class_by: ClassBy,
    pub(crate) class_threshold: f64,
    pub(crate) levels: Vec<f32>,
}

impl Objective {
    /// Returns the library's name, such as `binary:logistic`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the transform of margins.
    pub fn transform(&self) -> Transform {
        self.transform
    }

    /// Returns the factor of margins in [`Transform::Logistic`] (1 in XGBoost, `sigmoid` in LightGBM),
    /// or the addend of [`Transform::Isolation`].
    pub fn slope(&self) -> f64 {
        self.slope
    }

    /// Returns the kind of prediction.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Returns which numbers choose the class.
    pub fn class_by(&self) -> ClassBy {
        self.class_by
    }

    /// Returns the quantiles or expectiles that the outputs are, if the file has them.
    pub fn levels(&self) -> &[f32] {
        &self.levels
    }

    /// Returns the value or margin above which the second of two classes is chosen.
    pub fn class_threshold(&self) -> f64 {
        self.class_threshold
    }
}

/// The absent bias; unlike 0.0, adding it keeps the sign of a zero.
pub(crate) const NO_BIAS: f64 = -0.0;

/// Arithmetic after the sum of leaves: `sum * scale / divisor + bias`, each step rounded to the
/// precision of sums.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scaling {
    /// CatBoost's scale.
    pub scale: f64,
    /// The number of averaged trees.
    pub divisor: f64,
    /// CatBoost's bias: empty, or one value per output.
    pub bias: Vec<f64>,
    /// Whether margins include the scaling; LightGBM's do not.
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
            bail!(NotFinite, "a scale, divisor or bias is not a finite number");
        }
        if ![0, outputs].contains(&self.bias.len()) {
            bail!(Length, "model has {outputs} outputs, but {} biases", self.bias.len());
        }
        Ok(())
    }

    /// Scales a sum.
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
