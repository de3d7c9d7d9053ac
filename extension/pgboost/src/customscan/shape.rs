//! A node as its plan has it: the columns that rows keep, the calls, the sources of the output, and how far to
//! read ahead.
//!
//! To derive it takes longer than to predict a row, so it is derived when a plan first runs, and kept with the
//! plan.

use std::rc::Rc;

use pg_interface::nodes::{self, Expr};
use pg_interface::plan_memory;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{
    self, CustomScan, List, MemoryContext, NodeTag, Plan, PlannedStmt, TargetEntry,
};

use super::arguments::referred;
use super::call_shape::CallShape;
use super::plan_data::{ColumnType, PlanData, TupleColumn};
use super::read_ahead::{self, ReadAhead};
use super::rows::{KeptColumn, RowShape};

pub(super) struct Shape {
    /// LIMIT's rows, 0 if unknown.
    pub(super) limit: usize,
    /// Only needed rows may be read, since reading one can fail.
    pub(super) only_needed: bool,
    pub(super) tuple: Vec<TupleColumn>,
    pub(super) rows: Rc<RowShape>,
    pub(super) calls: Vec<Rc<CallShape>>,
    /// The places of the scan tuple that are used, and their sources.
    pub(super) sources: Vec<(usize, Source)>,
    /// The places of the output and their sources, if it has only columns and calls.
    pub(super) direct: Option<Vec<(usize, Source)>>,
    pub(super) read_ahead: ReadAhead,
    /// The scan below without its output, if it returns rows as stored.
    pub(super) bare_scan: Option<*mut Plan>,
}

/// The source of a column of the output or of the scan tuple: a cell of a row, or a call.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Column(usize),
    Call(usize),
}

/// Returns the shape of a node; `None` if the plan's data is damaged.
///
/// # Safety
/// The plan was made by `plan`, and is one of the statement's.
pub(super) unsafe fn of(plan: *mut CustomScan, statement: *mut PlannedStmt) -> Option<Rc<Shape>> {
    // SAFETY: PostgreSQL allocates each node by itself; the shape refers only to parts of the plan.
    unsafe { plan_memory::kept_with(plan, || derived(plan, statement)) }
}

/// # Safety
/// As for [`of`].
unsafe fn derived(plan: *mut CustomScan, statement: *mut PlannedStmt) -> Option<Shape> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let PlanData { limit, only_needed, as_stored, columns, tuple, calls: planned } =
            PlanData::decode((*plan).custom_private)?;
        let memory = pg_sys::GetMemoryChunkContext(plan.cast());
        let mut calls = Vec::with_capacity(planned.len());
        for (index, planned) in planned.into_iter().enumerate() {
            let place = tuple.iter().position(|column| *column == TupleColumn::Call(index))?;
            let entry = nodes::list_nth((*plan).custom_scan_tlist, place)?;
            let condition = nodes::list_nth((*plan).custom_exprs, index)?;
            calls.push(CallShape::new(entry, planned, condition, memory)?);
        }
        let mut used = Vec::new();
        for list in [(*plan).scan.plan.targetlist, (*plan).scan.plan.qual, (*plan).custom_exprs] {
            add_references(list, &mut used);
        }
        used.sort_unstable();
        used.dedup();
        let rows = kept_rows(&columns, &used_below(&tuple, &used), &mut calls);
        let source = |number: i32| source_of(number, &tuple, &rows);
        let sources = used.into_iter().map(|number| Some((number as usize - 1, source(number)?)));
        Some(Shape {
            limit,
            only_needed,
            sources: sources.collect::<Option<_>>()?,
            direct: direct_sources((*plan).scan.plan.targetlist, source),
            tuple,
            rows: Rc::new(rows),
            calls: calls.into_iter().map(Rc::new).collect(),
            read_ahead: read_ahead::of(plan.cast(), statement),
            bare_scan: bare_scan(nodes::list_nth((*plan).custom_plans, 0)?, memory)
                .filter(|_| as_stored),
        })
    }
}

/// Copies a scan without its output, whose types PostgreSQL would look up whenever the scan starts, 350 instructions
/// for each column of the table. Not a sequential scan, which is worth that, and in PostgreSQL 18 is started for the
/// output that it has.
///
/// A bitmap scan keeps one column: before 15.13, 16.9 and 17.5 it reads no page whose rows are all visible if its output
/// is empty, and returns NULLs instead (`can_skip_fetch`).
///
/// # Safety
/// The plan is valid.
unsafe fn bare_scan(plan: *mut Plan, memory: MemoryContext) -> Option<*mut Plan> {
    // SAFETY: the plan is read by its tag, and as large as its node; its parts are shared. A context that is switched
    // to is valid.
    unsafe {
        let (size, kept) = match (*plan).type_ {
            NodeTag::T_IndexScan => (size_of::<pg_sys::IndexScan>(), 0),
            NodeTag::T_BitmapHeapScan => (size_of::<pg_sys::BitmapHeapScan>(), 1),
            _ => return None,
        };
        let copy = pg_sys::MemoryContextAlloc(memory, size);
        std::ptr::copy_nonoverlapping(plan.cast::<u8>(), copy.cast(), size);
        let copy: *mut Plan = copy.cast();
        let output = nodes::list_pointers::<TargetEntry>((*plan).targetlist).take(kept);
        (*copy).targetlist = PgMemoryContexts::For(memory).switch_to(|_| nodes::list_of(output));
        Some(copy)
    }
}

/// Returns the numbers of the plan below for those columns of the scan tuple that are not calls.
fn used_below(tuple: &[TupleColumn], numbers: &[i32]) -> Vec<i32> {
    let below = |number: &i32| match *tuple_column(*number, tuple)? {
        TupleColumn::Below(number) => Some(number),
        TupleColumn::Call(_) => None,
    };
    numbers.iter().filter_map(below).collect()
}

fn tuple_column(number: i32, tuple: &[TupleColumn]) -> Option<&TupleColumn> {
    tuple.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

fn source_of(number: i32, tuple: &[TupleColumn], rows: &RowShape) -> Option<Source> {
    Some(match *tuple_column(number, tuple)? {
        TupleColumn::Below(number) => Source::Column(rows.cell(number)?),
        TupleColumn::Call(index) => Source::Call(index),
    })
}

/// Returns the shape of the rows, which keep the columns that the output and the calls refer to; `needed` are those
/// of the output.
fn kept_rows(columns: &[ColumnType], needed: &[i32], calls: &mut [CallShape]) -> RowShape {
    let only_features = needed.is_empty();
    let mut numbers = needed.to_vec();
    numbers.extend(calls.iter().flat_map(CallShape::columns));
    numbers.sort_unstable();
    numbers.dedup();
    let kept = |number: i32| {
        let column_type = *columns.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
        Some(KeptColumn { number, column_type })
    };
    let kept = numbers.into_iter().filter_map(kept).collect();
    let mut rows = RowShape::new(kept, needed);
    calls.iter_mut().for_each(|call| call.find_columns(&rows));
    if !only_features && !calls.iter().all(|call| call.takes_reals) {
        // Cells would be filled from what is kept as f32.
        rows.keep_cells();
    }
    // The column must be the model's name for all calls, and a feature for none.
    if only_features
        && let Some(place) = calls.first().and_then(CallShape::name_beside_rows)
        && calls.iter().all(|call| call.name_beside_rows() == Some(place))
    {
        rows.keep_names(place);
    }
    rows
}

/// Adds the numbers of the scan tuple's columns that expressions refer to.
///
/// # Safety
/// The list is of expressions, and valid.
unsafe fn add_references(list: *mut List, numbers: &mut Vec<i32>) {
    fn add(expression: Expr<'_>, numbers: &mut Vec<i32>) {
        // SAFETY: an expression is a valid node.
        numbers.extend(unsafe { referred(expression.node()) });
        expression.children().into_iter().for_each(|part| add(part, numbers));
    }
    // SAFETY: the nodes are valid, and read by their tags.
    unsafe {
        for mut node in nodes::list_pointers::<pg_sys::Node>(list) {
            if (*node).type_ == NodeTag::T_TargetEntry {
                node = (*node.cast::<TargetEntry>()).expr.cast();
            }
            match (*node).type_ {
                NodeTag::T_Var => numbers.extend(referred(node)),
                NodeTag::T_Const => {}
                _ => add(Expr::new(node), numbers),
            }
        }
    }
}

/// Returns the places of the output's columns and their sources, if all are columns of the scan tuple.
///
/// # Safety
/// The list is of target entries, and valid.
unsafe fn direct_sources(
    output: *mut List,
    source: impl Fn(i32) -> Option<Source>,
) -> Option<Vec<(usize, Source)>> {
    // SAFETY: the output is a target list, and an entry's expression a valid node.
    unsafe {
        let entries = nodes::list_pointers::<TargetEntry>(output).enumerate();
        entries
            .map(|(place, entry)| Some((place, source(referred((*entry).expr.cast())?)?)))
            .collect()
    }
}
