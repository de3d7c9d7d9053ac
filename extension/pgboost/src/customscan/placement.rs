//! Where predictions are computed in batches: which steps of a plan get a batch below or in place
//! of them.
//!
//! Four shapes are known. Where a row's output is computed and has calls of predict in it, a batch
//! takes the place of that computation. Where an aggregate, a window function or a function that returns a
//! set has such calls in its arguments, a batch goes below it and computes them for it. Where the filter of a
//! scan, a join or an aggregation has them, a batch takes that filter over. PostgreSQL itself then puts the
//! batch's column in place of every call that is equal to one that the batch computes.
//!
//! A query that locks rows, or that changes rows of several tables, may evaluate a row again, apart from
//! the rows of other tables, so it has no batches.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use pg_interface::nodes::Expr;
use pg_interface::report;

use super::batch_path::Batch;
use super::calls::{
    Calls, ConditionalCall, arguments_never_error, can_batch, columns_beside, columns_of, distinct,
    occurrences, predicts, predicts_pinned, returned_for,
};
use super::error_safety::{
    ExprKind, has_no_effects, is_made_of, kind, may_read_ahead, never_errors,
};
use super::level::QueryLevel;
use super::paths::{Path, PathKind};
use super::reasons;
use crate::guc;

/// The least part of the rows that need a call for all of them to be predicted.
const MIN_SHARE: f64 = 0.1;
/// Fewer rows than this are not worth a separate step in the plan: planning and starting it
/// takes as long as predicting for some fifty rows one by one with a model of 25 trees, and a batch
/// gains nothing before its third, of 64 rows.
const MIN_ROWS: f64 = 64.0;

pub(crate) fn place(level: &QueryLevel<'_>) {
    // A LIMIT of few rows is the usual case of a query that predicts for one, and is planned as fast
    // as if nobody looked. The planner knows of no such limit where a level aggregates; where it
    // sorts, rows that are not asked for may be predicted as well.
    let few = level.row_limit().is_some_and(|limit| limit < MIN_ROWS) && !level.has_order();
    let tells = report::is_debugged();
    if few || !guc::batch() || level.may_reevaluate_rows() {
        if tells {
            reasons::tell(level, few, &[]);
        }
        return;
    }
    let mut placement = Placement {
        level,
        has_no_effects: OnceCell::new(),
        batched: RefCell::default(),
        done: HashMap::new(),
    };
    let limit = level.row_limit().unwrap_or(f64::INFINITY).to_bits();
    let top = Demand { limit, may_widen: false, all: !level.has_limit() };
    level.replace_paths(|path| placement.rewritten(path, top));
    if tells {
        reasons::tell(level, few, &placement.batched.into_inner());
    }
}

/// The row limit of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Demand {
    /// The bits of the most rows that are read of it, infinity where that is not known.
    limit: u64,
    may_widen: bool,
    /// Whether all rows may be asked for. Whether they are is found out when the plan runs (`read_ahead`).
    all: bool,
}

impl Demand {
    const ALL: Demand = Demand { limit: Demand::NO_LIMIT, may_widen: false, all: true };
    const NO_LIMIT: u64 = f64::INFINITY.to_bits();

    fn limit(self) -> Option<f64> {
        Some(f64::from_bits(self.limit)).filter(|limit| limit.is_finite())
    }

    /// That of what is below a path.
    fn below(self, path: Path<'_>) -> Demand {
        match path.kind() {
            PathKind::Sort => Demand::ALL,
            PathKind::Aggregation if path.reads_all_first() => {
                Demand { may_widen: true, ..Demand::ALL }
            }
            PathKind::Projection
            | PathKind::Aggregation
            | PathKind::GroupingSets
            | PathKind::Window
            | PathKind::Sets => Demand { may_widen: true, ..self },
            PathKind::Join => Demand { limit: Demand::NO_LIMIT, may_widen: false, ..self },
            _ => Demand { may_widen: false, ..self },
        }
    }
}

struct Placement<'a, 'p> {
    level: &'a QueryLevel<'p>,
    has_no_effects: OnceCell<bool>,
    /// The calls that batches compute.
    batched: RefCell<Vec<Expr<'p>>>,
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
        if has_few_rows(below, demand) {
            return None;
        }
        let outputs = projection.outputs();
        let calls = calls_to_batch(self.computed_calls(&outputs)?, &below.outputs())?;
        Some(self.batch(below, &calls, &[], demand)?.instead_of(projection))
    }

    /// A batch that computes what a scan, an aggregation or a step of window functions would compute of what
    /// it has, as a scan is to do where its rows are put together with those of others.
    fn computing(&self, path: Path<'p>, demand: Demand) -> Option<Path<'p>> {
        if has_few_rows(path, demand) {
            return None;
        }
        let outputs = path.outputs();
        let calls = self.computed_calls(&outputs)?;
        let columns = columns_for(path, &outputs)?;
        let calls = calls_to_batch(calls, &columns)?;
        let never_fails = || path.is_scan() && path.conditions().into_iter().all(never_errors);
        let only_needed = self.reads_only_needed(demand, &calls, never_fails)?;
        if path.is_gated() {
            return None;
        }
        let below = self.level.projected(path, &columns);
        let level = self.level;
        let limit = demand.limit();
        let batch = Batch { level, below, calls: &calls, conditional: &[], limit, only_needed };
        Some(batch.instead_of(path))
    }

    /// A batch that tests the conditions of a path which predict, and those that come after them.
    fn testing(&self, path: Path<'p>, demand: Demand) -> Option<Path<'p>> {
        let conditions = path.conditions_to_move();
        let (tested, others): (Vec<Expr<'p>>, Vec<Expr<'p>>) =
            conditions.iter().copied().partition(|condition| predicts(*condition));
        // PostgreSQL tests the cheapest first, and others for the rows that pass it.
        let first = tested
            .iter()
            .copied()
            .min_by(|one, other| self.level.cost(*one).total_cmp(&self.level.cost(*other)))?;
        if path.is_parameterized() || path.is_gated() {
            return None;
        }
        // The index may be one of these predictions, which then are not tested again.
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
        let wanted = demand.limit().map_or(f64::INFINITY, |limit| limit / passing);
        if rows.min(wanted) < MIN_ROWS {
            return None;
        }
        // Others may be tested before, for a row that nobody has asked for.
        let never_fails = || {
            path.kind() == PathKind::Scan
                && path.reads_table()
                && others.into_iter().all(never_errors)
        };
        let only_needed = self.reads_only_needed(
            Demand { limit: Demand::NO_LIMIT, ..demand },
            &calls,
            never_fails,
        )?;
        let below = self.level.projected(path, &columns);
        below.set_rows(rows);
        let (level, limit) = (self.level, None);
        let batch = Batch { level, below, calls: &calls, conditional: &[], limit, only_needed };
        Some(batch.testing(path, demand.may_widen))
    }

    /// What is below an aggregation or a step of window functions, or a batch on top of it.
    fn below_aggregation(&self, path: Path<'p>, below: Path<'p>, demand: Demand) -> Path<'p> {
        let mut evaluated = path.outputs();
        evaluated.extend(path.conditions());
        let mut calls = Calls::default();
        evaluated.iter().for_each(|output| calls.add_aggregated(*output));
        calls.conditional = self.worth_batching(merged(&calls, &evaluated));
        self.with_calls(below, calls, &evaluated, demand).unwrap_or(below)
    }

    /// What is below a step that makes several rows of one, or a batch on top of it.
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

    /// A batch on top of a path, which adds the calls to what is evaluated above it.
    fn with_calls(
        &self,
        below: Path<'p>,
        Calls { always: mut calls, mut conditional }: Calls<'p>,
        evaluated: &[Expr<'p>],
        demand: Demand,
    ) -> Option<Path<'p>> {
        if calls.is_empty() && conditional.is_empty() || has_few_rows(below, demand) {
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

    /// A batch on top of a path, if its rows may be read before they are asked for.
    fn batch<'a>(
        &'a self,
        below: Path<'p>,
        calls: &'a [Expr<'p>],
        conditional: &'a [ConditionalCall<'p>],
        demand: Demand,
    ) -> Option<Batch<'a, 'p>> {
        // A sort below a LIMIT keeps only as many rows as it is told that are needed, and a custom
        // node between the two would not pass that on.
        if self.level.has_limit() && leads_to_sort(below) || below.is_async() {
            return None;
        }
        let only_needed = self.reads_only_needed(demand, calls, || may_read_ahead(below))?;
        let (level, limit) = (self.level, demand.limit());
        Some(Batch { level, below, calls, conditional, limit, only_needed })
    }

    /// The calls in a row's output; nothing if there are none, or not alone.
    fn computed_calls(&self, outputs: &[Expr<'p>]) -> Option<Vec<Expr<'p>>> {
        let calls = self.calls_of(outputs);
        (!calls.is_empty() && !outputs.iter().any(|output| output.is_volatile())).then_some(calls)
    }

    /// The calls that expressions evaluate for every row, or for so many that all may be predicted: a row
    /// whose prediction fails is evaluated with its conditions.
    fn calls_of(&self, expressions: &[Expr<'p>]) -> Vec<Expr<'p>> {
        let mut found = Calls::default();
        expressions.iter().for_each(|expression| found.add(*expression));
        let Calls { mut always, conditional } = found;
        always.extend(self.worth_batching(conditional).into_iter().map(|it| it.call));
        always
    }

    /// Those calls that may be computed for all rows: many need them, and their arguments never fail.
    fn worth_batching(&self, mut calls: Vec<ConditionalCall<'p>>) -> Vec<ConditionalCall<'p>> {
        calls.retain(|ConditionalCall { call, condition }| {
            arguments_never_error(&[*call])
                && !predicts(*condition)
                && !condition.is_volatile()
                && self.level.selectivity(&[*condition]) >= MIN_SHARE
        });
        calls
    }

    /// Whether a batch may read only rows that are asked for, since reading a row can fail; nothing if that
    /// is not enough, or never more than one.
    fn reads_only_needed(
        &self,
        demand: Demand,
        calls: &[Expr<'p>],
        never_fails: impl FnOnce() -> bool,
    ) -> Option<bool> {
        let only_needed = !(arguments_never_error(calls) && never_fails());
        let has_no_effects = || *self.has_no_effects.get_or_init(|| self.level.has_no_effects());
        if only_needed && !((demand.all || demand.limit().is_some()) && has_no_effects()) {
            return None;
        }
        self.batched.borrow_mut().extend(calls);
        Some(only_needed)
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

/// What a path must return for these expressions to be computed above it; nothing if it cannot.
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

/// Whether an expression may be evaluated above a path that returns these columns, and later.
fn has_no_effects_above(expression: Expr<'_>, columns: &[Expr<'_>]) -> bool {
    columns.iter().any(|column| column.is_same_as(expression))
        || has_no_effects(expression)
        || !expression.is_volatile()
            && kind(expression) != ExprKind::Subquery
            && kind(expression) != ExprKind::Other
            && expression.children().into_iter().all(|part| has_no_effects_above(part, columns))
}

/// Asked first of all, for the sake of queries for one row.
fn has_few_rows(below: Path<'_>, demand: Demand) -> bool {
    below.rows().min(demand.limit().unwrap_or(f64::INFINITY)) < MIN_ROWS
}

/// The calls that are evaluated on a condition alone, each once with all of its conditions, and nowhere else.
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
