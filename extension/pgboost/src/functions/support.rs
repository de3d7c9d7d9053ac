//! The planner support functions: costs, the rows of a call, and which calls can be computed in batches.
//!
//! The cost of a prediction is in PostgreSQL's unit, the evaluation of one operator. The planner then tests
//! cheap conditions first and knows when a parallel plan pays. One split of one tree takes about a tenth of
//! the time of an operator, and reading the features about as long as one operator each; these figures are in
//! docs/dev/decisions.md.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use pg_interface::call::{Arguments, CallState};
use pg_interface::nodes::Expr;
use pg_interface::{Datum, FunctionCallInfo, Oid, fault, report};
use pgrx::{pg_guard, pg_sys};

use super::entry::{self, c_functions};
use crate::cache::{self, ModelImage};
use crate::error::Result;
use crate::predictor::batch::BatchFunction;
use crate::predictor::output::{Explanation, Output};
use crate::registry::pin;

c_functions! {
    pgboost_predict_support => |arguments, _state| support(arguments, |_| 1, prediction_cost),
    pgboost_batch_support =>
        |arguments, _state| support(arguments, rows_of_matrix, prediction_cost),
    pgboost_explain_support => |arguments, _state| support(arguments, |_| 1, explanation_cost),
    pgboost_pinned_support => pinned_support,
}

/// Answers the planner's requests about predictions and explanations: the rows of a call times the cost of one.
fn support(
    arguments: Arguments<'_>,
    rows: impl Fn(&[Expr<'_>]) -> usize,
    cost: impl Fn(&str, Oid) -> Option<f64>,
) -> Result<Datum> {
    let Some(request) = arguments.get(0) else { return Ok(arguments.null()) };
    let request: *mut pg_sys::Node = request.cast_mut_ptr();
    // SAFETY: PostgreSQL passes a node, whose tag says what it is; a cost request names the call.
    unsafe {
        if (*request).type_ != pg_sys::NodeTag::T_SupportRequestCost {
            return Ok(Datum::from(0));
        }
        let request: *mut pg_sys::SupportRequestCost = request.cast();
        let arguments = arguments_of((*request).node);
        let model = arguments.first().and_then(|model| model.constant_text());
        let cost = model.and_then(|model| cost(&model, (*request).funcid));
        let Some(cost) = cost else { return Ok(Datum::from(0)) };
        (*request).startup = 0.0;
        (*request).per_tuple = cost * rows(&arguments) as f64 * pg_sys::cpu_operator_cost;
        Ok(Datum::from(request))
    }
}

fn pinned_support(arguments: Arguments<'_>, _state: CallState<'_>) -> Result<Datum> {
    arguments.get(0).into_iter().for_each(keep_planned);
    support(arguments, |_| 1, prediction_cost)
}

/// Keeps the pin when a call of predict_pinned is planned, which may be stored afterwards. The planner announces
/// it by the request to simplify the call.
fn keep_planned(request: Datum) {
    let request: *mut pg_sys::Node = request.cast_mut_ptr();
    // SAFETY: as below; a request to simplify names the call.
    unsafe {
        if (*request).type_ != pg_sys::NodeTag::T_SupportRequestSimplify {
            return;
        }
        let call = (*request.cast::<pg_sys::SupportRequestSimplify>()).fcall;
        let model = arguments_of(call.cast()).first().and_then(|model| model.constant_text());
        if let Some(model) = model {
            pin::keep_planned((*call).funcid, &model);
        }
    }
}

/// Returns the arguments of a call; none of another node.
///
/// # Safety
/// The node is null, or an expression that lives as long as the planning.
unsafe fn arguments_of<'p>(call: *mut pg_sys::Node) -> Vec<Expr<'p>> {
    if call.is_null() {
        return Vec::new();
    }
    // SAFETY: guaranteed by the caller.
    let call = unsafe { Expr::new(call) }.as_call();
    call.map(|(_, arguments)| arguments).unwrap_or_default()
}

/// The rows of an unknown array, of which PostgreSQL expects as many elements.
const UNKNOWN_ROWS: usize = 10;

/// Returns the number of rows that a call of predict_batch predicts.
fn rows_of_matrix(arguments: &[Expr<'_>]) -> usize {
    arguments.get(1).and_then(|matrix| matrix.array_length()).unwrap_or(UNKNOWN_ROWS)
}

/// Returns a function of this library, if its calls can be computed in batches.
pub(crate) fn batched(function: Oid) -> Option<BatchFunction> {
    // Only functions of this library have its support functions, and PostgreSQL has called them, so
    // looking up the addresses loads no library.
    // SAFETY: returns an invalid OID for a node without a function.
    let support = unsafe { pg_sys::get_func_support(function) };
    if support == Oid::INVALID {
        return None;
    }
    let support = address(support)?;
    if support == pgboost_explain_support as *const () {
        return explained(function).map(BatchFunction::explaining);
    }
    if support == pgboost_pinned_support as *const () {
        return Some(BatchFunction::PINNED);
    }
    if support != pgboost_predict_support as *const () {
        return None;
    }
    let functions: [(*const (), Output); 5] = [
        (entry::pgboost_predict as *const (), Output::Value { function: "predict" }),
        (entry::pgboost_predict_array as *const (), Output::Array),
        (entry::pgboost_predict_margin as *const (), Output::Margin),
        (entry::pgboost_predict_class as *const (), Output::Class),
        (entry::pgboost_predict_proba as *const (), Output::Probabilities),
    ];
    found(function, &functions).map(BatchFunction::predicting)
}

/// Returns the kind of explanation of a function, if it is one that returns arrays of contributions.
fn explained(function: Oid) -> Option<Explanation> {
    let functions: [(*const (), Explanation); 2] = [
        (entry::pgboost_predict_contribs as *const (), Explanation::Contributions),
        (entry::pgboost_predict_interactions as *const (), Explanation::Interactions),
    ];
    found(function, &functions)
}

/// Finds the entry of the function's address.
fn found<T: Copy>(function: Oid, functions: &[(*const (), T)]) -> Option<T> {
    let address = address(function)?;
    functions.iter().find(|(known, _)| *known == address).map(|(_, found)| *found)
}

fn address(function: Oid) -> Option<*const ()> {
    let mut info = pg_sys::FmgrInfo::default();
    // SAFETY: the function exists.
    unsafe { pg_sys::fmgr_info(function, &mut info) };
    info.fn_addr.map(|function| function as *const ())
}

const CALL: f64 = 2.0;
const FEATURE: f64 = 0.3;
const SPLIT: f64 = 0.03;
/// The cost of explaining a split, in units of the cost of evaluating it.
const CONTRIBUTIONS_TIMES: f64 = 100.0;
const INTERACTIONS_TIMES: f64 = 400.0;

/// Returns the cost of one prediction, or `None` if the model cannot be used: then the error is left
/// for the execution.
fn prediction_cost(model: &str, function: Oid) -> Option<f64> {
    cost_of(model, function, |image| SPLIT * image.total_depth() as f64)
}

/// Returns the cost of one explanation, or `None` as above.
fn explanation_cost(model: &str, function: Oid) -> Option<f64> {
    let times = match explained(function) {
        Some(Explanation::Contributions) | None => CONTRIBUTIONS_TIMES,
        Some(Explanation::Interactions) => INTERACTIONS_TIMES,
    };
    cost_of(model, function, |image| times * SPLIT * image.total_depth() as f64)
}

fn cost_of(model: &str, function: Oid, trees: impl Fn(&ModelImage) -> f64) -> Option<f64> {
    let resolved = cache::resolve(model, function).ok()?;
    let image = resolved.image.model();
    Some(CALL + FEATURE * image.num_features() as f64 + trees(image))
}
