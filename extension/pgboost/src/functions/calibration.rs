//! `calibration_curve`: predictions compared with targets, in bins of equal numbers of rows.

use pg_interface::{ErrorReport, FunctionCallInfo};
use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern};

use super::evaluate::{Texts, predictor};
use crate::error::Error;
use crate::evaluation::calibration::Calibration;
use crate::evaluation::rows;
use crate::evaluation::task::Task;

/// Most bins.
const MAX_BINS: i32 = 1000;

/// `calibration_curve(model, source, target, weight, slice_by, bins)
/// -> table(slice, bin, rows, predicted, actual)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
fn pgboost_calibration_curve(
    model: Option<&[u8]>,
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    weight: Option<&[u8]>,
    slice_by: Option<&[u8]>,
    bins: Option<i32>,
    call: FunctionCallInfo,
) -> std::result::Result<
    TableIterator<
        'static,
        (
            name!(slice, Option<String>),
            name!(bin, i32),
            name!(rows, i64),
            name!(predicted, Option<f64>),
            name!(actual, Option<f64>),
        ),
    >,
    ErrorReport,
> {
    const FUNCTION: &str = "calibration_curve";
    let (predictor, registry) = predictor(model, "model", call)?;
    let request = Texts { source, target, weight, by: slice_by, group: None }.request()?;
    let bins = bins.ok_or(Error::NullArgument { argument: "bins" })?;
    if !(1..=MAX_BINS).contains(&bins) {
        return Err(Error::EvaluationArgument {
            message: "bins must be between 1 and 1000",
            hint: "Ten bins are deciles.",
        }
        .into());
    }
    let task = Task::of(&predictor, &registry, None, FUNCTION)?;
    if !matches!(task, Task::Number | Task::Binary { probability: true }) {
        return Err(Error::EvaluationArgument {
            message: "calibration_curve needs a model of one probability or one number",
            hint: "Use evaluate_model or confusion_matrix.",
        }
        .into());
    }
    let mut calibration = Calibration::new(usize::try_from(bins).unwrap_or(1));
    let parts = rows::each(&mut [predictor], &task, 0, &request, &mut |rows, predictors| {
        let predictions = predictors.iter().flat_map(|predictor| predictor.predictions().iter());
        let mut both = rows.iter().zip(predictions);
        both.try_for_each(|(row, prediction)| calibration.add(row, prediction.value()))
    })?;
    let mean = |value: f64| (!value.is_nan()).then_some(value);
    let rows = calibration.bins()?.into_iter().map(move |bin| {
        let part = parts.get(bin.part as usize).cloned().flatten();
        (part, bin.number, bin.rows, mean(bin.predicted), mean(bin.actual))
    });
    Ok(TableIterator::new(rows))
}
