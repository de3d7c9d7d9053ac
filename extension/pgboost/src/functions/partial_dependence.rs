//! `partial_dependence`, the mean prediction for each value of a feature.

use gbtrees::internals::Task;
use pg_interface::FunctionCallInfo;
use pgrx::iter::TableIterator;
use pgrx::{Array, pg_extern};

use super::explanations::output_name;
use super::source_arguments::predictor;
use super::{Rows, at_least, optional_text, required, required_text};
use crate::error::{Error, Result, ShapeReason};
use crate::evaluation::dependence::{Average, Request, averages};
use crate::evaluation::grid::GridShape;
use crate::evaluation::predictions::SourcePredictor;

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
    let request = Request {
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
        Task::Multiclass if values != image.num_outputs() => Err(Error::Shape {
            model: predictor.model().to_owned(),
            function: "partial_dependence",
            reason: ShapeReason::NoProbabilities { several: false },
        }),
        Task::Binary if values == 1 => Ok(vec![output_name(image, 1)]),
        _ => Ok((0..values).map(|output| output_name(image, output)).collect()),
    }
}
