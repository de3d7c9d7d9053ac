//! Prepares a batch to run, from its plan and the columns that its output and its calls need, and the tables
//! of functions by which PostgreSQL starts and runs the node.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::ffi::CStr;

use pg_interface::nodes::{self, Expr};
use pg_interface::report;
use pgrx::pg_sys::{
    self, CustomExecMethods, CustomScan, CustomScanMethods, CustomScanState, EState, List,
    MemoryContext, NodeTag, PlanState, ProjectionInfo, TargetEntry, Var,
};
use pgrx::{PgMemoryContexts, pg_guard};

use super::arguments::{self, ArgumentSource};
use super::batched_call::Call;
use super::exec::{self, Node, State};
use super::paths::NAME;
use super::row_output::{RowOutput, Source};
use super::rows::{KeptColumn, Rows};
use super::{explain, read_ahead};
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
        let Some(below) = nodes::list_pointers((*plan).custom_plans).next() else { return };
        let below = pg_sys::ExecInitNode(below, executor, flags);
        (*state).custom_ps = pg_sys::lappend(std::ptr::null_mut(), below.cast());
        let node = new_node(state, below);
        let mut memory = PgMemoryContexts::For((*executor).es_query_cxt);
        (*state.cast::<State>()).node = memory.leak_and_drop_on_delete(node);
    }
}

/// # Safety
/// The plan was made by `plan`; the current memory context is the query's.
unsafe fn new_node(scan: *mut CustomScanState, below: *mut PlanState) -> Node {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let plan = (*scan).ss.ps.plan.cast::<CustomScan>();
        let tuple = (*plan).custom_scan_tlist;
        let mut private = nodes::list_pointers::<List>((*plan).custom_private);
        let numbers: Vec<i32> = private
            .next()
            .map(|numbers| nodes::list_integers(numbers).collect())
            .unwrap_or_default();
        let [limit, only_needed] = numbers[..] else { report::raise(Error::NoRegistry) };
        let sources: Vec<Vec<ArgumentSource>> =
            private.map(|recorded| arguments::read(nodes::list_integers(recorded))).collect();
        let inputs = nodes::list_pointers::<pg_sys::Node>(tuple).count() - sources.len();
        let calls: Option<Vec<Call>> = nodes::list_pointers::<TargetEntry>(tuple)
            .skip(inputs)
            .zip(&sources)
            .zip(nodes::list_pointers((*plan).custom_exprs))
            .map(|((entry, sources), condition)| Call::new(entry, sources, tuple, condition))
            .collect();
        // PostgreSQL plans again when a function is gone.
        let mut calls = calls.unwrap_or_else(|| report::raise(Error::NoRegistry));
        let mut wanted = references((*plan).scan.plan.targetlist);
        wanted.extend(references((*plan).scan.plan.qual));
        wanted.extend(references((*plan).custom_exprs));
        wanted.retain(|column| *column as usize <= inputs);
        let only_features = wanted.is_empty();
        wanted.extend(sources.iter().flatten().flat_map(ArgumentSource::columns));
        wanted.sort_unstable();
        wanted.dedup();
        let kept = wanted.iter().filter_map(|number| kept(*number, tuple)).collect();
        let mut rows = Rows::new(kept, only_features, memory(c"pgboost batch"));
        for (call, sources) in calls.iter_mut().zip(&sources) {
            call.find_columns(sources, &rows);
        }
        // Which column is the model's name to one call may be a feature to none.
        if only_features
            && let Some(place) = calls.first().and_then(Call::name_beside_rows)
            && calls.iter().all(|call| call.name_beside_rows() == Some(place))
        {
            rows.keep_names(place);
        }
        let limit = usize::try_from(limit).unwrap_or(0);
        let statement = (*scan).ss.ps.state;
        let read_ahead =
            (only_needed != 0).then(|| read_ahead::of(plan.cast(), (*statement).es_plannedstmt));
        let output = RowOutput {
            plain: plain_projection(scan, inputs, &calls),
            plain_conditions: pg_sys::ExecInitQual(
                plainly((*plan).scan.plan.qual, inputs, &calls),
                &raw mut (*scan).ss.ps,
            ),
            direct: direct_sources((*plan).scan.plan.targetlist, inputs, &rows),
            scan,
            calls,
            inputs,
            rows,
            validity: None,
        };
        Node {
            below,
            output,
            reading: memory(c"pgboost features"),
            position: 0,
            size: 0,
            expected: limit,
            limit,
            ended: false,
            end_told: false,
            read_ahead,
        }
    }
}

/// The numbers of the scan tuple's columns that an output refers to.
///
/// # Safety
/// The list is of target entries, and valid.
unsafe fn references(output: *mut List) -> Vec<i32> {
    fn collect(expression: Expr<'_>, numbers: &mut Vec<i32>) {
        // SAFETY: an expression is a valid node.
        numbers.extend(unsafe { reference(expression.node()) });
        expression.children().into_iter().for_each(|part| collect(part, numbers));
    }
    let mut numbers = Vec::new();
    // SAFETY: the output is a list of expressions.
    unsafe { Expr::all(output) }.into_iter().for_each(|entry| collect(entry, &mut numbers));
    numbers
}

/// The number of the scan tuple's column that a node refers to, if it is a reference.
///
/// # Safety
/// The node is an expression, and valid.
unsafe fn reference(node: *mut pg_sys::Node) -> Option<i32> {
    // SAFETY: the node is valid and is read by its tag.
    unsafe {
        let variable = node.cast::<Var>();
        let refers = (*node).type_ == NodeTag::T_Var
            && (*variable).varno as i64 == i64::from(pg_sys::INDEX_VAR);
        refers.then(|| (*variable).varattno.into())
    }
}

/// # Safety
/// The list is of target entries, and valid.
unsafe fn kept(number: i32, tuple: *mut List) -> Option<KeptColumn> {
    // SAFETY: the tuple is a target list.
    unsafe {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        let entry = nodes::list_pointers::<TargetEntry>(tuple).nth(place)?;
        let (mut length, mut by_value) = (0, false);
        let type_oid = pg_sys::exprType((*entry).expr.cast());
        pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value);
        let by_reference = (!by_value).then_some(length);
        Some(KeptColumn { number, by_reference, is_real: type_oid == pg_sys::FLOAT4OID })
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

/// # Safety
/// The state is that of a node that begins, and the lists are its plan's.
unsafe fn plain_projection(
    scan: *mut CustomScanState,
    inputs: usize,
    calls: &[Call],
) -> *mut ProjectionInfo {
    // SAFETY: the state's slots and contexts were made before the node begins.
    unsafe {
        pg_sys::ExecBuildProjectionInfo(
            plainly((*(*scan).ss.ps.plan).targetlist, inputs, calls),
            (*scan).ss.ps.ps_ExprContext,
            (*scan).ss.ps.ps_ResultTupleSlot,
            &raw mut (*scan).ss.ps,
            (*(*scan).ss.ss_ScanTupleSlot).tts_tupleDescriptor,
        )
    }
}

/// A copy of a list of expressions with the calls in place of the references to their columns.
///
/// # Safety
/// The list is of target entries, and valid.
unsafe fn plainly(expressions: *mut List, inputs: usize, calls: &[Call]) -> *mut List {
    let mut calls = WithCalls { inputs, calls };
    // SAFETY: the expressions are over the scan tuple.
    unsafe { with_calls(expressions.cast(), std::ptr::from_mut(&mut calls).cast()).cast() }
}

struct WithCalls<'a> {
    inputs: usize,
    calls: &'a [Call],
}

/// A copy of an expression with the calls in place of the references to their columns.
///
/// # Safety
/// The list is of expressions, and valid.
unsafe extern "C-unwind" fn with_calls(
    node: *mut pg_sys::Node,
    context: *mut std::ffi::c_void,
) -> *mut pg_sys::Node {
    if node.is_null() {
        return node;
    }
    // SAFETY: PostgreSQL hands through what `plainly` passes; the node is read by its tag.
    unsafe {
        let calls = &*context.cast::<WithCalls<'_>>();
        match reference(node).and_then(|number| usize::try_from(number).ok()) {
            Some(number) if number > calls.inputs => {
                let call = calls.calls.get(number - calls.inputs - 1);
                call.map_or(node, |call| call.if_wanted)
            }
            _ => mutated(node, context),
        }
    }
}

/// A copy of a node whose parts went through `with_calls`.
///
/// # Safety
/// The node is null or valid, and the context is the one that `with_calls` passed.
unsafe fn mutated(node: *mut pg_sys::Node, context: *mut std::ffi::c_void) -> *mut pg_sys::Node {
    type Mutator =
        unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut std::ffi::c_void) -> *mut pg_sys::Node;
    // SAFETY: in PostgreSQL 15 the parameter's type does not name its arguments, which are these.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::expression_tree_mutator(
            node,
            Some(
                std::mem::transmute::<Mutator, unsafe extern "C-unwind" fn() -> *mut pg_sys::Node>(
                    with_calls,
                ),
            ),
            context,
        );
        #[cfg(not(feature = "pg15"))]
        return pg_sys::expression_tree_mutator_impl(
            node,
            Some(std::mem::transmute::<Mutator, _>(with_calls)),
            context,
        );
    }
}

/// Where the output's columns come from, if all of them are columns of the scan tuple.
///
/// # Safety
/// The list is of target entries, and valid.
unsafe fn direct_sources(output: *mut List, inputs: usize, rows: &Rows) -> Option<Vec<Source>> {
    // SAFETY: the output is a target list.
    let entries = unsafe { nodes::list_pointers::<TargetEntry>(output) };
    entries
        .map(|entry| {
            // SAFETY: an entry's expression is a valid node.
            let number = unsafe { reference((*entry).expr.cast()) }?;
            match usize::try_from(number).ok()? {
                0 => None,
                call if call > inputs => Some(Source::Call(call - inputs - 1)),
                _ => {
                    let place = rows.columns.iter().position(|kept| kept.number == number)?;
                    Some(Source::Column(place))
                }
            }
        })
        .collect()
}

/// A table of functions, which is never written to.
pub(super) struct Methods<T>(pub T);

// SAFETY: the tables hold pointers to functions and literals only.
unsafe impl<T> Sync for Methods<T> {}

static SCAN: Methods<CustomScanMethods> =
    Methods(CustomScanMethods { CustomName: NAME.as_ptr(), CreateCustomScanState: Some(create) });

static EXEC: Methods<CustomExecMethods> = Methods(CustomExecMethods {
    CustomName: NAME.as_ptr(),
    BeginCustomScan: Some(begin),
    ExecCustomScan: Some(exec::next),
    EndCustomScan: Some(exec::end),
    ReScanCustomScan: Some(exec::rescan),
    MarkPosCustomScan: None,
    RestrPosCustomScan: None,
    EstimateDSMCustomScan: None,
    InitializeDSMCustomScan: None,
    ReInitializeDSMCustomScan: None,
    InitializeWorkerCustomScan: None,
    ShutdownCustomScan: None,
    ExplainCustomScan: Some(explain::explain),
});

pub(super) fn scan() -> *const CustomScanMethods {
    &raw const SCAN.0
}

/// Tells PostgreSQL of the node, so that a parallel worker knows it by its name.
pub(crate) fn register() {
    // SAFETY: the table lives for ever.
    unsafe { pg_sys::RegisterCustomScanMethods(scan()) }
}

/// # Safety
/// PostgreSQL calls it with a plan that `make_plan` made.
#[pg_guard]
unsafe extern "C-unwind" fn create(_plan: *mut CustomScan) -> *mut pg_sys::Node {
    // SAFETY: the state begins with PostgreSQL's, and so with its tag.
    unsafe {
        let state: *mut State = nodes::make(NodeTag::T_CustomScanState);
        (*state).scan.methods = &raw const EXEC.0;
        state.cast()
    }
}
