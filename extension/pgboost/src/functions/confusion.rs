//! `confusion_matrix`: how many rows of each class a model gives which class.

use pg_interface::{ErrorReport, FunctionCallInfo};
use pgrx::iter::TableIterator;
use pgrx::{name, pg_extern};

use super::evaluate::{Texts, predictor};
use crate::error::{Error, ShapeReason};
use crate::evaluation::confusion::{CELL_BYTES, Confusion};
use crate::evaluation::rows;
use crate::evaluation::task::Task;

/// `confusion_matrix(model, source, target, weight, slice_by)
/// -> table(slice, actual, predicted, rows, total_weight)`
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity, reason = "pgrx reads the row's columns from this type")]
fn pgboost_confusion_matrix(
    model: Option<&[u8]>,
    source: Option<&[u8]>,
    target: Option<&[u8]>,
    weight: Option<&[u8]>,
    slice_by: Option<&[u8]>,
    call: FunctionCallInfo,
) -> std::result::Result<
    TableIterator<
        'static,
        (
            name!(slice, Option<String>),
            name!(actual, String),
            name!(predicted, String),
            name!(rows, i64),
            name!(total_weight, f64),
        ),
    >,
    ErrorReport,
> {
    const FUNCTION: &str = "confusion_matrix";
    let (predictor, registry) = predictor(model, "model", call)?;
    let request = Texts { source, target, weight, by: slice_by, group: None }.request()?;
    let task = Task::of(&predictor, &registry, None, FUNCTION)?;
    if task.classes() == 0 {
        let (model, reason) = (predictor.model().to_owned(), ShapeReason::NoClasses);
        return Err(Error::Shape { model, function: FUNCTION, reason }.into());
    }
    let image = predictor.image();
    let label = |class: usize| image.label(class).map_or_else(|| class.to_string(), str::to_owned);
    let labels: Vec<String> = (0..task.classes()).map(label).collect();
    let mut confusion = Confusion::default();
    let parts =
        rows::each(&mut [predictor], &task, CELL_BYTES, &request, &mut |rows, predictors| {
            let predictions =
                predictors.iter().flat_map(|predictor| predictor.predictions().iter());
            let mut both = rows.iter().zip(predictions);
            both.try_for_each(|(row, prediction)| confusion.add(row, prediction))
        })?;
    // One by one, since there are as many as parts times classes times classes.
    let classes = labels.len();
    let cells = (0..parts.len() * classes * classes).map(move |index| {
        let (part, actual, predicted) =
            (index / classes / classes, index / classes % classes, index % classes);
        let cell = confusion.cell(part as u32, actual as u32, predicted as u32);
        let label = |class: usize| labels.get(class).cloned().unwrap_or_default();
        let part = parts.get(part).cloned().flatten();
        (part, label(actual), label(predicted), cell.rows, cell.weight)
    });
    Ok(TableIterator::new(cells))
}
