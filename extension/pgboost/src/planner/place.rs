//! Where predictions are computed in batches: which steps of a plan get a batch below or in place
//! of them.
//!
//! Two shapes are known. Where a row's output is computed and has calls of predict in it, a batch
//! takes the place of that computation. Where rows are aggregated and an aggregate's argument has
//! such calls, a batch goes below the aggregation and computes them for it. PostgreSQL itself then
//! puts the batch's column in place of every call that is equal to one that the batch computes.
//!
//! A call counts only where PostgreSQL would evaluate it for every row without a condition: not in
//! a branch of CASE, COALESCE, AND or OR. A query that locks or changes rows may evaluate a row
//! again in another version, and is left alone as a whole.

use std::collections::HashMap;

use crate::pg::batch::path::{self, Batch};
use crate::pg::expressions::{Expr, ExprKind};
use crate::pg::paths::{Path, PathKind};
use crate::pg::query::Planning;
use crate::planner::read_ahead::{may_evaluate_ahead, may_read_ahead};
use crate::settings;

/// Fewer rows than this are not worth a step of their own in the plan: planning and starting it
/// takes as long as predicting for some fifty rows one by one with a model of 25 trees, and a batch
/// gains nothing before its third, of 64 rows.
const MIN_ROWS: f64 = 64.0;

/// Puts batches into the finished paths of a query level.
pub fn place(planning: &Planning) {
    // A LIMIT of few rows is the usual case of a query that predicts for one, and is planned as fast
    // as if nobody looked. The planner knows of no such limit where a level aggregates.
    let few = planning.row_limit().is_some_and(|limit| limit < MIN_ROWS);
    if few || !settings::batch() || planning.may_reevaluate_rows() {
        return;
    }
    let mut placing = Placing { planning, done: HashMap::new() };
    planning.replace_paths(|path| placing.rewritten(path));
}

struct Placing<'a> {
    planning: &'a Planning,
    /// Paths share what is below them.
    done: HashMap<Path, Path>,
}

impl Placing<'_> {
    /// The path with batches in it, which is the same one where none fit.
    fn rewritten(&mut self, path: Path) -> Path {
        if let Some(done) = self.done.get(&path) {
            return *done;
        }
        let rewritten = self.rewrite(path);
        self.done.insert(path, rewritten);
        self.done.insert(rewritten, rewritten);
        rewritten
    }

    fn rewrite(&mut self, path: Path) -> Path {
        match path.kind() {
            PathKind::Projection => {
                if let Some(batch) = self.instead_of(path) {
                    return batch;
                }
            }
            PathKind::Aggregation
            | PathKind::Sort
            | PathKind::IncrementalSort
            | PathKind::Passing
            | PathKind::Above => {}
            _ => return path,
        }
        path.replace_below(|below| self.rewritten(below));
        if path.kind() == PathKind::Aggregation {
            path.replace_below(|below| self.below_aggregation(path, below));
        }
        path
    }

    /// A batch that computes what the projection would.
    fn instead_of(&self, projection: Path) -> Option<Path> {
        let [below] = projection.below()[..] else { return None };
        if self.has_few_rows(below) {
            return None;
        }
        let outputs = projection.outputs();
        let mut calls = Vec::new();
        outputs.iter().for_each(|output| unconditional_calls(*output, &mut calls));
        if calls.is_empty() || outputs.iter().any(|output| output.is_volatile()) {
            return None;
        }
        self.batch(below, calls, |batch| batch.instead_of(projection))
    }

    /// What is below an aggregation, or a batch on top of it.
    fn below_aggregation(&self, aggregation: Path, below: Path) -> Path {
        if self.has_few_rows(below) {
            return below;
        }
        let mut evaluated = aggregation.outputs();
        evaluated.extend(aggregation.conditions());
        let mut calls = Vec::new();
        evaluated.iter().for_each(|output| aggregated_calls(*output, &mut calls));
        // What a batch further down has computed is a column here.
        let known = below.outputs();
        calls.retain(|call| !known.iter().any(|output| output.is_same_as(*call)));
        let batch = self.batch(below, calls, |batch| {
            let mut columns = Vec::new();
            evaluated.iter().for_each(|output| columns_beside(*output, batch.calls, &mut columns));
            let is_needed = |output: Expr| {
                output.kind() != ExprKind::Column
                    || columns.iter().any(|column| column.is_same_as(output))
            };
            batch.added(is_needed)
        });
        batch.unwrap_or(below)
    }

    fn batch(
        &self,
        below: Path,
        mut calls: Vec<Expr>,
        make: impl Fn(Batch<'_>) -> Path,
    ) -> Option<Path> {
        let inputs = below.outputs();
        calls.retain(|call| can_batch(*call, &inputs));
        let calls = without_repeats(calls);
        if calls.is_empty() || self.takes_a_bound_away(below) || !may_read_ahead(below) {
            return None;
        }
        Some(make(Batch { planning: self.planning, below, calls: &calls }))
    }

    /// Asked first of all, for the sake of queries for one row.
    fn has_few_rows(&self, below: Path) -> bool {
        let limit = self.planning.row_limit().unwrap_or(f64::INFINITY);
        below.rows().min(limit) < MIN_ROWS
    }

    /// A sort below a LIMIT keeps only as many rows as it is told that are needed, and a custom
    /// node between the two would not pass that on.
    fn takes_a_bound_away(&self, below: Path) -> bool {
        self.planning.has_limit() && leads_to_sort(below)
    }
}

fn leads_to_sort(path: Path) -> bool {
    match path.kind() {
        PathKind::Sort | PathKind::IncrementalSort => true,
        PathKind::Projection | PathKind::Passing | PathKind::SubqueryScan | PathKind::Batch => {
            path.below().into_iter().any(leads_to_sort)
        }
        _ => false,
    }
}

/// Collects the calls of predict that an expression evaluates whatever the row.
fn unconditional_calls(expression: Expr, calls: &mut Vec<Expr>) {
    match expression.kind() {
        ExprKind::Calling if path::prediction(expression).is_some() => calls.push(expression),
        ExprKind::Calling | ExprKind::Plain | ExprKind::Failing => {
            expression.parts().into_iter().for_each(|part| unconditional_calls(part, calls));
        }
        _ => {}
    }
}

/// Collects the calls that aggregates evaluate for every row.
fn aggregated_calls(expression: Expr, calls: &mut Vec<Expr>) {
    let parts = expression.parts().into_iter();
    if expression.kind() == ExprKind::Aggregate {
        parts.for_each(|part| unconditional_calls(part, calls));
    } else {
        parts.for_each(|part| aggregated_calls(part, calls));
    }
}

/// Collects the columns that an expression names outside of these calls.
fn columns_beside(expression: Expr, calls: &[Expr], columns: &mut Vec<Expr>) {
    if expression.kind() == ExprKind::Column {
        columns.push(expression);
    } else if !calls.iter().any(|call| call.is_same_as(expression)) {
        let parts = expression.all_parts().into_iter();
        parts.for_each(|part| columns_beside(part, calls, columns));
    }
}

fn without_repeats(calls: Vec<Expr>) -> Vec<Expr> {
    calls.into_iter().fold(Vec::new(), |mut distinct, call| {
        if !distinct.iter().any(|known: &Expr| known.is_same_as(call)) {
            distinct.push(call);
        }
        distinct
    })
}

/// Whether the model is named by a constant, and the features can be had from these inputs.
fn can_batch(call: Expr, inputs: &[Expr]) -> bool {
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
