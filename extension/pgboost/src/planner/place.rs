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

use crate::pg::batch::path::Batch;
use crate::pg::expressions::{Expr, ExprKind};
use crate::pg::paths::{Path, PathKind};
use crate::pg::query::Planning;
use crate::planner::calls::{
    aggregated_calls, can_batch, columns_beside, columns_of, predicts, unconditional_calls,
    without_repeats,
};
use crate::planner::read_ahead::{may_evaluate_ahead, may_evaluate_later, may_read_ahead};
use crate::settings;

/// Fewer rows than this are not worth a step of their own in the plan: planning and starting it
/// takes as long as predicting for some fifty rows one by one with a model of 25 trees, and a batch
/// gains nothing before its third, of 64 rows.
const MIN_ROWS: f64 = 64.0;

/// Puts batches into the finished paths of a query level.
pub fn place(planning: &Planning) {
    // A LIMIT of few rows is the usual case of a query that predicts for one, and is planned as fast
    // as if nobody looked. The planner knows of no such limit where a level aggregates; where it
    // sorts, rows that are not asked for may be predicted as well.
    let few = planning.row_limit().is_some_and(|limit| limit < MIN_ROWS) && !planning.has_order();
    if few || !settings::batch() || planning.may_reevaluate_rows() {
        return;
    }
    let mut placing = Placing { planning, done: HashMap::new() };
    let top = Place { limit: planning.row_limit().map(f64::to_bits), may_widen: false };
    planning.replace_paths(|path| placing.rewritten(path, top));
}

/// What is asked of a path where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    /// The bits of how many rows are asked of it at most, if that is known.
    limit: Option<u64>,
    /// Whether it may hand on further columns.
    may_widen: bool,
}

impl Place {
    fn limit(self) -> Option<f64> {
        self.limit.map(f64::from_bits)
    }

    /// That of a path which is a path's only one below.
    fn below(self, path: Path) -> Place {
        match path.kind() {
            // All rows are read before the first comes out.
            PathKind::Sort => Place { limit: None, may_widen: false },
            PathKind::Projection | PathKind::Aggregation => Place { may_widen: true, ..self },
            _ => Place { may_widen: false, ..self },
        }
    }
}

struct Placing<'a> {
    planning: &'a Planning,
    /// Paths share what is below them.
    done: HashMap<(Path, Place), Path>,
}

impl Placing<'_> {
    /// The path with batches in it, which is the same one where none fit.
    fn rewritten(&mut self, path: Path, place: Place) -> Path {
        if let Some(done) = self.done.get(&(path, place)) {
            return *done;
        }
        let rewritten = self.rewrite(path, place);
        self.done.insert((path, place), rewritten);
        self.done.insert((rewritten, place), rewritten);
        rewritten
    }

    fn rewrite(&mut self, path: Path, place: Place) -> Path {
        let kind = path.kind();
        match kind {
            PathKind::Scan => {
                let batch = self.testing(path, place).or_else(|| self.computing(path, place));
                return batch.unwrap_or(path);
            }
            PathKind::Projection
            | PathKind::Aggregation
            | PathKind::Sort
            | PathKind::IncrementalSort
            | PathKind::Passing
            | PathKind::Above => {}
            _ => return path,
        }
        path.replace_below(|below| self.rewritten(below, place.below(path)));
        match kind {
            PathKind::Projection => self.instead_of(path, place).unwrap_or(path),
            PathKind::Aggregation => {
                path.replace_below(|below| self.below_aggregation(path, below));
                path
            }
            _ => path,
        }
    }

    /// A batch that computes what the projection would.
    fn instead_of(&self, projection: Path, place: Place) -> Option<Path> {
        let [below] = projection.below()[..] else { return None };
        if has_few_rows(below, place) {
            return None;
        }
        let outputs = projection.outputs();
        let calls = calls_to_batch(computed_calls(&outputs)?, &below.outputs())?;
        self.can_read(below).then(|| self.batch(below, &calls, place).instead_of(projection))
    }

    /// A batch that computes what a scan would compute of its columns, as it is to do where its rows
    /// are put together with those of others.
    fn computing(&self, scan: Path, place: Place) -> Option<Path> {
        if has_few_rows(scan, place) {
            return None;
        }
        let outputs = scan.outputs();
        let columns = columns_of(&outputs);
        let calls = calls_to_batch(computed_calls(&outputs)?, &columns)?;
        if !scan.conditions().into_iter().all(may_evaluate_ahead) {
            return None;
        }
        let below = self.planning.projected(scan, &columns);
        Some(self.batch(below, &calls, place).instead_of(scan))
    }

    /// A batch that tests the conditions of a scan which predict, and those that come after them.
    fn testing(&self, scan: Path, place: Place) -> Option<Path> {
        let conditions = scan.conditions();
        let (tested, others): (Vec<Expr>, Vec<Expr>) =
            conditions.iter().copied().partition(|condition| predicts(*condition));
        // PostgreSQL tests the cheapest first, and others for the rows that pass it.
        let first = tested
            .iter()
            .copied()
            .min_by(|one, other| self.planning.cost(*one).total_cmp(&self.planning.cost(*other)))?;
        if scan.is_parameterized() || !scan.reads_table() {
            return None;
        }
        let outputs = scan.outputs();
        let columns = columns_of(&[&conditions[..], &outputs].concat());
        let mut calls = Vec::new();
        unconditional_calls(first, &mut calls);
        let calls = calls_to_batch(calls, &columns)?;
        // Others may be tested before, for a row that nobody has asked for, or after.
        let can_move = tested.iter().all(|condition| may_evaluate_later(*condition))
            && others.into_iter().all(may_evaluate_ahead)
            && outputs.iter().all(|output| may_evaluate_later(*output));
        if !can_move || columns_of(&calls).is_empty() {
            return None;
        }
        let passing = self.planning.selectivity(&tested).max(f64::MIN_POSITIVE);
        let rows = scan.rows() / passing;
        let asked = place.limit().map_or(f64::INFINITY, |limit| limit / passing);
        if rows.min(asked) < MIN_ROWS {
            return None;
        }
        let below = self.planning.projected(scan, &columns);
        below.expect_rows(rows);
        let batch = Batch { planning: self.planning, below, calls: &calls, limit: None };
        Some(batch.testing(scan, place.may_widen))
    }

    /// What is below an aggregation, or a batch on top of it.
    fn below_aggregation(&self, aggregation: Path, below: Path) -> Path {
        let all = Place { limit: None, may_widen: true };
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
        let is_needed = |output: Expr| {
            output.kind() != ExprKind::Column
                || columns.iter().any(|column| column.is_same_as(output))
        };
        self.batch(below, &calls, all).added(is_needed)
    }

    fn batch<'a>(&'a self, below: Path, calls: &'a [Expr], place: Place) -> Batch<'a> {
        Batch { planning: self.planning, below, calls, limit: place.limit() }
    }

    /// Whether a batch may stand above a path.
    fn can_read(&self, below: Path) -> bool {
        !self.takes_a_bound_away(below) && may_read_ahead(below)
    }

    /// A sort below a LIMIT keeps only as many rows as it is told that are needed, and a custom
    /// node between the two would not pass that on.
    fn takes_a_bound_away(&self, below: Path) -> bool {
        self.planning.has_limit() && leads_to_sort(below)
    }
}

/// Those of the calls that can be computed from these inputs, and are not there yet; nothing if none.
fn calls_to_batch(mut calls: Vec<Expr>, inputs: &[Expr]) -> Option<Vec<Expr>> {
    // What a batch further down has computed is a column here.
    calls.retain(|call| {
        !inputs.iter().any(|input| input.is_same_as(*call)) && can_batch(*call, inputs)
    });
    (!calls.is_empty()).then(|| without_repeats(calls))
}

/// Asked first of all, for the sake of queries for one row.
fn has_few_rows(below: Path, place: Place) -> bool {
    below.rows().min(place.limit().unwrap_or(f64::INFINITY)) < MIN_ROWS
}

/// The calls in a row's output; nothing if there are none, or not alone.
fn computed_calls(outputs: &[Expr]) -> Option<Vec<Expr>> {
    let mut calls = Vec::new();
    outputs.iter().for_each(|output| unconditional_calls(*output, &mut calls));
    (!calls.is_empty() && !outputs.iter().any(|output| output.is_volatile())).then_some(calls)
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
