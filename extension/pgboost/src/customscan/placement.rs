//! Where predictions are computed in batches: which steps of a plan get a batch below or in place
//! of them.
//!
//! Three shapes are known. Where a row's output is computed and has calls of predict in it, a batch
//! takes the place of that computation. Where rows are aggregated and an aggregate's argument has
//! such calls, a batch goes below the aggregation and computes them for it. Where a scan's filter
//! has them, a batch takes that filter over. PostgreSQL itself then puts the batch's column in place
//! of every call that is equal to one that the batch computes.
//!
//! A query that locks rows, or that changes rows of several tables, may evaluate a row again beside
//! rows of others, and is left alone as a whole.

use std::collections::HashMap;

use pg_interface::nodes::Expr;

use super::batch_path::Batch;
use super::calls::{
    aggregated_calls, can_batch, columns_beside, columns_of, distinct, predicts, predicts_pinned,
    unconditional_calls,
};
use super::error_safety::{ExprKind, has_no_effects, kind, may_read_ahead, never_errors};
use super::level::QueryLevel;
use super::paths::{Path, PathKind};
use crate::guc;

/// Fewer rows than this are not worth a step of their own in the plan: planning and starting it
/// takes as long as predicting for some fifty rows one by one with a model of 25 trees, and a batch
/// gains nothing before its third, of 64 rows.
const MIN_ROWS: f64 = 64.0;

pub(crate) fn place(level: &QueryLevel<'_>) {
    // A LIMIT of few rows is the usual case of a query that predicts for one, and is planned as fast
    // as if nobody looked. The planner knows of no such limit where a level aggregates; where it
    // sorts, rows that are not asked for may be predicted as well.
    let few = level.row_limit().is_some_and(|limit| limit < MIN_ROWS) && !level.has_order();
    if few || !guc::batch() || level.may_reevaluate_rows() {
        return;
    }
    let mut placement = Placement { level, done: HashMap::new() };
    let top = Demand { limit: level.row_limit().map(f64::to_bits), may_widen: false };
    level.replace_paths(|path| placement.rewritten(path, top));
}

/// What is asked of a path where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Demand {
    /// The bits of how many rows are asked of it at most, if that is known.
    limit: Option<u64>,
    may_widen: bool,
}

impl Demand {
    fn limit(self) -> Option<f64> {
        self.limit.map(f64::from_bits)
    }

    /// That of a path which is a path's only one below.
    fn below(self, path: Path<'_>) -> Demand {
        match path.kind() {
            // All rows are read before the first comes out.
            PathKind::Sort => Demand { limit: None, may_widen: false },
            PathKind::Projection | PathKind::Aggregation => Demand { may_widen: true, ..self },
            _ => Demand { may_widen: false, ..self },
        }
    }
}

struct Placement<'a, 'p> {
    level: &'a QueryLevel<'p>,
    /// Paths share what is below them.
    done: HashMap<(Path<'p>, Demand), Path<'p>>,
}

impl<'p> Placement<'_, 'p> {
    /// The path with batches in it, which is the same one where none fit.
    fn rewritten(&mut self, path: Path<'p>, demand: Demand) -> Path<'p> {
        if let Some(done) = self.done.get(&(path, demand)) {
            return *done;
        }
        let rewritten = self.rewrite(path, demand);
        self.done.insert((path, demand), rewritten);
        self.done.insert((rewritten, demand), rewritten);
        rewritten
    }

    fn rewrite(&mut self, path: Path<'p>, demand: Demand) -> Path<'p> {
        let kind = path.kind();
        match kind {
            PathKind::Scan => {
                let batch = self.testing(path, demand).or_else(|| self.computing(path, demand));
                return batch.unwrap_or(path);
            }
            PathKind::ForeignScan => return self.computing(path, demand).unwrap_or(path),
            PathKind::Projection
            | PathKind::Aggregation
            | PathKind::Sort
            | PathKind::IncrementalSort
            | PathKind::Transparent
            | PathKind::Opaque => {}
            _ => return path,
        }
        path.replace_below(|below| self.rewritten(below, demand.below(path)));
        match kind {
            PathKind::Projection => self.instead_of(path, demand).unwrap_or(path),
            PathKind::Aggregation => {
                path.replace_below(|below| self.below_aggregation(path, below));
                path
            }
            _ => path,
        }
    }

    fn instead_of(&self, projection: Path<'p>, demand: Demand) -> Option<Path<'p>> {
        let [below] = projection.below()[..] else { return None };
        if has_few_rows(below, demand) {
            return None;
        }
        let outputs = projection.outputs();
        let calls = calls_to_batch(computed_calls(&outputs)?, &below.outputs())?;
        self.can_read(below).then(|| self.batch(below, &calls, demand).instead_of(projection))
    }

    /// A batch that computes what a scan would compute of its columns, as it is to do where its rows
    /// are put together with those of others.
    fn computing(&self, scan: Path<'p>, demand: Demand) -> Option<Path<'p>> {
        if has_few_rows(scan, demand) {
            return None;
        }
        let outputs = scan.outputs();
        let columns = columns_of(&outputs);
        let calls = calls_to_batch(computed_calls(&outputs)?, &columns)?;
        if scan.is_gated() || !scan.conditions().into_iter().all(never_errors) {
            return None;
        }
        let below = self.level.projected(scan, &columns);
        Some(self.batch(below, &calls, demand).instead_of(scan))
    }

    /// A batch that tests the conditions of a scan which predict, and those that come after them.
    fn testing(&self, scan: Path<'p>, demand: Demand) -> Option<Path<'p>> {
        let conditions = scan.conditions();
        let (tested, others): (Vec<Expr<'p>>, Vec<Expr<'p>>) =
            conditions.iter().copied().partition(|condition| predicts(*condition));
        // PostgreSQL tests the cheapest first, and others for the rows that pass it.
        let first = tested
            .iter()
            .copied()
            .min_by(|one, other| self.level.cost(*one).total_cmp(&self.level.cost(*other)))?;
        if scan.is_parameterized() || scan.is_gated() || !scan.reads_table() {
            return None;
        }
        // The index may be one of these predictions, which then are not tested again.
        if scan.uses_index() && tested.iter().any(|condition| predicts_pinned(*condition)) {
            return None;
        }
        let outputs = scan.outputs();
        let columns = columns_of(&[&conditions[..], &outputs].concat());
        let mut calls = Vec::new();
        unconditional_calls(first, &mut calls);
        let calls = calls_to_batch(calls, &columns)?;
        // Others may be tested before, for a row that nobody has asked for, or after.
        let can_move = tested.iter().all(|condition| has_no_effects(*condition))
            && others.into_iter().all(never_errors)
            && outputs.iter().all(|output| has_no_effects(*output));
        if !can_move || columns_of(&calls).is_empty() {
            return None;
        }
        let passing = self.level.selectivity(&tested).max(f64::MIN_POSITIVE);
        let rows = scan.rows() / passing;
        let asked = demand.limit().map_or(f64::INFINITY, |limit| limit / passing);
        if rows.min(asked) < MIN_ROWS {
            return None;
        }
        let below = self.level.projected(scan, &columns);
        below.set_rows(rows);
        let batch = Batch { level: self.level, below, calls: &calls, limit: None };
        Some(batch.testing(scan, demand.may_widen))
    }

    /// What is below an aggregation, or a batch on top of it.
    fn below_aggregation(&self, aggregation: Path<'p>, below: Path<'p>) -> Path<'p> {
        let all = Demand { limit: None, may_widen: true };
        if has_few_rows(below, all) {
            return below;
        }
        let mut evaluated = aggregation.outputs();
        evaluated.extend(aggregation.conditions());
        let mut calls = Vec::new();
        evaluated.iter().for_each(|output| aggregated_calls(*output, &mut calls));
        let Some(calls) = calls_to_batch(calls, &below.outputs()) else { return below };
        if !self.can_read(below) {
            return below;
        }
        let mut columns = Vec::new();
        evaluated.iter().for_each(|output| columns_beside(*output, &calls, &mut columns));
        let is_needed = |output: Expr<'p>| {
            kind(output) != ExprKind::Column
                || columns.iter().any(|column| column.is_same_as(output))
        };
        self.batch(below, &calls, all).added(is_needed)
    }

    fn batch<'a>(
        &'a self,
        below: Path<'p>,
        calls: &'a [Expr<'p>],
        demand: Demand,
    ) -> Batch<'a, 'p> {
        Batch { level: self.level, below, calls, limit: demand.limit() }
    }

    fn can_read(&self, below: Path<'p>) -> bool {
        // A sort below a LIMIT keeps only as many rows as it is told that are needed, and a custom
        // node between the two would not pass that on.
        let takes_bound_away = self.level.has_limit() && leads_to_sort(below);
        !takes_bound_away && may_read_ahead(below)
    }
}

/// Those of the calls that can be computed from these inputs, and are not there yet; nothing if none.
fn calls_to_batch<'p>(mut calls: Vec<Expr<'p>>, inputs: &[Expr<'p>]) -> Option<Vec<Expr<'p>>> {
    // What a batch further down has computed is a column here.
    calls.retain(|call| {
        !inputs.iter().any(|input| input.is_same_as(*call)) && can_batch(*call, inputs)
    });
    (!calls.is_empty()).then(|| distinct(calls))
}

/// Asked first of all, for the sake of queries for one row.
fn has_few_rows(below: Path<'_>, demand: Demand) -> bool {
    below.rows().min(demand.limit().unwrap_or(f64::INFINITY)) < MIN_ROWS
}

/// The calls in a row's output; nothing if there are none, or not alone.
fn computed_calls<'p>(outputs: &[Expr<'p>]) -> Option<Vec<Expr<'p>>> {
    let mut calls = Vec::new();
    outputs.iter().for_each(|output| unconditional_calls(*output, &mut calls));
    (!calls.is_empty() && !outputs.iter().any(|output| output.is_volatile())).then_some(calls)
}

fn leads_to_sort(path: Path<'_>) -> bool {
    match path.kind() {
        PathKind::Sort | PathKind::IncrementalSort => true,
        PathKind::Projection | PathKind::Transparent | PathKind::SubqueryScan | PathKind::Batch => {
            path.below().into_iter().any(leads_to_sort)
        }
        _ => false,
    }
}
