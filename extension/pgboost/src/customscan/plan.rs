//! Makes the plan of a batch's path.
//!
//! The plan node declares its scan tuple: the columns of the plan below and then the calls. In the node's output,
//! and in the plans above, PostgreSQL's planner replaces every expression that is equal to one of these by a
//! reference to it; no other replacement is needed. A batch that tests conditions takes them from the plan below,
//! from the first one on that predicts, so that all are tested in their order. The node's own expressions
//! (`custom_exprs`) are the conditions on which calls are needed, TRUE for always. `plan_data` records the
//! columns of a call's features.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use pg_interface::nodes::{self, Expr};
use pg_interface::report;
use pgrx::pg_guard;
use pgrx::pg_sys::{
    self, CustomPath, CustomScan, List, Node, NodeTag, Plan, PlannerInfo, RelOptInfo, TargetEntry,
    Var,
};

use super::calls::{columns_beside, prediction, predicts};
use super::plan_data::{ColumnType, PathData, PlanData, PlannedCall};
use super::{arguments, methods};
use crate::error::Error;

/// The flag that the node can compute further expressions of its columns.
pub(super) const PROJECTS: u32 = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION;

/// # Safety
/// PostgreSQL calls it with a path that `batch_path` made, and the plan below it.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn make_plan(
    root: *mut PlannerInfo,
    _relation: *mut RelOptInfo,
    path: *mut CustomPath,
    output: *mut List,
    _conditions: *mut List,
    below: *mut List,
) -> *mut Plan {
    // SAFETY: PostgreSQL passes a path of ours, with one plan below it; the node is made by its tag.
    unsafe {
        let Some(below_plan) = nodes::list_pointers::<Plan>(below).next() else {
            report::raise(Error::DamagedPlan)
        };
        let Some(PathData { limit, tests, only_needed, conditions, calls }) =
            PathData::decode((*path).custom_private)
        else {
            report::raise(Error::DamagedPlan)
        };
        let evaluated = [output, (*below_plan).qual].map(|list| Expr::all(list)).concat();
        // Without an output yet (`create_projection_plan` sets it later) any column may be needed.
        let spreads_rows = !output.is_null() && !wants_row(&evaluated, &calls);
        read_columns(root, below_plan, spreads_rows);
        let inputs = (*below_plan).targetlist;
        let plan: *mut CustomScan = nodes::make(NodeTag::T_CustomScan);
        (*plan).scan.plan.targetlist = output;
        if tests {
            (*plan).scan.plan.qual = take_conditions(below_plan);
        }
        (*plan).flags = PROJECTS;
        if pg_sys::ExecSupportsBackwardScan(below_plan) {
            (*plan).flags |= pg_sys::CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
        }
        (*plan).custom_exprs = pg_sys::copyObjectImpl(conditions.cast_const().cast()).cast();
        (*plan).custom_plans = below;
        (*plan).custom_scan_tlist = scan_tuple(inputs, &calls);
        let limit = usize::try_from(limit).unwrap_or(0);
        (*plan).custom_private = private(limit, only_needed, inputs, &calls);
        (*plan).methods = methods::scan();
        plan.cast()
    }
}

/// Returns whether these expressions use a table's whole row other than as an argument of these calls.
///
/// # Safety
/// The nodes are calls, and valid.
unsafe fn wants_row(expressions: &[Expr<'_>], calls: &[*mut Node]) -> bool {
    // SAFETY: calls are expressions.
    let calls: Vec<_> = calls.iter().map(|call| unsafe { Expr::new(*call) }).collect();
    let mut columns = Vec::new();
    expressions.iter().for_each(|expression| columns_beside(*expression, &calls, &mut columns));
    columns.into_iter().any(arguments::is_whole_row)
}

/// Lets a scan of a table return all columns as stored, if its output is a selection of them: the selection
/// costs a copy there, and none here. With `spreads_rows` this includes whole rows, which then are not
/// formed.
///
/// # Safety
/// The plan is one that is being made for that query level.
unsafe fn read_columns(root: *mut PlannerInfo, plan: *mut Plan, spreads_rows: bool) {
    // SAFETY: the plan is valid and read by its tag; a scan's number is that of a relation.
    unsafe {
        if !reads_table_rows(plan) {
            return;
        }
        let columns = nodes::list_pointers::<TargetEntry>((*plan).targetlist);
        let least = if spreads_rows { 0 } else { 1 };
        let picks = columns.map(|column| (*column).expr).all(|expression| {
            (*expression).type_ == NodeTag::T_Var && (*expression.cast::<Var>()).varattno >= least
        });
        let number = (*plan.cast::<pg_sys::Scan>()).scanrelid;
        let relation = pg_sys::find_base_rel(root, number as _);
        if picks && (*relation).rtekind == pg_sys::RTEKind::RTE_RELATION {
            let whole = pg_sys::build_physical_tlist(root, relation);
            if !whole.is_null() {
                (*plan).targetlist = whole;
            }
        }
    }
}

/// Returns whether a plan scans a table and can return its rows as stored.
///
/// # Safety
/// The plan is valid.
unsafe fn reads_table_rows(plan: *mut Plan) -> bool {
    // SAFETY: the plan is valid.
    let kind = unsafe { (*plan).type_ };
    matches!(
        kind,
        NodeTag::T_SeqScan
            | NodeTag::T_IndexScan
            | NodeTag::T_BitmapHeapScan
            | NodeTag::T_TidScan
            | NodeTag::T_TidRangeScan
    )
}

/// Takes the conditions from a plan that it tests on each row, from the first one on that predicts. A plan that
/// the planner has put on top of it tests them as before.
///
/// # Safety
/// The plan is valid.
unsafe fn take_conditions(plan: *mut Plan) -> *mut List {
    // SAFETY: the plan is valid and read by its tag; conditions and calls are expressions.
    unsafe {
        let tested: *mut *mut List = match (*plan).type_ {
            NodeTag::T_NestLoop | NodeTag::T_HashJoin | NodeTag::T_MergeJoin
                if (*plan.cast::<pg_sys::Join>()).jointype == pg_sys::JoinType::JOIN_INNER =>
            {
                &raw mut (*plan.cast::<pg_sys::Join>()).joinqual
            }
            NodeTag::T_NestLoop
            | NodeTag::T_HashJoin
            | NodeTag::T_MergeJoin
            | NodeTag::T_IndexOnlyScan
            | NodeTag::T_SubqueryScan
            | NodeTag::T_CteScan
            | NodeTag::T_ValuesScan
            | NodeTag::T_Agg => &raw mut (*plan).qual,
            _ if reads_table_rows(plan) => &raw mut (*plan).qual,
            _ => return std::ptr::null_mut(),
        };
        let conditions: Vec<*mut Node> = nodes::list_pointers(*tested).collect();
        let first = conditions.iter().position(|condition| predicts(Expr::new(*condition)));
        let first = first.unwrap_or(conditions.len());
        let (kept, taken) = conditions.split_at(first);
        *tested = nodes::list_of(kept.iter().copied());
        nodes::list_of(taken.iter().copied())
    }
}

/// # Safety
/// The list is of expressions, the nodes are calls, and all are valid.
unsafe fn scan_tuple(inputs: *mut List, calls: &[*mut Node]) -> *mut List {
    // SAFETY: the inputs are a target list.
    unsafe {
        let inputs =
            nodes::list_pointers::<TargetEntry>(inputs).map(|entry| (*entry).expr.cast::<Node>());
        let expressions = inputs.chain(calls.iter().copied()).enumerate();
        nodes::list_of(expressions.map(|(index, expression)| {
            let copy = pg_sys::copyObjectImpl(expression.cast_const().cast());
            pg_sys::makeTargetEntry(copy.cast(), index as i16 + 1, std::ptr::null_mut(), false)
        }))
    }
}

/// Returns the data of the plan: LIMIT's rows, whether only needed rows may be read, and each call with the
/// sources of its arguments.
///
/// # Safety
/// The list is of expressions, the nodes are calls, and all are valid.
unsafe fn private(
    limit: usize,
    only_needed: bool,
    inputs: *mut List,
    calls: &[*mut Node],
) -> *mut List {
    // SAFETY: makes a list; the inputs are a target list.
    unsafe {
        let calls = calls.iter().map(|call| Expr::new(*call));
        let planned = calls.map(|call| PlannedCall {
            function: prediction(call).unwrap_or_else(|| report::raise(Error::DamagedPlan)),
            arguments: arguments::sources(call, inputs),
        });
        let columns = nodes::list_pointers::<TargetEntry>(inputs);
        let columns = columns.map(|entry| column_type((*entry).expr.cast())).collect();
        PlanData { limit, only_needed, columns, calls: planned.collect() }.encode()
    }
}

/// # Safety
/// The node is an expression, and valid.
unsafe fn column_type(expression: *mut Node) -> ColumnType {
    let (mut length, mut by_value) = (0, false);
    // SAFETY: guaranteed by the caller.
    unsafe {
        let type_oid = pg_sys::exprType(expression);
        pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value);
        let by_reference = (!by_value).then_some(length);
        ColumnType { by_reference, is_real: type_oid == pg_sys::FLOAT4OID }
    }
}
