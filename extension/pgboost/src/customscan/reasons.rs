//! DEBUG1 messages with the reasons why calls of a planned query are not computed in batches.
//!
//! The reasons are found after the level is planned, so that the placement need not record them.

use pg_interface::nodes::{Expr, function_name, is_volatile_function};
use pg_interface::report;
use pgrx::pg_sys::NodeTag;

use super::calls::{Calls, columns_of, prediction, varying_arguments};
use super::error_safety::{ExprKind, kind, never_errors};
use super::level::QueryLevel;
use crate::guc;

/// Reports the reason for each call of a level that is not among the batched ones.
pub(crate) fn tell(level: &QueryLevel<'_>, few: bool, batched: &[Expr<'_>]) {
    let (expressions, of_functions) = level.expressions();
    let is_batched = |call: &Expr<'_>| batched.iter().any(|other| other.is_same_as(*call));
    for call in of_functions.iter().flat_map(|function| calls_in(*function)) {
        if !is_batched(&call) {
            say(call, "PostgreSQL calls a function in FROM for one row at a time");
        }
    }
    let mut calls = Calls::default();
    for whole in expressions.iter().flat_map(|expression| wholes(*expression)) {
        calls.add(whole);
        calls.add_aggregated(whole);
        calls.add_for_sets(whole);
    }
    for call in expressions.iter().flat_map(|expression| calls_in(*expression)) {
        if !is_batched(&call) {
            let is_always = || calls.always.iter().any(|other| other.is_same_as(call));
            say(call, &of_level(level, few).unwrap_or_else(|| of_call(level, call, is_always)));
        }
    }
}

/// Returns the outputs and conditions in a list or a join tree.
fn wholes(expression: Expr<'_>) -> Vec<Expr<'_>> {
    match expression.tag() {
        NodeTag::T_List | NodeTag::T_TargetEntry | NodeTag::T_FromExpr | NodeTag::T_JoinExpr => {
            expression.children().into_iter().flat_map(wholes).collect()
        }
        _ => vec![expression],
    }
}

fn say(call: Expr<'_>, reason: &str) {
    let name = call.as_call().map(|(function, _)| function_name(function)).unwrap_or_default();
    report::debug(&format!("{name} is not computed in batches: {reason}"));
}

fn of_level(level: &QueryLevel<'_>, few: bool) -> Option<String> {
    if !guc::batch() {
        Some("pgboost.enable_batch is off".to_owned())
    } else if level.may_reevaluate_rows() {
        Some("the statement may evaluate a row again".to_owned())
    } else {
        few.then(|| "LIMIT asks for few rows".to_owned())
    }
}

fn of_call(level: &QueryLevel<'_>, call: Expr<'_>, is_always: impl FnOnce() -> bool) -> String {
    let arguments = call.as_call().map(|(_, arguments)| arguments).unwrap_or_default();
    let model = arguments.first();
    if model.is_some_and(|it| it.constant_text().is_none() && columns_of(&[*it]).is_empty()) {
        return "the model is named neither by a constant nor by columns".to_owned();
    }
    if let Some(function) = arguments.iter().find_map(|argument| volatile_function(*argument)) {
        return format!("{function} is volatile");
    }
    if !is_always() {
        return "it is not evaluated for every row".to_owned();
    }
    let failing = varying_arguments(call).find_map(what_can_fail);
    let failing = failing.unwrap_or_else(|| "a condition or its input".to_owned());
    if !level.has_no_effects() {
        return format!("{failing} can fail, and the statement calls volatile functions");
    }
    if level.has_limit() {
        return format!("{failing} can fail, and LIMIT may leave rows unread");
    }
    "no step of the plan has its arguments for at least 64 rows".to_owned()
}

fn calls_in<'p>(expression: Expr<'p>) -> Vec<Expr<'p>> {
    let mut calls = Vec::new();
    every_part(&[expression], &mut |part| {
        if prediction(part).is_some() {
            calls.push(part);
        }
    });
    calls
}

/// Visits expressions and all of their parts.
fn every_part<'p>(expressions: &[Expr<'p>], visit: &mut impl FnMut(Expr<'p>)) {
    for expression in expressions {
        visit(*expression);
        every_part(&expression.children(), visit);
    }
}

fn volatile_function(expression: Expr<'_>) -> Option<String> {
    let mut functions = expression.functions().into_iter();
    let of_node = functions.find(|function| is_volatile_function(*function)).map(function_name);
    of_node.or_else(|| expression.children().into_iter().find_map(volatile_function))
}

/// Describes the part of an expression that can fail: a function, a subquery, or another part.
fn what_can_fail(expression: Expr<'_>) -> Option<String> {
    if never_errors(expression) {
        return None;
    }
    let of_part = expression.children().into_iter().find_map(what_can_fail);
    of_part.or_else(|| {
        let function = expression.functions().first().map(|function| function_name(*function));
        let other =
            if kind(expression) == ExprKind::Subquery { "a subquery" } else { "a conversion" };
        Some(function.unwrap_or_else(|| other.to_owned()))
    })
}
