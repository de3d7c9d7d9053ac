//! What may be read ahead: what gives the same rows and the same errors when it is read sooner.
//!
//! A batch asks for rows that nobody may ever ask the query for. So nothing that runs for such a
//! row may fail because of the row's values, and nothing may have an effect: else a query with
//! LIMIT 10 could fail for row 300. PostgreSQL already has a word for a function that never fails
//! because of its arguments: LEAKPROOF, since an error tells something of them. Comparisons of
//! numbers, dates and texts are, and casts that only widen; arithmetic, which can overflow, is not.
//! What a sort or a scan of a function has below it does not matter: all of that runs before the
//! first row comes out, batch or no batch.

use pgrx::pg_sys::{self, Oid};

use crate::pg::expressions::{Expr, ExprKind, is_leakproof, is_volatile_function};
use crate::pg::paths::{Path, PathKind};

/// Comparisons of numeric. They are not marked as leakproof, but fail for no value: numeric.c
/// compares digits.
const NEVER_FAIL: [u32; 6] = [
    pg_sys::F_NUMERIC_EQ,
    pg_sys::F_NUMERIC_NE,
    pg_sys::F_NUMERIC_GT,
    pg_sys::F_NUMERIC_GE,
    pg_sys::F_NUMERIC_LT,
    pg_sys::F_NUMERIC_LE,
];

/// Whether rows of the path may be read before they are asked for.
pub fn may_read_ahead(path: Path) -> bool {
    reads_ahead(path, true)
}

/// `first`: whether all that the path does before its first row happens before the batch's first.
fn reads_ahead(path: Path, first: bool) -> bool {
    match path.kind() {
        PathKind::Sort if first => all_safe(path.outputs()),
        PathKind::FunctionScan => first && here(path),
        PathKind::Sort
        | PathKind::IncrementalSort
        | PathKind::Passing
        | PathKind::Projection
        | PathKind::SubqueryScan
        | PathKind::Scan
        | PathKind::Join
        | PathKind::Batch => {
            here(path)
                && path.below().into_iter().enumerate().all(|(index, below)| {
                    reads_ahead(below, first && begins_at_once(path, index, below))
                })
        }
        PathKind::Aggregation | PathKind::Above | PathKind::Other => false,
    }
}

/// Whether a path below begins, once and for all, before the first row of the path comes out.
fn begins_at_once(path: Path, index: usize, below: Path) -> bool {
    match path.kind() {
        // The second side of a join may begin anew with each row of the first, if it depends on it.
        PathKind::Join => index == 0 || !below.is_parameterized(),
        // The second of several paths may begin when the first one is done.
        _ => index == 0,
    }
}

/// Whether what the path itself evaluates can neither fail nor have an effect.
fn here(path: Path) -> bool {
    all_safe(path.conditions()) && all_safe(path.outputs())
}

fn all_safe(expressions: Vec<Expr>) -> bool {
    expressions.into_iter().all(may_evaluate_ahead)
}

/// Whether the expression may be evaluated for a row that nobody has asked for.
pub fn may_evaluate_ahead(expression: Expr) -> bool {
    match expression.kind() {
        ExprKind::Column | ExprKind::Constant | ExprKind::Parameter => true,
        ExprKind::Plain | ExprKind::Branching | ExprKind::Placeholder => {
            all_safe(expression.parts())
        }
        ExprKind::Calling => {
            expression.functions().into_iter().all(never_fails) && all_safe(expression.parts())
        }
        ExprKind::Failing | ExprKind::Aggregate | ExprKind::Other => false,
    }
}

/// Whether the expression may be evaluated later than it would have been, by another node: it may
/// fail, but has no effect, and no plan of its own.
pub fn may_evaluate_later(expression: Expr) -> bool {
    !expression.is_volatile() && has_no_plan(expression)
}

fn has_no_plan(expression: Expr) -> bool {
    !matches!(expression.kind(), ExprKind::Aggregate | ExprKind::Other)
        && expression.parts().into_iter().all(has_no_plan)
}

fn never_fails(function: Oid) -> bool {
    NEVER_FAIL.contains(&function.to_u32())
        || (is_leakproof(function) && !is_volatile_function(function))
}
