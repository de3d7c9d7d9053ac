//! Makes the plan of a batch's path.
//!
//! The plan node declares its scan tuple: the calls, and the columns of the plan below that are used besides. In the
//! node's output, and in the plans above, PostgreSQL's planner replaces every expression that is equal to one of these
//! by a reference to it; no other replacement is needed. Features are no columns of it, because PostgreSQL looks up
//! the type of each column whenever a statement starts. A batch that tests conditions takes them from the plan below,
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
use super::plan_data::{ColumnType, PathData, PlanData, PlannedCall, TupleColumn};
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
        let as_stored = read_columns(root, below_plan, spreads_rows);
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
        let mut tuple = available(inputs, &calls);
        if !output.is_null() {
            let lists = [output, (*plan).scan.plan.qual, (*plan).custom_exprs];
            tuple = used(&tuple, &lists.map(|list| Expr::all(list)).concat());
        }
        (*plan).custom_scan_tlist = scan_tuple(&tuple);
        let limit = usize::try_from(limit).unwrap_or(0);
        let data = PlanData {
            limit,
            only_needed,
            as_stored,
            columns: column_types(inputs),
            tuple: tuple.into_iter().map(|(column, _)| column).collect(),
            calls: planned_calls(inputs, &calls),
        };
        (*plan).custom_private = data.encode();
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
/// formed. Returns whether it does.
///
/// # Safety
/// The plan is one that is being made for that query level.
unsafe fn read_columns(root: *mut PlannerInfo, plan: *mut Plan, spreads_rows: bool) -> bool {
    // SAFETY: the plan is valid and read by its tag; a scan's number is that of a relation.
    unsafe {
        if !reads_table_rows(plan) {
            return false;
        }
        let columns = nodes::list_pointers::<TargetEntry>((*plan).targetlist);
        let least = if spreads_rows { 0 } else { 1 };
        let picks = columns.map(|column| (*column).expr).all(|expression| {
            (*expression).type_ == NodeTag::T_Var && (*expression.cast::<Var>()).varattno >= least
        });
        let number = (*plan.cast::<pg_sys::Scan>()).scanrelid;
        let relation = pg_sys::find_base_rel(root, number as _);
        if !picks || (*relation).rtekind != pg_sys::RTEKind::RTE_RELATION {
            return false;
        }
        let whole = pg_sys::build_physical_tlist(root, relation);
        if !whole.is_null() {
            (*plan).targetlist = whole;
        }
        !whole.is_null()
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

/// Returns the expressions that the scan tuple can have: the columns of the plan below, and the calls.
///
/// # Safety
/// The list is of expressions, the nodes are calls, and all are valid for `'p`.
unsafe fn available<'p>(inputs: *mut List, calls: &[*mut Node]) -> Vec<(TupleColumn, Expr<'p>)> {
    // SAFETY: the inputs are a target list.
    unsafe {
        let inputs = nodes::list_pointers::<TargetEntry>(inputs).zip(1..);
        let inputs = inputs
            .map(|(entry, number)| (TupleColumn::Below(number), Expr::new((*entry).expr.cast())));
        let calls = calls.iter().enumerate();
        inputs
            .chain(calls.map(|(index, call)| (TupleColumn::Call(index), Expr::new(*call))))
            .collect()
    }
}

/// Returns the calls, and the other columns that the planner will refer to in these expressions. Those that are used
/// come first, in the order of their use: if they are the output, PostgreSQL makes no projection.
fn used<'p>(
    available: &[(TupleColumn, Expr<'p>)],
    expressions: &[Expr<'p>],
) -> Vec<(TupleColumn, Expr<'p>)> {
    let mut used = Vec::new();
    expressions.iter().for_each(|expression| add_used(available, *expression, &mut used));
    for (column, call) in available {
        if matches!(column, TupleColumn::Call(_)) && !used.iter().any(|(other, _)| other == column)
        {
            used.push((*column, *call));
        }
    }
    used
}

/// Adds what an expression uses, found from the top down as the planner replaces it.
fn add_used<'p>(
    available: &[(TupleColumn, Expr<'p>)],
    expression: Expr<'p>,
    used: &mut Vec<(TupleColumn, Expr<'p>)>,
) {
    let is_found =
        |whole: Expr<'_>| whole.is_same_as(expression) || whole.is_same_column(expression);
    match available.iter().find(|(_, whole)| is_found(*whole)) {
        Some(found) if used.iter().any(|(column, _)| *column == found.0) => {}
        Some(found) => used.push(*found),
        None => expression.children().into_iter().for_each(|part| add_used(available, part, used)),
    }
}

/// # Safety
/// The expressions are valid.
unsafe fn scan_tuple(columns: &[(TupleColumn, Expr<'_>)]) -> *mut List {
    // SAFETY: guaranteed by the caller.
    unsafe {
        nodes::list_of(columns.iter().zip(1..).map(|((_, expression), number)| {
            let copy = pg_sys::copyObjectImpl(expression.node().cast_const().cast());
            pg_sys::makeTargetEntry(copy.cast(), number, std::ptr::null_mut(), false)
        }))
    }
}

/// Returns the calls with the sources of their arguments.
///
/// # Safety
/// The list is of expressions, the nodes are calls, and all are valid.
unsafe fn planned_calls(inputs: *mut List, calls: &[*mut Node]) -> Vec<PlannedCall> {
    // SAFETY: the inputs are a target list.
    unsafe {
        let calls = calls.iter().map(|call| Expr::new(*call));
        let planned = calls.map(|call| PlannedCall {
            function: prediction(call).unwrap_or_else(|| report::raise(Error::DamagedPlan)),
            arguments: arguments::sources(call, inputs),
        });
        planned.collect()
    }
}

/// # Safety
/// The list is a target list, and valid.
unsafe fn column_types(inputs: *mut List) -> Vec<ColumnType> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let columns = nodes::list_pointers::<TargetEntry>(inputs);
        columns.map(|entry| column_type((*entry).expr.cast())).collect()
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
