//! Which predictions an expression holds, and which of them can be computed in batches.
//!
//! A call counts where PostgreSQL evaluates it whatever the row, or whenever one condition is true: in the
//! first branches of CASE, behind the first operand of COALESCE, AND or OR, or in the arguments of an
//! aggregate with FILTER. In other places it would be computed for rows that do not need it.

use pg_interface::nodes::Expr;
use pgrx::pg_sys::{BoolTestType, NodeTag};

use super::arguments::spread;
use super::error_safety::{ExprKind, is_made_of, kind, never_errors};
use crate::functions::entry;
use crate::predictor::batch::BatchFunction;

/// The function of a call, if it is one that can be computed in batches.
pub(crate) fn prediction(call: Expr<'_>) -> Option<BatchFunction> {
    let (function, _) = call.as_call()?;
    entry::batched(function)
}

/// Collects the calls of predict that an expression evaluates whatever the row.
pub(crate) fn unconditional_calls<'p>(expression: Expr<'p>, calls: &mut Vec<Expr<'p>>) {
    if kind(expression) == ExprKind::Calling && prediction(expression).is_some() {
        calls.push(expression);
    } else {
        let parts = parts_always_evaluated(expression).into_iter();
        parts.for_each(|part| unconditional_calls(part, calls));
    }
}

/// A call that is evaluated for the rows of which that condition is true.
#[derive(Clone, Copy)]
pub(crate) struct ConditionalCall<'p> {
    pub(crate) call: Expr<'p>,
    pub(crate) condition: Expr<'p>,
}

/// Collects the calls that an expression evaluates on one condition alone.
pub(crate) fn conditional_calls<'p>(expression: Expr<'p>, calls: &mut Vec<ConditionalCall<'p>>) {
    for (condition, part) in parts_on_condition(expression) {
        add_conditional(part, condition, calls);
    }
    let parts = parts_always_evaluated(expression).into_iter();
    parts.for_each(|part| conditional_calls(part, calls));
}

fn add_conditional<'p>(part: Expr<'p>, condition: Expr<'p>, calls: &mut Vec<ConditionalCall<'p>>) {
    let mut found = Vec::new();
    unconditional_calls(part, &mut found);
    calls.extend(found.into_iter().map(|call| ConditionalCall { call, condition }));
}

/// The parts that are evaluated if a condition is true, with the condition: what CASE gives first and, if it
/// has one condition, otherwise; and the second operand of AND, OR and COALESCE.
fn parts_on_condition(expression: Expr<'_>) -> Vec<(Expr<'_>, Expr<'_>)> {
    match expression.as_searched_case()[..] {
        [condition, result, default] => {
            let otherwise = condition.is(BoolTestType::IS_NOT_TRUE);
            return vec![(condition, result), (otherwise, default)];
        }
        [condition, result, ..] => return vec![(condition, result)],
        _ => {}
    }
    let [first, second, ..] = expression.operands()[..] else { return Vec::new() };
    let condition = match expression.tag() {
        NodeTag::T_CoalesceExpr => first.is_null(),
        _ if expression.is_or() => first.is(BoolTestType::IS_NOT_TRUE),
        _ => first.is(BoolTestType::IS_NOT_FALSE),
    };
    vec![(condition, second)]
}

/// The parts that are evaluated whenever the expression is, for the same row.
fn parts_always_evaluated(expression: Expr<'_>) -> Vec<Expr<'_>> {
    match kind(expression) {
        ExprKind::Branching => first_part(expression).into_iter().collect(),
        ExprKind::Plain | ExprKind::Calling | ExprKind::Failing => expression.children(),
        _ => Vec::new(),
    }
}

/// What is evaluated first: the first operand of AND, OR and COALESCE, and what CASE looks at before
/// it chooses.
fn first_part(expression: Expr<'_>) -> Option<Expr<'_>> {
    let first = expression.children().into_iter().next()?;
    let is_list = first.tag() == NodeTag::T_List;
    if is_list { first.children().into_iter().next() } else { Some(first) }
}

pub(crate) fn predicts(expression: Expr<'_>) -> bool {
    prediction(expression).is_some() || expression.children().into_iter().any(predicts)
}

/// Whether an expression predicts by what an index can hold.
pub(crate) fn predicts_pinned(expression: Expr<'_>) -> bool {
    prediction(expression).is_some_and(|function| function.pinned)
        || expression.children().into_iter().any(predicts_pinned)
}

/// Collects the calls that aggregates and window functions evaluate for every row.
pub(crate) fn aggregated_calls<'p>(expression: Expr<'p>, calls: &mut Vec<Expr<'p>>) {
    if kind(expression) != ExprKind::Aggregate {
        expression.children().into_iter().for_each(|part| aggregated_calls(part, calls));
        return;
    }
    // FILTER's condition comes before the arguments.
    let evaluated = match expression.as_aggregate() {
        (_, Some(filter)) => vec![filter],
        (arguments, None) => arguments,
    };
    evaluated.into_iter().for_each(|part| unconditional_calls(part, calls));
}

/// Collects the calls that aggregates and window functions evaluate on one condition alone: that of FILTER,
/// or one in their arguments.
pub(crate) fn aggregated_conditional_calls<'p>(
    expression: Expr<'p>,
    calls: &mut Vec<ConditionalCall<'p>>,
) {
    if kind(expression) != ExprKind::Aggregate {
        let parts = expression.children().into_iter();
        parts.for_each(|part| aggregated_conditional_calls(part, calls));
        return;
    }
    let (arguments, filter) = expression.as_aggregate();
    for argument in arguments {
        match filter {
            Some(filter) => add_conditional(argument, filter, calls),
            None => conditional_calls(argument, calls),
        }
    }
}

/// How often an expression has a call in it.
pub(crate) fn occurrences(expression: Expr<'_>, call: Expr<'_>) -> usize {
    if expression.is_same_as(call) {
        return 1;
    }
    expression.children().into_iter().map(|part| occurrences(part, call)).sum()
}

/// Collects the calls that an output evaluates for every row from which it makes a set, or a value.
pub(crate) fn calls_for_sets<'p>(output: Expr<'p>, calls: &mut Vec<Expr<'p>>) {
    if output.returns_set() {
        output.children().into_iter().for_each(|argument| calls_for_sets(argument, calls));
    } else {
        unconditional_calls(output, calls);
    }
}

/// What an aggregation or a step of window functions must return for these expressions to be computed above
/// it: what it gets from below, and what it computes itself. Nothing if that is not enough.
pub(crate) fn returned_for<'p>(
    expressions: &[Expr<'p>],
    below: &[Expr<'p>],
) -> Option<Vec<Expr<'p>>> {
    fn collect<'p>(
        expression: Expr<'p>,
        below: &[Expr<'p>],
        returned: &mut Vec<Expr<'p>>,
    ) -> Option<()> {
        let is_given = || below.iter().any(|output| output.is_same_as(expression));
        match kind(expression) {
            ExprKind::Constant | ExprKind::Parameter => {}
            ExprKind::Aggregate => returned.push(expression),
            _ if is_given() => returned.push(expression),
            ExprKind::Column | ExprKind::Placeholder | ExprKind::Other => return None,
            _ => {
                for part in expression.children() {
                    collect(part, below, returned)?;
                }
            }
        }
        Some(())
    }
    let mut returned = Vec::new();
    for expression in expressions {
        collect(*expression, below, &mut returned)?;
    }
    Some(distinct(returned))
}

/// Collects the columns that an expression names outside of these calls.
pub(crate) fn columns_beside<'p>(
    expression: Expr<'p>,
    calls: &[Expr<'p>],
    columns: &mut Vec<Expr<'p>>,
) {
    if kind(expression) == ExprKind::Column {
        columns.push(expression);
    } else if !calls.iter().any(|call| call.is_same_as(expression)) {
        let parts = expression.children().into_iter();
        parts.for_each(|part| columns_beside(part, calls, columns));
    }
}

/// The columns that expressions name, each once.
pub(crate) fn columns_of<'p>(expressions: &[Expr<'p>]) -> Vec<Expr<'p>> {
    let mut columns = Vec::new();
    expressions.iter().for_each(|expression| columns_beside(*expression, &[], &mut columns));
    distinct(columns)
}

pub(crate) fn distinct(expressions: Vec<Expr<'_>>) -> Vec<Expr<'_>> {
    expressions.into_iter().fold(Vec::new(), |mut distinct: Vec<Expr<'_>>, expression| {
        if !distinct.iter().any(|known| known.is_same_as(expression)) {
            distinct.push(expression);
        }
        distinct
    })
}

/// Whether the model is named by a constant or by columns, and that name and the features can be had
/// from these inputs.
pub(crate) fn can_batch(call: Expr<'_>, inputs: &[Expr<'_>]) -> bool {
    let Some((_, arguments)) = call.as_call() else { return false };
    let Some((model, features)) = arguments.split_first() else { return false };
    let can_read = |argument: &Expr<'_>| !argument.is_volatile() && is_made_of(*argument, inputs);
    let by_column = || {
        let is_pinned = prediction(call).is_some_and(|function| function.pinned);
        !is_pinned && !columns_of(&[*model]).is_empty() && can_read(model)
    };
    let named = model.constant_text().is_some() || by_column();
    named && features.iter().all(can_read)
}

/// Whether the arguments of these calls can be had of every row.
pub(crate) fn arguments_never_error(calls: &[Expr<'_>]) -> bool {
    let arguments = calls.iter().flat_map(|call| varying_arguments(*call));
    arguments.flat_map(spread).all(never_errors)
}

/// A call's arguments that differ from row to row: features, and the model's name.
pub(crate) fn varying_arguments(call: Expr<'_>) -> impl Iterator<Item = Expr<'_>> {
    let arguments = call.as_call().map(|(_, arguments)| arguments).unwrap_or_default();
    arguments.into_iter().filter(|argument| kind(*argument) != ExprKind::Constant)
}
