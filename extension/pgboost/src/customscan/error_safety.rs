//! Expressions that may be evaluated sooner or later than without a batch, without a change of the errors that a
//! query raises. This file is the whole policy: the kinds of expressions, the functions that
//! never fail, and the paths that may be read ahead.
//!
//! A batch reads rows that the query may never need. An expression that is evaluated for such a row must not fail
//! because of the row's values, and must have no effect: otherwise a query with LIMIT 10 could fail for row 300.
//! PostgreSQL marks functions that never fail because of their arguments as LEAKPROOF, since an error reveals
//! something of them: comparisons of numbers, dates and texts, and casts that only widen, but not arithmetic,
//! which can overflow. The plan below a sort or a scan of a function does not matter: it is run to its end before
//! the first row is returned, with a batch or without.

use pg_interface::nodes::{Expr, is_leakproof, is_volatile_function};
use pgrx::pg_sys::{self, NodeTag, Oid};

use super::paths::{Path, PathKind};

/// The evaluation of an expression's node itself, without its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExprKind {
    Column,
    Constant,
    /// A parameter of the statement, or from a row of an outer loop.
    Parameter,
    /// Evaluates all of its parts, and cannot fail by itself.
    Plain,
    /// Evaluates some of its parts, and cannot fail by itself.
    Branching,
    /// Calls functions after all of its parts are evaluated.
    Calling,
    /// Evaluates all of its parts, and may then fail.
    Failing,
    /// An expression that is evaluated below an outer join, and only passed on above it.
    Placeholder,
    /// An aggregate of this query level, or a window function.
    Aggregate,
    /// Runs a plan for each row, which may depend on it.
    Subquery,
    Other,
}

pub(crate) fn kind(expression: Expr<'_>) -> ExprKind {
    match expression.tag() {
        _ if expression.is_of_outer_level() || expression.returns_set() => ExprKind::Other,
        NodeTag::T_Var => ExprKind::Column,
        NodeTag::T_Const => ExprKind::Constant,
        NodeTag::T_Param => ExprKind::Parameter,
        NodeTag::T_RelabelType
        | NodeTag::T_ArrayExpr
        | NodeTag::T_RowExpr
        | NodeTag::T_NullTest
        | NodeTag::T_BooleanTest
        | NodeTag::T_CollateExpr
        | NodeTag::T_FieldSelect
        | NodeTag::T_TargetEntry
        | NodeTag::T_List => ExprKind::Plain,
        NodeTag::T_BoolExpr
        | NodeTag::T_CaseExpr
        | NodeTag::T_CaseWhen
        | NodeTag::T_CaseTestExpr
        | NodeTag::T_CoalesceExpr => ExprKind::Branching,
        NodeTag::T_FuncExpr
        | NodeTag::T_OpExpr
        | NodeTag::T_DistinctExpr
        | NodeTag::T_NullIfExpr
        | NodeTag::T_ScalarArrayOpExpr
        | NodeTag::T_CoerceViaIO => ExprKind::Calling,
        NodeTag::T_SubscriptingRef if expression.is_leakproof_fetch() => ExprKind::Plain,
        NodeTag::T_SubscriptingRef if expression.is_fetch() => ExprKind::Failing,
        NodeTag::T_MinMaxExpr
        | NodeTag::T_CoerceToDomain
        | NodeTag::T_ArrayCoerceExpr
        | NodeTag::T_ConvertRowtypeExpr
        | NodeTag::T_RowCompareExpr
        | NodeTag::T_SQLValueFunction => ExprKind::Failing,
        NodeTag::T_PlaceHolderVar => ExprKind::Placeholder,
        NodeTag::T_Aggref | NodeTag::T_WindowFunc => ExprKind::Aggregate,
        NodeTag::T_SubPlan | NodeTag::T_AlternativeSubPlan => ExprKind::Subquery,
        _ => ExprKind::Other,
    }
}

/// Comparisons of numeric. They are not marked as leakproof, but never fail: numeric.c compares
/// digits.
const NEVER_FAIL: [u32; 6] = [
    pg_sys::F_NUMERIC_EQ,
    pg_sys::F_NUMERIC_NE,
    pg_sys::F_NUMERIC_GT,
    pg_sys::F_NUMERIC_GE,
    pg_sys::F_NUMERIC_LT,
    pg_sys::F_NUMERIC_LE,
];

/// Returns whether the expression may be evaluated for a row that the query may not need.
pub(crate) fn never_errors(expression: Expr<'_>) -> bool {
    let functions_never_fail = || expression.functions().into_iter().all(never_fails);
    match kind(expression) {
        ExprKind::Column | ExprKind::Constant | ExprKind::Parameter => true,
        ExprKind::Plain | ExprKind::Placeholder => none_errors(expression.children()),
        ExprKind::Branching => {
            has_no_executor_parameter(expression) && none_errors(expression.children())
        }
        ExprKind::Calling => functions_never_fail() && none_errors(expression.children()),
        ExprKind::Failing | ExprKind::Aggregate | ExprKind::Subquery | ExprKind::Other => false,
    }
}

/// Returns whether a scan's condition fails for no row after the first that the scan returns. For that row all of it
/// is evaluated, except in branches; a part without columns then has the same value for every other row, as `$1 + 9`
/// or `now() - interval '1 day'`.
pub(crate) fn never_errors_later(condition: Expr<'_>) -> bool {
    let is_same_for_all_rows = || has_no_effects(condition) && is_made_of(condition, &[]);
    let parts_never_error = || condition.children().into_iter().all(never_errors_later);
    let by_parts = match kind(condition) {
        ExprKind::Plain => parts_never_error(),
        ExprKind::Calling => {
            condition.functions().into_iter().all(never_fails) && parts_never_error()
        }
        _ => never_errors(condition),
    };
    by_parts || is_same_for_all_rows()
}

/// Returns whether no part is the result of a plan, which may fail when a branch first needs it.
fn has_no_executor_parameter(expression: Expr<'_>) -> bool {
    !expression.is_executor_parameter()
        && expression.children().into_iter().all(has_no_executor_parameter)
}

fn none_errors(expressions: Vec<Expr<'_>>) -> bool {
    expressions.into_iter().all(never_errors)
}

fn never_fails(function: Oid) -> bool {
    NEVER_FAIL.contains(&function.to_u32())
        || (is_leakproof(function) && !is_volatile_function(function))
}

/// Returns whether the expression can be computed from these inputs.
pub(crate) fn is_made_of(expression: Expr<'_>, inputs: &[Expr<'_>]) -> bool {
    let is_input = || inputs.iter().any(|input| input.is_same_as(expression));
    match kind(expression) {
        ExprKind::Constant | ExprKind::Parameter => true,
        ExprKind::Column | ExprKind::Placeholder => is_input(),
        ExprKind::Plain
        | ExprKind::Branching
        | ExprKind::Calling
        | ExprKind::Failing
        | ExprKind::Subquery => {
            is_input() || expression.children().into_iter().all(|part| is_made_of(part, inputs))
        }
        ExprKind::Aggregate | ExprKind::Other => is_input(),
    }
}

/// Returns whether the expression may be evaluated later, by another node: it may fail, but has no
/// effect, and no separate plan.
pub(crate) fn has_no_effects(expression: Expr<'_>) -> bool {
    !expression.is_volatile() && has_no_plan(expression)
}

fn has_no_plan(expression: Expr<'_>) -> bool {
    !matches!(kind(expression), ExprKind::Aggregate | ExprKind::Subquery | ExprKind::Other)
        && expression.children().into_iter().all(has_no_plan)
}

/// Returns whether rows of the path may be read before they are needed.
pub(crate) fn may_read_ahead(path: Path<'_>) -> bool {
    reads_ahead(path, true)
}

/// `first` is true if the path's work before its first row is done before the batch's first row.
fn reads_ahead(path: Path<'_>, first: bool) -> bool {
    let evaluates_safely = || none_errors(path.conditions()) && none_errors(path.outputs());
    match path.kind() {
        PathKind::Sort if first => none_errors(path.outputs()),
        PathKind::Scan if first => {
            path.conditions().into_iter().all(never_errors_later) && none_errors(path.outputs())
        }
        PathKind::FunctionScan => first && evaluates_safely(),
        PathKind::Sort
        | PathKind::IncrementalSort
        | PathKind::Transparent
        | PathKind::Projection
        | PathKind::SubqueryScan
        | PathKind::Scan
        | PathKind::ForeignScan
        | PathKind::Join
        | PathKind::Batch => {
            evaluates_safely()
                && path.below().into_iter().enumerate().all(|(index, below)| {
                    reads_ahead(below, first && begins_at_once(path, index, below))
                })
        }
        PathKind::Aggregation
        | PathKind::RowsScan
        | PathKind::Window
        | PathKind::Sets
        | PathKind::GroupingSets
        | PathKind::Opaque
        | PathKind::Other => false,
    }
}

/// Returns whether a path below begins, once, before the path returns its first row.
fn begins_at_once(path: Path<'_>, index: usize, below: Path<'_>) -> bool {
    match path.kind() {
        // The second side of a join may begin again for each row of the first, if it depends on it. A merge join
        // may return rows of the first with NULL before.
        PathKind::Join => index == 0 || !below.is_parameterized() && !path.is_merge_join(),
        // The second of several paths may begin when the first one is done.
        _ => index == 0,
    }
}
