//! `predict_contribs` and its siblings: what each feature contributed to a row's margins.
//!
//! As with `predict`, one call is one row, and what the first call of a statement finds out is kept until
//! its end.

use pg_interface::Datum;
use pg_interface::call::{Arguments, CallState};

use super::predict::row;
use crate::error::Result;
use crate::predictor::explanation::Explanation;

/// `predict_contribs` and `predict_interactions`, by what they return.
pub fn explain(
    arguments: Arguments<'_>,
    state: CallState<'_>,
    explanation: Explanation,
) -> Result<Datum> {
    let Some(predictor) = row(arguments, state)? else { return Ok(arguments.null()) };
    let result = predictor.explanation(explanation)?;
    predictor.count_call();
    Ok(result.into_datum())
}
