//! Prepares a node to run, from its plan.
//!
//! A statement of one row pays for all of this, so rarely needed state is made on demand: the output with the
//! calls in it (`plain`) for the first row that is evaluated without a batch, and room for rows as they are read.
//! The plan's `plan_data` has what is known when the plan is made.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::ffi::CStr;

use pg_interface::nodes::{self, Expr};
use pg_interface::{catalog, report};
use pgrx::pg_sys::{
    self, CustomScan, CustomScanState, EState, List, MemoryContext, NodeTag, TargetEntry,
};
use pgrx::{PgMemoryContexts, pg_guard};

use super::arguments::referred;
use super::batched_call::Call;
use super::exec::{Node, State};
use super::plan_data::{ColumnType, PlanData};
use super::read_ahead;
use super::row_output::{RowOutput, Source};
use super::rows::{KeptColumn, Rows};
use crate::error::Error;

/// # Safety
/// PostgreSQL calls it with a state that `create` made.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn begin(
    state: *mut CustomScanState,
    executor: *mut EState,
    flags: i32,
) {
    // SAFETY: PostgreSQL passes a state made by `create`, whose plan was made by `plan`; the current
    // memory context is the query's.
    unsafe {
        let plan = (*state).ss.ps.plan.cast::<CustomScan>();
        let Some(below) = nodes::list_nth((*plan).custom_plans, 0) else {
            report::raise(Error::DamagedPlan)
        };
        let below = pg_sys::ExecInitNode(below, executor, flags);
        (*state).custom_ps = pg_sys::lappend(std::ptr::null_mut(), below.cast());
        let Some(output) = row_output(state) else { report::raise(Error::DamagedPlan) };
        let (output, data) = output;
        let read_ahead = read_ahead::of(plan.cast(), (*executor).es_plannedstmt);
        let node = Node {
            below,
            output,
            reading: memory(c"pgboost features"),
            position: 0,
            size: 0,
            expected: data.limit,
            limit: data.limit,
            ended: false,
            end_told: false,
            prepared: false,
            read_ahead,
            only_needed: data.only_needed,
        };
        let mut memory = PgMemoryContexts::For((*executor).es_query_cxt);
        (*state.cast::<State>()).node = memory.leak_and_drop_on_delete(node);
    }
}

/// Makes the row output; also returns the plan's data without its calls.
///
/// # Safety
/// The plan was made by `plan`; the current memory context is the query's.
unsafe fn row_output(scan: *mut CustomScanState) -> Option<(RowOutput, PlanData)> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let plan = (*scan).ss.ps.plan.cast::<CustomScan>();
        let tuple = (*plan).custom_scan_tlist;
        let mut data = PlanData::decode((*plan).custom_private)?;
        let inputs = data.columns.len();
        let mut calls = Vec::with_capacity(data.calls.len());
        for (index, planned) in data.calls.drain(..).enumerate() {
            let entry = nodes::list_nth(tuple, inputs + index)?;
            let condition = nodes::list_nth((*plan).custom_exprs, index)?;
            calls.push(Call::new(entry, planned, condition)?);
        }
        // Checked here, since `plain`, which checks it too, may never be made.
        calls.iter().for_each(|call| catalog::require_execute(call.function()));
        let rows = kept_rows(plan, &data.columns, &mut calls);
        let output = RowOutput {
            plain: None,
            direct: direct_sources((*plan).scan.plan.targetlist, inputs, &rows),
            scan,
            calls,
            inputs,
            rows,
            validity: None,
        };
        Some((output, data))
    }
}

/// Makes the rows of a batch, which keep the columns that the output and the calls refer to.
///
/// # Safety
/// The plan was made by `plan`.
unsafe fn kept_rows(plan: *mut CustomScan, columns: &[ColumnType], calls: &mut [Call]) -> Rows {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut numbers = Vec::with_capacity(columns.len());
        for list in [(*plan).scan.plan.targetlist, (*plan).scan.plan.qual, (*plan).custom_exprs] {
            add_references(list, &mut numbers);
        }
        numbers.retain(|number| *number as usize <= columns.len());
        let only_features = numbers.is_empty();
        numbers.extend(calls.iter().flat_map(Call::columns));
        numbers.sort_unstable();
        numbers.dedup();
        let kept = |number: i32| {
            let column_type = *columns.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
            Some(KeptColumn { number, column_type })
        };
        let kept = numbers.into_iter().filter_map(kept).collect();
        let mut rows = Rows::new(kept, only_features, memory(c"pgboost batch"));
        calls.iter_mut().for_each(|call| call.find_columns(&rows));
        // The column must be the model's name for all calls, and a feature for none.
        if only_features
            && let Some(place) = calls.first().and_then(Call::name_beside_rows)
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

/// # Safety
/// PostgreSQL's memory may be allocated.
unsafe fn memory(name: &'static CStr) -> MemoryContext {
    // SAFETY: the name lives for ever.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            pg_sys::CurrentMemoryContext,
            name.as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        )
    }
}

/// Returns the sources of the output's columns, if all are columns of the scan tuple.
///
/// # Safety
/// The list is of target entries, and valid.
unsafe fn direct_sources(output: *mut List, inputs: usize, rows: &Rows) -> Option<Vec<Source>> {
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
