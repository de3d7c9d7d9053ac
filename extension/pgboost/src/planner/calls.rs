//! Which predictions an expression holds, and which of them can be computed in batches.
//!
//! A call counts where PostgreSQL evaluates it whatever the row: not in a branch of CASE, nor behind
//! the first operand of COALESCE, AND or OR, nor in an aggregate's arguments behind FILTER. In other
//! places it would be computed for rows that do not need it.

use crate::pg::batch::path;
use crate::pg::expressions::{Expr, ExprKind};
use crate::planner::read_ahead::may_evaluate_ahead;

/// Collects the calls of predict that an expression evaluates whatever the row.
pub fn unconditional_calls(expression: Expr, calls: &mut Vec<Expr>) {
    if expression.kind() == ExprKind::Calling && path::prediction(expression).is_some() {
        calls.push(expression);
    } else {
        let parts = expression.parts_always_evaluated().into_iter();
        parts.for_each(|part| unconditional_calls(part, calls));
    }
}

/// Whether there is a call of predict anywhere in an expression.
pub fn predicts(expression: Expr) -> bool {
    path::prediction(expression).is_some() || expression.parts().into_iter().any(predicts)
}

/// Collects the calls that aggregates evaluate for every row.
pub fn aggregated_calls(expression: Expr, calls: &mut Vec<Expr>) {
    if expression.kind() == ExprKind::Aggregate {
        unconditional_calls(expression, calls);
    } else {
        expression.parts().into_iter().for_each(|part| aggregated_calls(part, calls));
    }
}

/// Collects the columns that an expression names outside of these calls.
pub fn columns_beside(expression: Expr, calls: &[Expr], columns: &mut Vec<Expr>) {
    if expression.kind() == ExprKind::Column {
        columns.push(expression);
    } else if !calls.iter().any(|call| call.is_same_as(expression)) {
        let parts = expression.parts().into_iter();
        parts.for_each(|part| columns_beside(part, calls, columns));
    }
}

/// The columns that expressions name, each once.
pub fn columns_of(expressions: &[Expr]) -> Vec<Expr> {
    let mut columns = Vec::new();
    expressions.iter().for_each(|expression| columns_beside(*expression, &[], &mut columns));
    without_repeats(columns)
}

/// Those that are different.
pub fn without_repeats(expressions: Vec<Expr>) -> Vec<Expr> {
    expressions.into_iter().fold(Vec::new(), |mut distinct, expression| {
        if !distinct.iter().any(|known: &Expr| known.is_same_as(expression)) {
            distinct.push(expression);
        }
        distinct
    })
}

/// Whether the model is named by a constant, and the features can be had from these inputs.
pub fn can_batch(call: Expr, inputs: &[Expr]) -> bool {
    let Some((_, arguments)) = call.as_call() else { return false };
    let [model, features @ ..] = &arguments[..] else { return false };
    model.constant_text().is_some()
        && features
            .iter()
            .all(|feature| may_evaluate_ahead(*feature) && is_made_of(*feature, inputs))
}

fn is_made_of(expression: Expr, inputs: &[Expr]) -> bool {
    match expression.kind() {
        ExprKind::Constant | ExprKind::Parameter => true,
        ExprKind::Column | ExprKind::Placeholder => {
            inputs.iter().any(|input| input.is_same_as(expression))
        }
        ExprKind::Plain | ExprKind::Branching | ExprKind::Calling => {
            inputs.iter().any(|input| input.is_same_as(expression))
                || expression.parts().into_iter().all(|part| is_made_of(part, inputs))
        }
        ExprKind::Failing | ExprKind::Aggregate | ExprKind::Other => false,
    }
}
