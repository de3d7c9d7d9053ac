//! `predict` and its siblings: one call is one row.
//!
//! The first call of a statement prepares its state: the image, the readers of the arguments, and the buffers.
//! Every further call checks that nothing has changed, reads the features, walks the trees and returns the
//! result. It takes no lock, and with features of fixed width and one value as the result it neither allocates
//! nor calls a function that could raise an error.

use pg_interface::call::{Arguments, CallState};
use pg_interface::{Datum, array, catalog};

use crate::error::{Error, Result};
use crate::predictor::matrix;
use crate::predictor::output::Output;
use crate::predictor::single_row::{Predictor, RecentPredictors};

/// Returns the statement's predictor with the features of this call read, or `None` for a NULL model.
#[inline]
pub(super) fn row<'c>(
    arguments: Arguments<'c>,
    state: CallState<'c>,
) -> Result<Option<&'c mut Predictor>> {
    let Some(model) = arguments.first_text() else { return Ok(None) };
    let predictors = state.kept::<RecentPredictors>();
    let predictor = predictors.of(arguments, &model)?;
    predictor.read_features(arguments)?;
    Ok(Some(predictor))
}

/// Computes `predict`, `predict_array`, `predict_margin` or `predict_class`.
#[inline]
pub(crate) fn predict(
    arguments: Arguments<'_>,
    state: CallState<'_>,
    output: Output,
) -> Result<Datum> {
    let Some(predictor) = row(arguments, state)? else { return Ok(arguments.null()) };
    result(predictor, output)
}

/// `predict_pinned`: as `predict`, for a pinned version that the statement names by a constant or a parameter.
/// Other expressions are refused, since a stored one could not be found as a dependent of the version.
pub(crate) fn predict_pinned(arguments: Arguments<'_>, state: CallState<'_>) -> Result<Datum> {
    let Some(model) = arguments.first_text() else { return Ok(arguments.null()) };
    if !arguments.first_is_fixed() {
        return Err(Error::PinnedNotConstant);
    }
    let predictor = state.kept::<RecentPredictors>().of(arguments, &model)?;
    predictor.require_immutable(arguments.function())?;
    predictor.read_features(arguments)?;
    result(predictor, Output::Value { function: "predict_pinned" })
}

#[inline]
fn result(predictor: &mut Predictor, output: Output) -> Result<Datum> {
    let result = predictor.with_margins(|predictor, margins| output.of_row(predictor, margins))?;
    predictor.count_call();
    result
}

/// `predict_from`: the second argument is the start of the row's sum, a margin.
pub(crate) fn predict_from(arguments: Arguments<'_>, state: CallState<'_>) -> Result<Datum> {
    let (arguments, base_margin) = arguments.take_second();
    let Some(base_margin) = base_margin else { return Ok(arguments.null()) };
    let Some(predictor) = row(arguments, state)? else { return Ok(arguments.null()) };
    if !predictor.image().takes_base_margins() {
        return Err(Error::NoBaseMargin { model: predictor.model().to_owned() });
    }
    let output = Output::Value { function: "predict_from" };
    let result = predictor
        .with_margins_from(base_margin, |predictor, margins| output.of_row(predictor, margins))?;
    predictor.count_call();
    result
}

/// `predict_batch`: predicts the rows of an array.
pub(crate) fn predict_batch(arguments: Arguments<'_>, state: CallState<'_>) -> Result<Datum> {
    let Some(model) = arguments.first_text() else { return Ok(arguments.null()) };
    let matrix = arguments
        .numbers(1)
        .map_err(|declared| Error::ArrayType { type_name: catalog::type_name(declared) })?;
    let predictor = state.kept::<RecentPredictors>().of(arguments, &model)?;
    match matrix {
        Some(matrix) => matrix::predictions(predictor, arguments, matrix),
        None => Ok(arguments.null()),
    }
}

/// `predict_leaf`: the id of the row's leaf in each tree.
pub(crate) fn predict_leaf(arguments: Arguments<'_>, state: CallState<'_>) -> Result<Datum> {
    let Some(predictor) = row(arguments, state)? else { return Ok(arguments.null()) };
    let leaves = array::integer_array(predictor.leaves()?);
    predictor.count_call();
    Ok(leaves)
}
