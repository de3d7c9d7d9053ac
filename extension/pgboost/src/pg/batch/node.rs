//! Runs a batch: asks the plan below for rows, has them scored, and hands them out.
//!
//! Batches grow: one row, then 8, 64 and 512, so that a query that wants one row pays for one. A
//! batch of one row is not scored here; the node's output is then evaluated with the calls in it,
//! as a plan without this node would. The same is done with every row of a larger batch that could
//! not be scored, and with what is left of a batch when the model, the user or a setting may have
//! changed since. So an error comes when its row is asked for, from the same code as ever.
//!
//! Conditions, where the node has any, are tested when a row would be handed out, and those that do
//! not pass are passed over. So they too fail for the row that is asked for and for no later one.

use std::time::Instant;

use pg_interface::report;
use pgrx::pg_sys::{self, Datum, NodeTag};
use pgrx::{PgMemoryContexts, pg_guard};

use super::call::Call;
use super::rows::Rows;
use super::{explain, frames};
use crate::api::batch::Circumstances;
use crate::pg::lists;

/// Sizes of batches, one after another; the last one stays.
const SIZES: [usize; 4] = [1, 8, 64, 512];
/// The largest batch.
pub(super) const LARGEST: usize = SIZES[SIZES.len() - 1];

static METHODS: super::plan::Methods<pg_sys::CustomExecMethods> =
    super::plan::Methods(pg_sys::CustomExecMethods {
        CustomName: c"BatchPredict".as_ptr(),
        BeginCustomScan: Some(begin),
        ExecCustomScan: Some(next),
        EndCustomScan: Some(end),
        ReScanCustomScan: Some(rescan),
        MarkPosCustomScan: None,
        RestrPosCustomScan: None,
        EstimateDSMCustomScan: None,
        InitializeDSMCustomScan: None,
        ReInitializeDSMCustomScan: None,
        InitializeWorkerCustomScan: None,
        ShutdownCustomScan: None,
        ExplainCustomScan: Some(explain::explain),
    });

/// What PostgreSQL knows of a running node, and behind it the rest.
#[repr(C)]
struct State {
    scan: pg_sys::CustomScanState,
    node: *mut Node,
}

/// A running node.
pub(super) struct Node {
    pub(super) scan: *mut pg_sys::CustomScanState,
    pub(super) below: *mut pg_sys::PlanState,
    /// The calls, in the order of the scan tuple's last columns.
    pub(super) calls: Vec<Call>,
    /// How many columns of the scan tuple come before the calls.
    pub(super) inputs: usize,
    pub(super) rows: Rows,
    /// The node's output with the calls in it.
    pub(super) plain: *mut pg_sys::ProjectionInfo,
    /// The node's conditions with the calls in them, or null if it has none.
    pub(super) plain_conditions: *mut pg_sys::ExprState,
    /// Where the output's columns come from, if it is columns and calls alone.
    pub(super) direct: Option<Vec<Source>>,
    /// Memory for reading rows' features.
    pub(super) reading: pg_sys::MemoryContext,
    /// How the results came about.
    pub(super) circumstances: Option<Circumstances>,
    /// How many rows of the batch have been handed out.
    pub(super) position: usize,
    /// Index of the next batch's size.
    pub(super) size: usize,
    /// How many rows LIMIT asks for that have not been read yet; 0 if that is not known.
    pub(super) expected: usize,
    /// LIMIT's rows, to begin anew with.
    pub(super) limit: usize,
    /// Whether the plan below has said that there are no more rows.
    pub(super) ended: bool,
    /// Whether this node has.
    pub(super) end_told: bool,
}

/// Where a column of the output comes from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// A kept column.
    Column(usize),
    /// A call.
    Call(usize),
}

#[pg_guard]
pub(super) unsafe extern "C-unwind" fn create(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    // SAFETY: a node of zeros but for its tag is what makeNode gives.
    unsafe {
        let state: *mut State = pg_sys::palloc0(size_of::<State>()).cast();
        (*state).scan.ss.ps.type_ = NodeTag::T_CustomScanState;
        (*state).scan.methods = &raw const METHODS.0;
        state.cast()
    }
}

/// The node of a state, once it has begun.
pub(super) unsafe fn node_of<'a>(state: *mut pg_sys::CustomScanState) -> &'a mut Node {
    // SAFETY: the state was made by `create`, and `begin` has set its node.
    unsafe { &mut *(*state.cast::<State>()).node }
}

#[pg_guard]
unsafe extern "C-unwind" fn begin(
    state: *mut pg_sys::CustomScanState,
    executor: *mut pg_sys::EState,
    flags: i32,
) {
    // SAFETY: PostgreSQL passes a state made by `create`, whose plan was made by `plan`; the current
    // memory context is the query's.
    unsafe {
        let plan = (*state).ss.ps.plan.cast::<pg_sys::CustomScan>();
        let Some(below) = lists::pointers((*plan).custom_plans).next() else { return };
        let below = pg_sys::ExecInitNode(below, executor, flags);
        (*state).custom_ps = pg_sys::lappend(std::ptr::null_mut(), below.cast());
        let node = Node::new(state, below);
        let mut memory = PgMemoryContexts::For((*executor).es_query_cxt);
        (*state.cast::<State>()).node = memory.leak_and_drop_on_delete(node);
    }
}

impl Node {
    /// How many rows the next batch is to have.
    fn next_size(&self) -> usize {
        let size = SIZES.get(self.size).copied().unwrap_or(LARGEST);
        let size = if self.expected > 0 { size.min(self.expected) } else { size };
        size.min(self.memory() / self.row_bytes()).max(1)
    }

    /// Bytes that a row takes here.
    fn row_bytes(&self) -> usize {
        let scoring: usize = self.calls.iter().map(|call| call.scorer.row_bytes()).sum();
        (self.rows.row_bytes() + scoring).max(1)
    }

    /// Bytes that a batch may take.
    fn memory(&self) -> usize {
        // SAFETY: a variable of the backend.
        usize::try_from(unsafe { pg_sys::work_mem }).unwrap_or(0) << 10
    }

    /// Scores the rows of the batch.
    fn score(&mut self) {
        report::check_for_interrupts();
        // SAFETY: the state is running; it is measured only under EXPLAIN ANALYZE.
        let instrument = unsafe { (*self.scan).ss.ps.instrument.as_mut() };
        let began = instrument.as_ref().filter(|it| it.need_timer).map(|_| Instant::now());
        // What changes from now on may come too late for this batch.
        let circumstances = Circumstances::now();
        let (rows, calls, reading) = (&self.rows, &mut self.calls, self.reading);
        // SAFETY: the batch's memory lives until the next batch.
        unsafe {
            PgMemoryContexts::For(rows.memory())
                .switch_to(|_| calls.iter_mut().for_each(|call| call.score(rows, reading)));
        }
        let categories = self.calls.iter().any(|call| call.scorer.has_categories());
        self.circumstances =
            Some(if categories { circumstances } else { circumstances.without_categories() });
        if let Some(instrument) = instrument {
            // These two fields mean nothing for such a node, and PostgreSQL adds them up over
            // parallel workers.
            instrument.ntuples2 += self.rows.count as f64;
            instrument.nfiltered2 += began.map_or(0.0, |began| began.elapsed().as_secs_f64());
        }
    }

    fn forget_batch(&mut self) {
        self.rows.count = 0;
        self.position = 0;
        self.circumstances = None;
    }
}

/// Makes room for a batch.
#[pg_guard]
unsafe extern "C-unwind" fn make_room(node: &mut Node, rows: usize) {
    node.rows.make_room(rows);
}

/// Scores a batch.
#[pg_guard]
unsafe extern "C-unwind" fn score(node: &mut Node) {
    node.score();
}

/// Hands out the next row. Runs on frames as `frames` describes them, and so do the functions below.
unsafe extern "C-unwind" fn next(
    state: *mut pg_sys::CustomScanState,
) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: PostgreSQL passes a running node.
    unsafe {
        let node = node_of(state);
        if (*(*state).ss.ps.state).es_direction == pg_sys::ScanDirection::BackwardScanDirection {
            return back(node);
        }
        loop {
            if node.position < node.rows.count {
                let row = node.position;
                node.position += 1;
                let slot = hand_out(node, row);
                if slot.is_null() {
                    continue;
                }
                return slot;
            }
            if node.ended {
                node.end_told = true;
                return std::ptr::null_mut();
            }
            let size = node.next_size();
            node.size += 1;
            node.expected = node.expected.saturating_sub(size);
            if size == 1 {
                let slot = frames::next_row(node.below);
                node.ended = slot.is_null();
                if !node.ended {
                    let slot = evaluate_plainly(node, slot);
                    if !slot.is_null() {
                        return slot;
                    }
                }
            } else {
                read_ahead(node, size);
            }
        }
    }
}

/// Reads a batch and scores it.
unsafe fn read_ahead(node: &mut Node, size: usize) {
    // SAFETY: as for `next`.
    unsafe {
        make_room(node, size);
        node.position = 0;
        node.rows.clear();
        let memory = node.memory();
        while node.rows.count < size && node.rows.copied < memory {
            let slot = frames::next_row(node.below);
            if slot.is_null() {
                node.ended = true;
                break;
            }
            node.rows.push(slot);
        }
        if node.rows.count > 0 {
            score(node);
        }
    }
}

/// The output of a row of the plan below, with the calls evaluated one by one; null if a condition
/// is not met.
unsafe fn evaluate_plainly(
    node: &mut Node,
    slot: *mut pg_sys::TupleTableSlot,
) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: as for `next`.
    unsafe {
        frames::take_apart(slot, node.rows.last_column);
        let tuple = (*node.scan).ss.ss_ScanTupleSlot;
        frames::clear(tuple);
        for column in &node.rows.columns {
            let place = column.number as usize - 1;
            *(*tuple).tts_values.add(place) = *(*slot).tts_values.add(place);
            *(*tuple).tts_isnull.add(place) = *(*slot).tts_isnull.add(place);
        }
        output_if(node, node.plain_conditions, node.plain)
    }
}

/// The output of a row of the batch; null if a condition is not met.
#[inline]
unsafe fn hand_out(node: &mut Node, row: usize) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: as for `next`.
    unsafe {
        let scored = node.circumstances.is_some_and(Circumstances::hold)
            && node.calls.iter().all(|call| call.results.get(row).is_some_and(Option::is_some));
        let conditions = (*node.scan).ss.ps.qual;
        if scored
            && conditions.is_null()
            && let Some(sources) = &node.direct
        {
            return output_directly(node, sources, row);
        }
        let tuple = (*node.scan).ss.ss_ScanTupleSlot;
        frames::clear(tuple);
        let (values, nulls) = node.rows.row(row);
        for ((column, value), null) in node.rows.columns.iter().zip(values).zip(nulls) {
            let place = column.number as usize - 1;
            *(*tuple).tts_values.add(place) = *value;
            *(*tuple).tts_isnull.add(place) = *null;
        }
        if !scored {
            return output_if(node, node.plain_conditions, node.plain);
        }
        for (index, call) in node.calls.iter().enumerate() {
            if let Some(Some(result)) = call.results.get(row) {
                *(*tuple).tts_values.add(node.inputs + index) = *result;
                *(*tuple).tts_isnull.add(node.inputs + index) = false;
            }
        }
        output_if(node, conditions, (*node.scan).ss.ps.ps_ProjInfo)
    }
}

/// The output, if the scan tuple meets these conditions; else null.
#[inline]
unsafe fn output_if(
    node: &Node,
    conditions: *mut pg_sys::ExprState,
    projection: *mut pg_sys::ProjectionInfo,
) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: as for `next`; the conditions are over the scan tuple.
    unsafe {
        if !conditions.is_null() {
            let context = (*node.scan).ss.ps.ps_ExprContext;
            frames::mark_filled((*node.scan).ss.ss_ScanTupleSlot);
            frames::forget_last_row(context);
            (*context).ecxt_scantuple = (*node.scan).ss.ss_ScanTupleSlot;
            if !frames::are_met(conditions, context) {
                if let Some(instrument) = (*node.scan).ss.ps.instrument.as_mut() {
                    instrument.nfiltered1 += 1.0;
                }
                return std::ptr::null_mut();
            }
        }
        output(node, projection)
    }
}

/// The output, computed from the scan tuple; the scan tuple itself if they are the same.
unsafe fn output(
    node: &Node,
    projection: *mut pg_sys::ProjectionInfo,
) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: as for `next`; the scan tuple's slot is a virtual one.
    unsafe {
        let tuple = (*node.scan).ss.ss_ScanTupleSlot;
        let context = (*node.scan).ss.ps.ps_ExprContext;
        frames::mark_filled(tuple);
        if projection.is_null() {
            return tuple;
        }
        frames::forget_last_row(context);
        (*context).ecxt_scantuple = tuple;
        frames::project(projection)
    }
}

/// The output of a scored row, put together without the scan tuple.
#[inline]
unsafe fn output_directly(
    node: &Node,
    sources: &[Source],
    row: usize,
) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: as for `next`; the result's slot has a place for every source.
    unsafe {
        let slot = (*node.scan).ss.ps.ps_ResultTupleSlot;
        frames::clear(slot);
        let (values, nulls) = node.rows.row(row);
        for (place, source) in sources.iter().enumerate() {
            let (value, null) = match *source {
                Source::Column(kept) => (*values.get_unchecked(kept), *nulls.get_unchecked(kept)),
                Source::Call(call) => {
                    let result = *node.calls.get_unchecked(call).results.get_unchecked(row);
                    (result.unwrap_or(Datum::from(0)), result.is_none())
                }
            };
            *(*slot).tts_values.add(place) = value;
            *(*slot).tts_isnull.add(place) = null;
        }
        frames::mark_filled(slot);
        slot
    }
}

/// Hands out the row before the last one.
///
/// The plan below stands at the last row that was read, or behind it, and is first brought back to
/// the last one that was handed out.
unsafe fn back(node: &mut Node) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: as for `next`.
    unsafe {
        let ahead = node.rows.count - node.position + usize::from(node.ended && !node.end_told);
        for _ in 0..ahead {
            frames::next_row(node.below);
        }
        node.forget_batch();
        node.size = 0;
        node.ended = false;
        node.end_told = false;
        loop {
            let slot = frames::next_row(node.below);
            if slot.is_null() {
                return slot;
            }
            let slot = evaluate_plainly(node, slot);
            if !slot.is_null() {
                return slot;
            }
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn rescan(state: *mut pg_sys::CustomScanState) {
    // SAFETY: PostgreSQL passes a running node.
    unsafe {
        let node = node_of(state);
        node.forget_batch();
        node.size = 0;
        node.expected = node.limit;
        node.ended = false;
        node.end_told = false;
        let changed = (*state).ss.ps.chgParam;
        if !changed.is_null() {
            pg_sys::UpdateChangedParamSet(node.below, changed);
        }
        // A plan whose parameters have changed begins anew by itself.
        if (*node.below).chgParam.is_null() {
            pg_sys::ExecReScan(node.below);
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn end(state: *mut pg_sys::CustomScanState) {
    // SAFETY: PostgreSQL passes a node that has begun.
    unsafe { pg_sys::ExecEndNode(node_of(state).below) }
}
