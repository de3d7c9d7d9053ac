//! The aggregates of metrics: `rmse`, `mse`, `mae`, `mape` and `r2` of numbers, `logloss`, `brier`, `auc` and
//! `aucpr` of two classes, `mlogloss` of several, and `accuracy`.
//!
//! Their transition functions are strict, so a row with a NULL does not count. They take a prediction, a
//! target and, in a second form, a weight. Aggregates with the same arguments share a state, so all of one
//! kind together take hardly longer than one. Values that scikit-learn refuses are errors.

use pg_interface::Datum;
use pg_interface::call::Abandon;
use pg_interface::call::{Arguments, CallState, Equality};

use crate::error::{Error, Result};
use crate::evaluation::curve::{Areas, Curve};
use crate::evaluation::rows::MAX_WEIGHT;
use crate::evaluation::sums::{self, Means, Metric};

/// The place of the prediction among the arguments, between the state and the target.
const PREDICTION: usize = 1;
const TARGET: usize = 2;
const WEIGHT: usize = 3;

/// The type of a target of two classes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClassType {
    Boolean,
    /// 0 or 1.
    Number,
}

/// Returns the state of an aggregate and the sums in it.
#[inline]
fn sums<const N: usize>(arguments: Arguments<'_>, index: usize) -> Result<(Datum, &mut [f64; N])> {
    let Some((state, sums)) = arguments.state_doubles(index) else {
        return Err(Error::OutsideAggregate);
    };
    Ok((state, sums.try_into().map_err(|_| Error::OutsideAggregate)?))
}

/// Returns a finite number argument.
#[inline]
fn finite(arguments: Arguments<'_>, index: usize, argument: &'static str) -> Result<f64> {
    let number = arguments.double(index).unwrap_or(f64::NAN);
    if number.is_finite() {
        return Ok(number);
    }
    let what = if number.is_nan() { "is not a number" } else { "is infinite" };
    Err(Error::MetricArgument { argument, what })
}

#[inline]
fn weight(arguments: Arguments<'_>) -> Result<f64> {
    if arguments.len() <= WEIGHT {
        return Ok(1.0);
    }
    let weight = finite(arguments, WEIGHT, "weight")?;
    let what = match weight {
        0.0..=MAX_WEIGHT => return Ok(weight),
        _ if weight < 0.0 => "is negative",
        _ => "is too large",
    };
    Err(Error::MetricArgument { argument: "weight", what })
}

/// Returns whether the target is the second of two classes.
#[inline]
fn class(arguments: Arguments<'_>, class_type: ClassType) -> Result<bool> {
    let class = match class_type {
        ClassType::Boolean => arguments.boolean(TARGET),
        ClassType::Number => match arguments.double(TARGET) {
            Some(0.0) => Some(false),
            Some(1.0) => Some(true),
            _ => None,
        },
    };
    match class {
        Some(class) => Ok(class),
        None => Err(Error::MetricArgument { argument: "target", what: "is neither 0 nor 1" }),
    }
}

/// The transition function of the metrics of numbers.
#[inline]
pub(crate) fn add_error(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    let (state, sums) = sums::<7>(arguments, 0)?;
    let prediction = finite(arguments, PREDICTION, "prediction")?;
    let target = finite(arguments, TARGET, "target")?;
    sums::add_error(sums, prediction, target, weight(arguments)?);
    Ok(state)
}

/// The transition function of `logloss` and `brier`.
#[inline]
pub(crate) fn add_probability(arguments: Arguments<'_>, class_type: ClassType) -> Result<Datum> {
    let (state, sums) = sums::<3>(arguments, 0)?;
    let probability = probability(arguments.double(PREDICTION).unwrap_or(f64::NAN))?;
    let target = f64::from(u8::from(class(arguments, class_type)?));
    let log = sums::binary_log(target, probability);
    let apart = probability - target;
    sums::add_losses(sums, [log, apart * apart], weight(arguments)?);
    Ok(state)
}

fn probability(probability: f64) -> Result<f64> {
    let what = "is not between 0 and 1";
    let is_one = (0.0..=1.0).contains(&probability);
    if is_one {
        Ok(probability)
    } else {
        Err(Error::MetricArgument { argument: "probability", what })
    }
}

/// The transition function of `mlogloss`: the probabilities of all classes, and the number of the row's class.
pub(crate) fn add_probabilities(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    let (state, sums) = sums::<3>(arguments, 0)?;
    let argument = "array of probabilities";
    let what = "does not have one dimension without nulls";
    let probabilities = match arguments.reals(PREDICTION) {
        Some(([_], probabilities)) => probabilities,
        _ => return Err(Error::MetricArgument { argument, what }),
    };
    for one in probabilities {
        probability(f64::from(*one))?;
    }
    let class = arguments.integer(TARGET).and_then(|class| usize::try_from(class).ok());
    let Some(class) = class.filter(|class| *class < probabilities.len()) else {
        let what = "is not the number of a class, counted from 0";
        return Err(Error::MetricArgument { argument: "target", what });
    };
    let log = sums::class_log(class as f64, probabilities);
    sums::add_losses(sums, [log, 0.0], weight(arguments)?);
    Ok(state)
}

/// The transition function of `accuracy`, for classes of any type with an equality.
pub(crate) fn add_class(arguments: Arguments<'_>, state: CallState<'_>) -> Result<Datum> {
    let (sums_state, sums) = sums::<3>(arguments, 0)?;
    let equal = arguments
        .are_equal(PREDICTION, TARGET, state.kept::<Equality>())
        .ok_or(Error::NoEquality)?;
    sums::add_losses(sums, [f64::from(u8::from(equal)), 0.0], weight(arguments)?);
    Ok(sums_state)
}

pub(crate) fn combine_errors(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    let (state, sums) = sums::<7>(arguments, 0)?;
    let (_, others) = self::sums::<7>(arguments, 1)?;
    sums::combine_errors(sums, others);
    Ok(state)
}

pub(crate) fn combine_means(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    let (state, sums) = sums::<3>(arguments, 0)?;
    let (_, others) = self::sums::<3>(arguments, 1)?;
    sums::combine_means(sums, others);
    Ok(state)
}

/// The final function of a metric of numbers.
pub(crate) fn of_errors(arguments: Arguments<'_>, metric: Metric) -> Result<Datum> {
    let metric = metric(sums(arguments, 0)?.1);
    Ok(double(arguments, metric))
}

/// The final function of a metric that is a mean.
pub(crate) fn of_means(
    arguments: Arguments<'_>,
    metric: fn(&Means) -> Option<f64>,
) -> Result<Datum> {
    let metric = metric(sums(arguments, 0)?.1);
    Ok(double(arguments, metric))
}

fn double(arguments: Arguments<'_>, number: Option<f64>) -> Datum {
    number.map_or_else(|| arguments.null(), |number| Datum::from(number.to_bits()))
}

/// The state of `auc` and `aucpr`: the rows, and after the first final function both results.
#[derive(Default)]
pub(crate) struct Ranked {
    curve: Curve,
    areas: Option<Areas>,
}

impl Abandon for Ranked {
    fn abandon(self) {
        self.curve.abandon();
    }
}

/// The transition function of `auc` and `aucpr`.
#[inline]
pub(crate) fn add_score(arguments: Arguments<'_>, class_type: ClassType) -> Result<Datum> {
    // The function is not strict, since the aggregate's state may be NULL.
    let given = PREDICTION..arguments.len();
    let missing = given.into_iter().any(|index| arguments.get(index).is_none());
    if missing && arguments.get(0).is_none() {
        return Ok(arguments.null());
    }
    let (state, ranked) = arguments.state::<Ranked>().ok_or(Error::OutsideAggregate)?;
    if !missing {
        let score = finite(arguments, PREDICTION, "score")?;
        ranked.curve.add(0, score, class(arguments, class_type)?, weight(arguments)?)?;
    }
    Ok(state)
}

/// The final function of `auc` or `aucpr`.
pub(crate) fn of_ranked(
    arguments: Arguments<'_>,
    area: fn(&Areas) -> Option<f64>,
) -> Result<Datum> {
    if arguments.get(0).is_none() {
        return Ok(arguments.null());
    }
    let (_, ranked) = arguments.state::<Ranked>().ok_or(Error::OutsideAggregate)?;
    let areas = match ranked.areas {
        Some(areas) => areas,
        None => {
            let areas = std::mem::take(&mut ranked.curve).areas(1)?;
            *ranked.areas.insert(areas.first().copied().unwrap_or_default())
        }
    };
    Ok(double(arguments, area(&areas)))
}
