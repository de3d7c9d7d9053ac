//! The effects of features: `partial_dependence`, the mean prediction for each value of a feature, and
//! `permutation_importance`, how much worse a metric is without a feature's order.

use gbtrees::internals::Task as ModelTask;
use pg_interface::FunctionCallInfo;
use pgrx::iter::TableIterator;
use pgrx::{Array, pg_extern};

use super::explanations::output_name;
use super::source_arguments::{Texts, check_groups, levels, predictor};
use super::{Rows, at_least, optional_text, required, required_text};
use crate::error::{Error, Result, ShapeReason};
use crate::evaluation::dependence::{self, Average, averages};
use crate::evaluation::grid::GridShape;
use crate::evaluation::permutation::{self, Importance, importances};
use crate::evaluation::predictions::SourcePredictor;
use crate::evaluation::target::Task;

type Averaged = (String, Option<String>, Option<String>, Option<f64>);

/// `partial_dependence(model, source, feature, second_feature, points, percentiles, weight)
/// -> table(output, value, second_value, average)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn pgboost_partial_dependence(
    model: Option<&[u8]>,
    source: Option<&[u8]>,
    feature: Option<&[u8]>,
    second_feature: Option<&[u8]>,
    points: Option<i32>,
    percentiles: Option<Array<'_, f64>>,
    weight: Option<&[u8]>,
    call: FunctionCallInfo,
) -> Rows<Averaged> {
    let (predictor, _) = predictor(model, "model", call)?;
    let first = required_text(feature, "feature")?;
    let features = [Some(first), optional_text(second_feature, "second_feature")?];
    let features: Vec<&str> = features.into_iter().flatten().collect();
    let request = dependence::Request {
        source: required_text(source, "source")?,
        features: &features,
        weight: optional_text(weight, "weight")?,
        shape: GridShape {
            points: at_least(2, points, "points")?,
            percentiles: checked(required(percentiles, "percentiles")?)?,
        },
    };
    let names = output_names(&predictor)?;
    let rows = averages(predictor, &request)?.map(move |row| {
        let Average { output, values, average } = row;
        let mut values = values.into_iter();
        let output = names.get(output).cloned().unwrap_or_default();
        (output, values.next().flatten(), values.next().flatten(), average)
    });
    Ok(TableIterator::new(rows))
}

fn checked(percentiles: Array<'_, f64>) -> Result<[f64; 2]> {
    let given: Option<Vec<f64>> = percentiles.iter().collect();
    match given.as_deref() {
        Some([low, high]) if 0.0 <= *low && low < high && *high <= 1.0 => Ok([*low, *high]),
        _ => Err(Error::Percentiles),
    }
}

/// Returns the names of the outputs, as for `explain_prediction`; the value for two classes is the second's.
fn output_names(predictor: &SourcePredictor) -> Result<Vec<String>> {
    let image = predictor.image();
    let values = image.num_values();
    match image.task() {
        ModelTask::Multiclass if values != image.num_outputs() => Err(Error::Shape {
            model: predictor.model().to_owned(),
            function: "partial_dependence",
            reason: ShapeReason::NoProbabilities { several: values > 1, classes: true },
        }),
        ModelTask::Binary if values == 1 => Ok(vec![output_name(image, 1)]),
        _ => Ok((0..values).map(|output| output_name(image, output)).collect()),
    }
}

/// `permutation_importance(model, source, target, metric, repeats, weight, qid, quantile_alpha, seed)
/// -> table(feature, importance, stddev)`
#[pg_extern(sql = false)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the SQL function")]
fn pgboost_permutation_importance(
    model: Option<&[u8]>,
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    metric: Option<&[u8]>,
    repeats: Option<i32>,
    weight: Option<&[u8]>,
    qid: Option<&[u8]>,
    quantile_alpha: Option<Array<'_, f64>>,
    seed: Option<i32>,
    call: FunctionCallInfo,
) -> Rows<(String, Option<f64>, Option<f64>)> {
    let (predictor, registry) = predictor(model, "model", call)?;
    let request = permutation::Request {
        rows: Texts { source, target, weight, by: None, group: qid }.request()?,
        metric: optional_text(metric, "metric")?,
        repeats: at_least(1, repeats, "repeats")?,
        seed: u64::from(required(seed, "seed")?.cast_unsigned()),
    };
    let levels = levels(quantile_alpha)?;
    let task = Task::of(&predictor, &registry, levels, "permutation_importance")?;
    check_groups(&task, &request.rows, "Leave it out for other models.")?;
    let rows = importances(predictor, &task, &request)?.into_iter();
    Ok(TableIterator::new(
        rows.map(|Importance { feature, mean, deviation }| (feature, mean, deviation)),
    ))
}
