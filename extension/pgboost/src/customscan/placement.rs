//! Places batches in a query's paths, below steps that predict or in place of them.
//!
//! If a computed output has calls of predict, a batch takes the place of that projection. If an aggregate, a
//! window function or a function that returns a set has them in its arguments, a batch below computes them. If the
//! filter of a scan, a join or an aggregation has them, a batch takes over the filter. PostgreSQL itself then
//! replaces every call that a batch below computes by the batch's column.
//!
//! A query that locks rows, or that changes rows of a join, may evaluate a row again with the same rows of
//! other tables, so it gets no batches.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use pg_interface::nodes::Expr;
use pg_interface::report;

use super::batch_path::Batch;
use super::calls::{
    Calls, ConditionalCall, arguments_never_error, can_batch, columns_beside, columns_of, distinct,
    occurrences, predicts, predicts_pinned, returned_for, stands_outside_aggregates,
};
use super::error_safety::{
    ExprKind, has_no_effects, is_made_of, kind, may_read_ahead, never_errors, never_errors_later,
};
use super::level::QueryLevel;
use super::paths::{Path, PathKind};
use super::reasons;
use crate::guc;

/// The least share of rows that must need a call for it to be computed for all rows.
const MIN_SHARE: f64 = 0.1;
/// The fewest rows that are worth a separate step in the plan: planning and starting it takes as long as
/// predicting for some fifty rows one by one with a model of 25 trees, and batches gain no time before the
/// third, of 64 rows.
const MIN_ROWS: f64 = 64.0;
/// The fewest expected rows that may be many more, if the number is a guess. Of one row the planner is sure: it is found
/// by a unique key.
const MIN_GUESSED_ROWS: f64 = 2.0;

pub(crate) fn place(level: &QueryLevel<'_>) {
    // A LIMIT of few rows is the usual form of a query that predicts for one row, and must cost no planning
    // time. The planner knows no limit of a level that aggregates. If the level sorts, rows beyond the LIMIT may
    // be predicted as well.
    let few = level.row_limit().is_some_and(|limit| limit < MIN_ROWS) && !level.has_order();
    let tells = report::is_debugged();
    if few || !guc::batch() || level.may_reevaluate_rows() {
        if tells {
            reasons::tell(level, few, &[]);
        }
        return;
    }
    let guesses_rows = OnceCell::new();
    if !tells && level.most_rows().is_some_and(|rows| is_few(rows, level, &guesses_rows)) {
        return;
    }
    let mut placement = Placement {
        level,
        has_no_effects: OnceCell::new(),
        guesses_rows,
        batched: RefCell::default(),
        done: HashMap::new(),
    };
    let limit = RowLimit::of(level.row_limit());
    let top = Demand { limit, may_widen: false, all: !level.has_limit() };
    level.replace_paths(|path| placement.rewritten(path, top));
    if tells {
        reasons::tell(level, few, &placement.batched.into_inner());
    }
}

/// The most rows that are read of a path, if known: its bits, since it is part of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RowLimit(Option<u64>);

impl RowLimit {
    fn of(rows: Option<f64>) -> Self {
        RowLimit(rows.filter(|rows| rows.is_finite()).map(f64::to_bits))
    }

    fn rows(self) -> Option<f64> {
        self.0.map(f64::from_bits)
    }
}

/// The rows that are wanted of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Demand {
    limit: RowLimit,
    may_widen: bool,
    /// All rows may be needed; `read_ahead` decides at run time.
    all: bool,
}

impl Demand {
    const ALL: Demand = Demand { limit: RowLimit(None), may_widen: false, all: true };

    /// Returns the limit of the paths below a path.
    fn below(self, path: Path<'_>) -> Demand {
        match path.kind() {
            PathKind::Sort => Demand::ALL,
            PathKind::Aggregation if path.reads_all_first() => {
                Demand { may_widen: true, ..Demand::ALL }
            }
            PathKind::Projection | PathKind::Aggregation | PathKind::Window | PathKind::Sets => {
                Demand { may_widen: true, ..self }
            }
            PathKind::Join => Demand { limit: RowLimit(None), may_widen: false, ..self },
            _ => Demand { may_widen: false, ..self },
        }
    }
}

struct Placement<'a, 'p> {
    level: &'a QueryLevel<'p>,
    has_no_effects: OnceCell<bool>,
    guesses_rows: OnceCell<bool>,
    /// The calls that batches compute.
    batched: RefCell<Vec<Expr<'p>>>,
    /// The results by path, since paths share the paths below them.
    done: HashMap<(Path<'p>, Demand), Path<'p>>,
}

impl<'p> Placement<'_, 'p> {
    /// Returns the path with batches in it, or the same path if none fit.
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
        match path.kind() {
            PathKind::Scan | PathKind::SubqueryScan | PathKind::RowsScan => {
                let batch = self.testing(path, demand).or_else(|| self.computing(path, demand));
                return batch.unwrap_or(path);
            }
            PathKind::ForeignScan => return self.computing(path, demand).unwrap_or(path),
            PathKind::Projection
            | PathKind::Aggregation
            | PathKind::Window
            | PathKind::Sets
            | PathKind::GroupingSets
            | PathKind::Sort
            | PathKind::IncrementalSort
            | PathKind::Join
            | PathKind::Transparent
            | PathKind::Opaque => {}
            _ => return path,
        }
        let below = demand.below(path);
        if path.kind() != PathKind::Join || path.joins_any_path() {
            path.replace_below(|path| self.rewritten(path, below));
        }
        match path.kind() {
            PathKind::Projection => self.instead_of(path, demand).unwrap_or(path),
            PathKind::Join => self.testing(path, demand).unwrap_or(path),
            PathKind::Sets => {
                path.replace_below(|path_below| self.below_sets(path, path_below, below));
                path
            }
            PathKind::Aggregation | PathKind::GroupingSets | PathKind::Window => {
                path.replace_below(|path_below| self.below_aggregation(path, path_below, below));
                if path.kind() == PathKind::GroupingSets {
                    return path;
                }
                let batch = self.testing(path, demand).or_else(|| self.computing(path, demand));
                batch.unwrap_or(path)
            }
            _ => path,
        }
    }

    fn instead_of(&self, projection: Path<'p>, demand: Demand) -> Option<Path<'p>> {
        let [below] = projection.below()[..] else { return None };
        // A node over several tables hides which of them a cursor's row is of (`cursor`).
        let hides_row = below.reads_several_tables() && self.level.is_of_cursor();
        if hides_row || self.has_few_rows(below.rows(), demand.limit.rows()) {
            return None;
        }
        let outputs = projection.outputs();
        let calls = calls_to_batch(self.computed_calls(&outputs)?, &below.outputs())?;
        Some(self.batch(below, &calls, &[], demand)?.instead_of(projection))
    }

    /// Makes a batch that computes the outputs of a scan, an aggregation or a step of window functions which are
    /// computed from its rows, as for a scan in an Append.
    fn computing(&self, path: Path<'p>, demand: Demand) -> Option<Path<'p>> {
        if self.has_few_rows(path.rows(), demand.limit.rows()) {
            return None;
        }
        let outputs = path.outputs();
        let calls = self.computed_calls(&outputs)?;
        let columns = columns_for(path, &outputs)?;
        let calls = calls_to_batch(calls, &columns)?;
        let never_fails =
            || path.is_scan() && path.conditions().into_iter().all(never_errors_later);
        let only_needed = self.reads_only_needed(demand, &calls, never_fails)?;
        if path.is_gated() {
            return None;
        }
        let below = self.level.projected(path, &columns);
        let level = self.level;
        let limit = demand.limit.rows();
        let batch = Batch { level, below, calls: &calls, conditional: &[], limit, only_needed };
        Some(batch.instead_of(path))
    }

    /// Makes a batch that tests the conditions of a path from the first one on that predicts.
    fn testing(&self, path: Path<'p>, demand: Demand) -> Option<Path<'p>> {
        let conditions = path.conditions_to_move();
        let (tested, others): (Vec<Expr<'p>>, Vec<Expr<'p>>) =
            conditions.iter().copied().partition(|condition| predicts(*condition));
        // PostgreSQL tests the cheapest condition of the lowest security level first, and others for the rows that meet it.
        let order = |one: &Expr<'p>, other: &Expr<'p>| {
            let levels = path.security_level(*one).cmp(&path.security_level(*other));
            levels.then_with(|| self.level.cost(*one).total_cmp(&self.level.cost(*other)))
        };
        let first = tested.iter().copied().min_by(order)?;
        if path.is_parameterized() || path.is_gated() {
            return None;
        }
        // The index may be on one of these predictions, which then are not tested again.
        if path.uses_index() && tested.iter().any(|condition| predicts_pinned(*condition)) {
            return None;
        }
        let outputs = path.outputs();
        let columns = columns_for(path, &[&conditions[..], &outputs].concat())?;
        let calls = calls_to_batch(self.calls_of(&[first]), &columns)?;
        // They may be tested after others.
        let can_move = tested.iter().all(|condition| has_no_effects_above(*condition, &columns))
            && outputs.iter().all(|output| has_no_effects_above(*output, &columns));
        if !can_move || columns_of(&calls).is_empty() {
            return None;
        }
        let passing = self.level.selectivity(&tested).max(f64::MIN_POSITIVE);
        let rows = path.rows() / passing;
        if self.has_few_rows(rows, demand.limit.rows().map(|limit| limit / passing)) {
            return None;
        }
        // Conditions before them are tested for a row that the query may not need.
        let never_fails = || {
            path.kind() == PathKind::Scan
                && path.reads_table()
                && others.into_iter().all(never_errors)
        };
        let only_needed = self.reads_only_needed(
            Demand { limit: RowLimit(None), ..demand },
            &calls,
            never_fails,
        )?;
        let below = self.level.projected(path, &columns);
        below.set_rows(rows);
        let (level, limit) = (self.level, None);
        let batch = Batch { level, below, calls: &calls, conditional: &[], limit, only_needed };
        Some(batch.testing(path, demand.may_widen))
    }

    /// Returns the path below an aggregation or a step of window functions, maybe with a batch on top.
    fn below_aggregation(&self, path: Path<'p>, below: Path<'p>, demand: Demand) -> Path<'p> {
        let mut evaluated = path.outputs();
        evaluated.extend(path.conditions());
        let mut calls = Calls::default();
        evaluated.iter().for_each(|output| calls.add_aggregated(*output));
        if path.kind() == PathKind::GroupingSets {
            // Outside of aggregates its columns may be NULL, since the row's set is not grouped by them. The planner would
            // put the batch's column there too.
            let plain: Vec<_> =
                evaluated.iter().map(|it| self.level.below_sets_of_groups(*it)).collect();
            let is_outside =
                |call: Expr<'p>| plain.iter().any(|it| stands_outside_aggregates(*it, call));
            calls.always.retain(|call| !is_outside(*call));
            calls.conditional.retain(|it| !is_outside(it.call));
        }
        calls.conditional = self.worth_batching(merged(&calls, &evaluated));
        self.with_calls(below, calls, &evaluated, demand).unwrap_or(below)
    }

    /// Returns the path below a step of functions that return sets, maybe with a batch on top.
    fn below_sets(&self, path: Path<'p>, below: Path<'p>, demand: Demand) -> Path<'p> {
        let outputs = path.outputs();
        let mut calls = Calls::default();
        outputs.iter().for_each(|output| calls.add_for_sets(*output));
        calls.conditional.clear();
        if outputs.iter().any(|output| output.is_volatile()) {
            return below;
        }
        self.with_calls(below, calls, &outputs, demand).unwrap_or(below)
    }

    /// Makes a batch on top of a path, which adds the calls as columns for the expressions above it.
    fn with_calls(
        &self,
        below: Path<'p>,
        Calls { always: mut calls, mut conditional }: Calls<'p>,
        evaluated: &[Expr<'p>],
        demand: Demand,
    ) -> Option<Path<'p>> {
        if calls.is_empty() && conditional.is_empty()
            || self.has_few_rows(below.rows(), demand.limit.rows())
        {
            return None;
        }
        conditional.retain(|it| is_made_of(it.condition, &below.outputs()));
        calls.extend(conditional.iter().map(|it| it.call));
        let calls = calls_to_batch(calls, &below.outputs())?;
        let mut columns = Vec::new();
        evaluated.iter().for_each(|output| columns_beside(*output, &calls, &mut columns));
        let is_needed = |output: Expr<'p>| {
            kind(output) != ExprKind::Column
                || columns.iter().any(|column| column.is_same_as(output))
        };
        Some(self.batch(below, &calls, &conditional, demand)?.added(is_needed))
    }

    /// Makes a batch on top of a path, if its rows may be read before they are needed.
    fn batch<'a>(
        &'a self,
        below: Path<'p>,
        calls: &'a [Expr<'p>],
        conditional: &'a [ConditionalCall<'p>],
        demand: Demand,
    ) -> Option<Batch<'a, 'p>> {
        // A sort below a LIMIT keeps only the needed rows, whose number a custom node between the two would
        // not pass on.
        if self.level.has_limit() && leads_to_sort(below) || below.is_async() {
            return None;
        }
        let only_needed = self.reads_only_needed(demand, calls, || may_read_ahead(below))?;
        let (level, limit) = (self.level, demand.limit.rows());
        Some(Batch { level, below, calls, conditional, limit, only_needed })
    }

    /// Returns whether so few rows are expected, and no more wanted, that a batch is not worthwhile. Tested first, so that
    /// queries for one row lose no time.
    fn has_few_rows(&self, expected: f64, limit: Option<f64>) -> bool {
        limit.is_some_and(|limit| limit < MIN_ROWS)
            || is_few(expected, self.level, &self.guesses_rows)
    }

    /// Returns the calls in a row's output, or `None` if there are none or the output is volatile.
    fn computed_calls(&self, outputs: &[Expr<'p>]) -> Option<Vec<Expr<'p>>> {
        let calls = self.calls_of(outputs);
        (!calls.is_empty() && !outputs.iter().any(|output| output.is_volatile())).then_some(calls)
    }

    /// Returns the calls that expressions evaluate for every row, or for enough rows to compute them for all. A row
    /// whose prediction fails is evaluated with its conditions.
    fn calls_of(&self, expressions: &[Expr<'p>]) -> Vec<Expr<'p>> {
        let mut found = Calls::default();
        expressions.iter().for_each(|expression| found.add(*expression));
        let Calls { mut always, conditional } = found;
        always.extend(self.worth_batching(conditional).into_iter().map(|it| it.call));
        always
    }

    /// Retains the calls that may be computed for all rows: many need them, and their arguments never fail.
    fn worth_batching(&self, mut calls: Vec<ConditionalCall<'p>>) -> Vec<ConditionalCall<'p>> {
        calls.retain(|ConditionalCall { call, condition }| {
            arguments_never_error(&[*call])
                && !predicts(*condition)
                && !condition.is_volatile()
                && self.level.selectivity(&[*condition]) >= MIN_SHARE
        });
        calls
    }

    /// Returns whether a batch may read only needed rows, since reading one can fail. Returns `None` for no
    /// batch, if even that is not safe, or if no more than one row would be known to be needed.
    fn reads_only_needed(
        &self,
        demand: Demand,
        calls: &[Expr<'p>],
        never_fails: impl FnOnce() -> bool,
    ) -> Option<bool> {
        let only_needed = !(arguments_never_error(calls) && never_fails());
        let has_no_effects = || *self.has_no_effects.get_or_init(|| self.level.has_no_effects());
        if only_needed && !((demand.all || demand.limit.rows().is_some()) && has_no_effects()) {
            return None;
        }
        self.batched.borrow_mut().extend(calls);
        Some(only_needed)
    }
}

/// Returns the calls that can be computed from these inputs and are not among them, or `None` if there are none.
fn calls_to_batch<'p>(mut calls: Vec<Expr<'p>>, inputs: &[Expr<'p>]) -> Option<Vec<Expr<'p>>> {
    // A call that a batch further down computes is a column here.
    calls.retain(|call| {
        !inputs.iter().any(|input| input.is_same_as(*call)) && can_batch(*call, inputs)
    });
    (!calls.is_empty()).then(|| distinct(calls))
}

/// Returns the columns that a path must return for these expressions to be computed above it, if it can.
fn columns_for<'p>(path: Path<'p>, expressions: &[Expr<'p>]) -> Option<Vec<Expr<'p>>> {
    match path.kind() {
        PathKind::Aggregation | PathKind::Window => {
            let [below] = path.below()[..] else { return None };
            returned_for(expressions, &below.outputs())
        }
        PathKind::Join if expressions.iter().any(|it| has_placeholder(*it)) => None,
        _ => Some(columns_of(expressions)),
    }
}

fn has_placeholder(expression: Expr<'_>) -> bool {
    kind(expression) == ExprKind::Placeholder
        || expression.children().into_iter().any(has_placeholder)
}

/// Returns whether an expression may be evaluated later, above a path that returns these columns.
fn has_no_effects_above(expression: Expr<'_>, columns: &[Expr<'_>]) -> bool {
    columns.iter().any(|column| column.is_same_as(expression))
        || has_no_effects(expression)
        || !expression.is_volatile()
            && kind(expression) != ExprKind::Subquery
            && kind(expression) != ExprKind::Other
            && expression.children().into_iter().all(|part| has_no_effects_above(part, columns))
}

/// Returns whether that number of expected rows is small, and no guess.
fn is_few(expected: f64, level: &QueryLevel<'_>, guesses: &OnceCell<bool>) -> bool {
    expected < MIN_ROWS
        && (expected < MIN_GUESSED_ROWS || !*guesses.get_or_init(|| level.guesses_rows()))
}

/// Merges the conditional calls: each once with all of its conditions, without those evaluated elsewhere.
fn merged<'p>(calls: &Calls<'p>, evaluated: &[Expr<'p>]) -> Vec<ConditionalCall<'p>> {
    let mut merged: Vec<(ConditionalCall<'p>, usize)> = Vec::new();
    for found in calls.conditional.iter().copied() {
        match merged.iter_mut().find(|(known, _)| known.call.is_same_as(found.call)) {
            Some((known, count)) => {
                known.condition = known.condition.or(found.condition);
                *count += 1;
            }
            None => merged.push((found, 1)),
        }
    }
    merged.retain(|(found, count)| {
        let everywhere = evaluated.iter().map(|it| occurrences(*it, found.call)).sum::<usize>();
        *count == everywhere && !calls.always.iter().any(|call| call.is_same_as(found.call))
    });
    merged.into_iter().map(|(found, _)| found).collect()
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
