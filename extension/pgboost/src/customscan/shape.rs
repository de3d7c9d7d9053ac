//! A node as its plan has it: the columns that rows keep, the calls, the sources of the output, and how far to
//! read ahead.
//!
//! To derive it takes longer than to predict a row, so it is derived when a plan first runs, and kept with the
//! plan.

use std::rc::Rc;

use pg_interface::nodes::{self, Expr};
use pg_interface::plan_memory;
use pgrx::pg_sys::{self, CustomScan, List, NodeTag, PlannedStmt, TargetEntry};

use super::arguments::referred;
use super::call_shape::CallShape;
use super::plan_data::{ColumnType, PlanData};
use super::read_ahead::{self, ReadAhead};
use super::rows::{KeptColumn, RowShape};

pub(super) struct Shape {
    /// LIMIT's rows, 0 if unknown.
    pub(super) limit: usize,
    /// Only needed rows may be read, since reading one can fail.
    pub(super) only_needed: bool,
    /// The number of the scan tuple's columns before the calls.
    pub(super) inputs: usize,
    pub(super) rows: Rc<RowShape>,
    /// The calls, in the order of the scan tuple's last columns.
    pub(super) calls: Vec<Rc<CallShape>>,
    /// The sources of the output's columns, if it has only columns and calls.
    pub(super) direct: Option<Vec<Source>>,
    pub(super) read_ahead: ReadAhead,
}

/// The source of an output column: a kept column, or a call.
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
        let PlanData { limit, only_needed, columns, calls: planned } =
            PlanData::decode((*plan).custom_private)?;
        let inputs = columns.len();
        let memory = pg_sys::GetMemoryChunkContext(plan.cast());
        let mut calls = Vec::with_capacity(planned.len());
        for (index, planned) in planned.into_iter().enumerate() {
            let entry = nodes::list_nth((*plan).custom_scan_tlist, inputs + index)?;
            let condition = nodes::list_nth((*plan).custom_exprs, index)?;
            calls.push(CallShape::new(entry, planned, condition, memory)?);
        }
        let rows = kept_rows(plan, &columns, &mut calls);
        Some(Shape {
            limit,
            only_needed,
            inputs,
            direct: direct_sources((*plan).scan.plan.targetlist, inputs, &rows),
            rows: Rc::new(rows),
            calls: calls.into_iter().map(Rc::new).collect(),
            read_ahead: read_ahead::of(plan.cast(), statement),
        })
    }
}

/// Returns the shape of the rows, which keep the columns that the output and the calls refer to.
///
/// # Safety
/// The plan was made by `plan`.
unsafe fn kept_rows(
    plan: *mut CustomScan,
    columns: &[ColumnType],
    calls: &mut [CallShape],
) -> RowShape {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut numbers = Vec::with_capacity(columns.len());
        for list in [(*plan).scan.plan.targetlist, (*plan).scan.plan.qual, (*plan).custom_exprs] {
            add_references(list, &mut numbers);
        }
        numbers.retain(|number| *number as usize <= columns.len());
        let only_features = numbers.is_empty();
        numbers.extend(calls.iter().flat_map(CallShape::columns));
        numbers.sort_unstable();
        numbers.dedup();
        let kept = |number: i32| {
            let column_type = *columns.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
            Some(KeptColumn { number, column_type })
        };
        let kept = numbers.into_iter().filter_map(kept).collect();
        let mut rows = RowShape::new(kept, only_features);
        calls.iter_mut().for_each(|call| call.find_columns(&rows));
        // The column must be the model's name for all calls, and a feature for none.
        if only_features
            && let Some(place) = calls.first().and_then(CallShape::name_beside_rows)
            && calls.iter().all(|call| call.name_beside_rows() == Some(place))
        {
            rows.keep_names(place);
        }
        rows
    }
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

/// Returns the sources of the output's columns, if all are columns of the scan tuple.
///
/// # Safety
/// The list is of target entries, and valid.
unsafe fn direct_sources(output: *mut List, inputs: usize, rows: &RowShape) -> Option<Vec<Source>> {
    // SAFETY: the output is a target list.
    let entries = unsafe { nodes::list_pointers::<TargetEntry>(output) };
    entries
        .map(|entry| {
            // SAFETY: an entry's expression is a valid node.
            let number = unsafe { referred((*entry).expr.cast()) }?;
            match usize::try_from(number).ok()? {
                0 => None,
                call if call > inputs => Some(Source::Call(call - inputs - 1)),
                _ => Some(Source::Column(rows.place(number)?)),
            }
        })
        .collect()
}
