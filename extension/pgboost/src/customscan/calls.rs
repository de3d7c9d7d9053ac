//! Finds the predictions in expressions, and those that can be computed in batches.
//!
//! A call counts if PostgreSQL evaluates it for every row, or whenever one condition is true: in the
//! first branches of CASE, behind the first operand of COALESCE, AND or OR, or in the arguments of an
//! aggregate with FILTER. In other places a batch would compute it for rows that do not need it.

use pg_interface::nodes::Expr;
use pgrx::pg_sys::{BoolTestType, NodeTag};

use super::arguments::spread;
use super::error_safety::{ExprKind, is_made_of, kind, never_errors};
use crate::functions::support;
use crate::predictor::batch::BatchFunction;

/// Returns the function of a call, if it can be computed in batches.
pub(crate) fn prediction(call: Expr<'_>) -> Option<BatchFunction> {
    support::batched(call.called_function()?)
}

/// A call that is evaluated for the rows that meet a condition.
#[derive(Clone, Copy)]
pub(crate) struct ConditionalCall<'p> {
    pub(crate) call: Expr<'p>,
    pub(crate) condition: Expr<'p>,
}

/// The calls of predict that expressions evaluate.
#[derive(Default)]
pub(crate) struct Calls<'p> {
    /// The calls that are evaluated for every row.
    pub(crate) always: Vec<Expr<'p>>,
    /// The calls that are evaluated on one condition alone.
    pub(crate) conditional: Vec<ConditionalCall<'p>>,
}

impl<'p> Calls<'p> {
    /// Adds the calls of an expression.
    pub(crate) fn add(&mut self, expression: Expr<'p>) {
        if kind(expression) == ExprKind::Calling && prediction(expression).is_some() {
            self.always.push(expression);
            return;
        }
        parts_always_evaluated(expression).into_iter().for_each(|part| self.add(part));
        for (tested, condition, part) in parts_on_condition(expression) {
            self.add_conditional(part, || condition(tested));
        }
    }

    fn add_conditional(&mut self, part: Expr<'p>, condition: impl FnOnce() -> Expr<'p>) {
        let mut found = Calls::default();
        found.add(part);
        if !found.always.is_empty() {
            let condition = condition();
            let calls = found.always.into_iter();
            self.conditional.extend(calls.map(|call| ConditionalCall { call, condition }));
        }
    }

    /// Adds the calls that an expression's aggregates and window functions evaluate.
    pub(crate) fn add_aggregated(&mut self, expression: Expr<'p>) {
        if kind(expression) != ExprKind::Aggregate {
            expression.children().into_iter().for_each(|part| self.add_aggregated(part));
            return;
        }
        let (arguments, filter) = expression.as_aggregate();
        // FILTER's condition is evaluated before the arguments.
        filter.into_iter().for_each(|filter| self.add(filter));
        for argument in arguments {
            match filter {
                Some(filter) => self.add_conditional(argument, || filter),
                None => self.add(argument),
            }
        }
    }

    /// Adds the calls that an output evaluates once for every input row, also if it returns a set.
    pub(crate) fn add_for_sets(&mut self, output: Expr<'p>) {
        if output.returns_set() {
            output.children().into_iter().for_each(|argument| self.add_for_sets(argument));
        } else {
            self.add(output);
        }
    }
}

/// A tested expression, the condition made of it, and the part that is evaluated if that is true.
type PartOnCondition<'p> = (Expr<'p>, fn(Expr<'p>) -> Expr<'p>, Expr<'p>);

/// Returns CASE's first result, and with a single condition its ELSE, or the second operand of AND, OR and
/// COALESCE.
fn parts_on_condition<'p>(expression: Expr<'p>) -> Vec<PartOnCondition<'p>> {
    let is_not_true = |tested: Expr<'p>| tested.is(BoolTestType::IS_NOT_TRUE);
    let is_not_false = |tested: Expr<'p>| tested.is(BoolTestType::IS_NOT_FALSE);
    match expression.as_searched_case()[..] {
        [tested, result, default] => {
            return vec![(tested, |tested| tested, result), (tested, is_not_true, default)];
        }
        [tested, result, ..] => return vec![(tested, |tested| tested, result)],
        _ => {}
    }
    match expression.operands()[..] {
        [first, second, ..] if expression.tag() == NodeTag::T_CoalesceExpr => {
            vec![(first, Expr::is_null, second)]
        }
        [first, second, ..] if expression.is_or() => vec![(first, is_not_true, second)],
        [first, second, ..] => vec![(first, is_not_false, second)],
        _ => Vec::new(),
    }
}

/// Returns the parts that are evaluated whenever the expression is, for the same row.
fn parts_always_evaluated(expression: Expr<'_>) -> Vec<Expr<'_>> {
    match kind(expression) {
        ExprKind::Branching => first_part(expression).into_iter().collect(),
        ExprKind::Plain | ExprKind::Calling | ExprKind::Failing => expression.children(),
        _ => Vec::new(),
    }
}

/// Returns the part that is evaluated first: the first operand of AND, OR and COALESCE, and CASE's
/// argument or first condition.
fn first_part(expression: Expr<'_>) -> Option<Expr<'_>> {
    let operands = expression.operands().into_iter().next();
    operands.or_else(|| expression.children().into_iter().next())
}

pub(crate) fn predicts(expression: Expr<'_>) -> bool {
    expression.contains(|part| prediction(part).is_some())
}

/// Returns whether an expression predicts by a function that an index can have.
pub(crate) fn predicts_pinned(expression: Expr<'_>) -> bool {
    expression.contains(|part| prediction(part).is_some_and(|function| function.pinned))
}

/// Counts the occurrences of a call in an expression.
pub(crate) fn occurrences(expression: Expr<'_>, call: Expr<'_>) -> usize {
    if expression.is_same_as(call) {
        return 1;
    }
    expression.children().into_iter().map(|part| occurrences(part, call)).sum()
}

/// Returns whether a call stands in an expression other than in what its aggregates evaluate for each row.
pub(crate) fn stands_outside_aggregates(expression: Expr<'_>, call: Expr<'_>) -> bool {
    if kind(expression) != ExprKind::Aggregate {
        let in_parts =
            || expression.children().into_iter().any(|it| stands_outside_aggregates(it, call));
        return expression.is_same_as(call) || in_parts();
    }
    let (arguments, filter) = expression.as_aggregate();
    let of_rows = arguments.into_iter().chain(filter).map(|it| occurrences(it, call)).sum();
    occurrences(expression, call) > of_rows
}

/// Returns the columns that an aggregation or a step of window functions must return for these expressions to be
/// computed above it: inputs, and results of the functions that it evaluates. Returns `None` if those are not enough.
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

/// Collects the columns of an expression outside of these calls.
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

/// Returns the columns in expressions, each once.
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

/// Returns whether the model is named by a constant or by columns, and the name and the features can be computed
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

/// Returns whether evaluating the arguments of these calls fails for no row.
pub(crate) fn arguments_never_error(calls: &[Expr<'_>]) -> bool {
    let arguments = calls.iter().flat_map(|call| varying_arguments(*call));
    arguments.flat_map(spread).all(never_errors)
}

/// Returns a call's arguments that vary from row to row: features, and the model's name.
pub(crate) fn varying_arguments(call: Expr<'_>) -> impl Iterator<Item = Expr<'_>> {
    let arguments = call.as_call().map(|(_, arguments)| arguments).unwrap_or_default();
    arguments.into_iter().filter(|argument| kind(*argument) != ExprKind::Constant)
}
