//! Runs the node: reads rows from the plan below, scores them, and returns them.
//!
//! If all rows are needed, as below a sort or an aggregate or for a client that fetches all, a batch has 512 rows
//! from the first one on. Otherwise batches grow: one row, then 8, 64 and 512, so that a query that needs one row
//! pays for one. A row that could not be scored is evaluated with the calls in it, as by a plan without this node,
//! and so is the rest of a batch when the model, the user or a setting may have changed since. So an error is
//! raised when its row is needed, by the function itself.
//!
//! The node's conditions are tested when a row is returned, and rows that do not meet them are skipped. So they
//! too fail only for a needed row.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::time::Instant;

use pg_interface::{fault, report, unguarded};
use pgrx::{PgMemoryContexts, pg_guard, pg_sys};

use super::batched_call::Call;
use super::cursor::CursorRows;
use super::late_memory::LateMemory;
use super::read_ahead::ReadAhead;
use super::row_output::{RowOutput, evaluate_plainly, hand_out};
use crate::predictor::batch::BatchValidity;

/// The sizes of successive batches.
const SIZES: [usize; 7] = [1, 8, 64, MAX_BATCH, 4096, 32_768, MAX_GROUPED];
const MAX_BATCH: usize = 512;
/// The initial room for rows, and the factor by which it grows.
const FIRST_ROOM: usize = 16;
const ROOM_GROWTH: usize = 8;
/// The rows of a batch that are deformed before their table's layout is looked up, which takes as long as two of them.
const DEFORMED: usize = 4;
/// The most rows of a batch whose rows name their models, which grows while each model has few rows.
const MAX_GROUPED: usize = 262_144;

/// PostgreSQL's state of a running node, followed by ours.
#[repr(C)]
pub(super) struct State {
    pub(super) scan: pg_sys::CustomScanState,
    pub(super) node: *mut BatchNode,
}

pub(super) struct BatchNode {
    pub(super) below: *mut pg_sys::PlanState,
    pub(super) output: RowOutput,
    /// Memory for reading rows' features.
    pub(super) reading: LateMemory,
    /// The number of returned rows of the batch.
    pub(super) position: usize,
    /// Index of the next batch's size.
    pub(super) size: usize,
    /// The rows of LIMIT that have not been read yet; 0 if unknown.
    pub(super) expected: usize,
    /// LIMIT's rows, for a rescan.
    pub(super) limit: usize,
    /// The plan below has returned its last row.
    pub(super) ended: bool,
    /// This node has returned its last row.
    pub(super) end_told: bool,
    /// The calls have looked up their models.
    pub(super) prepared: bool,
    /// The rows that will be needed.
    pub(super) read_ahead: ReadAhead,
    /// Only needed rows may be read, since reading one can fail.
    pub(super) only_needed: bool,
    /// The places of the rows, if a cursor reads them.
    pub(super) cursor: Option<CursorRows>,
}

/// Returns the node of a state that has begun.
///
/// # Safety
/// The state is one that `create` made, and nothing else borrows its node for `'a`.
pub(super) unsafe fn node_of<'a>(state: *mut pg_sys::CustomScanState) -> &'a mut BatchNode {
    // SAFETY: the state was made by `create`, and `begin` has set its node.
    unsafe { &mut *(*state.cast::<State>()).node }
}

impl BatchNode {
    fn next_size(&self) -> usize {
        let max = if self.wants_more_rows() { MAX_GROUPED } else { MAX_BATCH };
        let grown = SIZES.get(self.size).copied().unwrap_or(max);
        // SAFETY: the state is running, and so is its statement.
        let needed =
            unsafe { self.read_ahead.rows((*self.output.scan).ss.ps.state, self.expected) };
        let size = if self.is_grouped() { grown } else { grown.max(needed) }.min(max);
        let size = if self.expected > 0 { size.min(self.expected) } else { size };
        let size = match (self.only_needed, self.size) {
            // The first row may show that no others are needed, as for a join whose other side is empty.
            (true, 0) => 1,
            (true, _) => size.min(needed),
            (false, _) => size,
        };
        size.min(self.memory() / self.row_bytes()).max(1)
    }

    /// Returns the most rows of a batch.
    pub(super) fn max_batch(&self) -> usize {
        if self.is_grouped() { MAX_GROUPED } else { MAX_BATCH }
    }

    fn is_grouped(&self) -> bool {
        self.output.calls.iter().any(|call| call.predictor.is_grouped())
    }

    fn wants_more_rows(&self) -> bool {
        self.output.calls.iter().any(|call| call.predictor.wants_more_rows())
    }

    fn row_bytes(&self) -> usize {
        let scoring: usize = self.output.calls.iter().map(|call| call.predictor.row_bytes()).sum();
        (self.output.rows.row_bytes() + scoring).max(1)
    }

    /// Returns the memory limit of a batch: that of an operation, or of a hash operation.
    fn memory(&self) -> usize {
        // SAFETY: both read variables of the backend.
        unsafe {
            if self.is_grouped() {
                return pg_sys::get_hash_memory_limit();
            }
            usize::try_from(pg_sys::work_mem).unwrap_or(0) << 10
        }
    }

    /// Says that the cursor, if there is one, has no row of the node.
    ///
    /// # Safety
    /// The node has begun.
    unsafe fn hide_row(&self) {
        if let Some(cursor) = &self.cursor {
            // SAFETY: guaranteed by the caller.
            unsafe { cursor.hide(self.output.scan.cast()) }
        }
    }

    /// Says that the cursor's row, if there is one, is that one of the batch, or else the scan's.
    ///
    /// # Safety
    /// The node has begun.
    #[inline]
    unsafe fn show_row(&self, row: Option<usize>) {
        if let Some(cursor) = &self.cursor {
            // SAFETY: guaranteed by the caller.
            unsafe { cursor.show(self.output.scan.cast(), row) }
        }
    }

    fn make_room(&mut self, rows: usize) {
        self.output.rows.make_room(rows);
        self.cursor.iter_mut().for_each(|cursor| cursor.make_room(rows));
    }

    fn score(&mut self) {
        report::check_for_interrupts();
        // SAFETY: the state is running; it is measured only under EXPLAIN ANALYZE.
        let instrument = unsafe { (*self.output.scan).ss.ps.instrument.as_mut() };
        let began = instrument.as_ref().filter(|it| is_timed(it)).map(|_| Instant::now());
        // Taken first, since later changes may not be in this batch's results.
        let validity = BatchValidity::now();
        let RowOutput { rows, calls, .. } = &mut self.output;
        let reading = &mut self.reading;
        // SAFETY: the batch's memory lives until the next batch.
        report::with_reserve(|| unsafe {
            PgMemoryContexts::For(rows.copies.memory())
                .switch_to(|_| calls.iter_mut().for_each(|call| call.score(rows, reading)));
        });
        fault::at("batch: scored");
        let categories = self.output.calls.iter().any(|call| call.predictor.has_categories());
        self.output.validity =
            Some(if categories { validity } else { validity.without_categories() });
        if let Some(instrument) = instrument {
            // These two fields are unused for such a node, and PostgreSQL adds them up over parallel
            // workers.
            instrument.ntuples2 += self.output.rows.count as f64;
            instrument.nfiltered2 += began.map_or(0.0, |began| began.elapsed().as_secs_f64());
        }
    }

    /// Drops the batch, and restarts with the smallest size.
    fn begin_anew(&mut self) {
        self.output.rows.count = 0;
        self.output.validity = None;
        self.position = 0;
        self.size = 0;
        self.ended = false;
        self.end_told = false;
    }
}

#[cfg(feature = "pg19")]
fn is_timed(instrument: &pg_sys::NodeInstrumentation) -> bool {
    instrument.instr.need_timer
}

#[cfg(not(feature = "pg19"))]
fn is_timed(instrument: &pg_sys::Instrumentation) -> bool {
    instrument.need_timer
}

/// # Safety
/// PostgreSQL's memory may be allocated, and an error may jump over the caller.
#[pg_guard]
unsafe extern "C-unwind" fn make_room(node: &mut BatchNode, rows: usize) {
    node.make_room(rows);
}

/// # Safety
/// As for [`make_room`]; the slot is filled with a row of the plan below.
#[pg_guard]
unsafe extern "C-unwind" fn find_columns(node: &mut BatchNode, slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: guaranteed by the caller.
    unsafe { node.output.rows.find_columns(slot) }
}

/// Looks up the models, before the size of the first batch is chosen, and makes room for its first rows.
///
/// # Safety
/// PostgreSQL's memory may be allocated, and an error may jump over the caller.
#[pg_guard]
unsafe extern "C-unwind" fn prepare(node: &mut BatchNode) {
    node.output.calls.iter_mut().for_each(Call::prepare);
    node.make_room(FIRST_ROOM);
    node.prepared = true;
}

/// # Safety
/// The rows of the node's batch are read.
#[pg_guard]
unsafe extern "C-unwind" fn score(node: &mut BatchNode) {
    node.score();
}

/// Returns the next row. Runs on frames as `pg_interface::unguarded` describes them, as do the functions below.
///
/// # Safety
/// PostgreSQL calls it with the state of a node that has begun.
pub(super) unsafe extern "C-unwind" fn next(
    state: *mut pg_sys::CustomScanState,
) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: PostgreSQL passes a running node.
    unsafe {
        let node = node_of(state);
        if (*(*state).ss.ps.state).es_direction == pg_sys::ScanDirection::BackwardScanDirection {
            return back(node);
        }
        loop {
            if node.position < node.output.rows.count {
                let row = node.position;
                node.position += 1;
                let slot = hand_out(&mut node.output, row);
                if slot.is_null() {
                    continue;
                }
                node.show_row(Some(row));
                return slot;
            }
            if node.ended {
                node.end_told = true;
                node.hide_row();
                return std::ptr::null_mut();
            }
            fill_batch(node);
        }
    }
}

/// Reads the next rows and scores them. Out of line, so that a row of a batch is returned by few instructions.
///
/// # Safety
/// The node has begun; an error may jump over the caller.
#[inline(never)]
unsafe fn fill_batch(node: &mut BatchNode) {
    // SAFETY: as for `next`.
    unsafe {
        if !node.prepared {
            prepare(node);
        }
        let size = node.next_size();
        node.size += 1;
        node.expected = node.expected.saturating_sub(size);
        node.position = 0;
        node.output.rows.clear();
        node.cursor.iter_mut().for_each(CursorRows::clear);
        let memory = node.memory();
        while node.output.rows.count < size && node.output.rows.copied_bytes() < memory {
            let slot = unguarded::next_row(node.below);
            if slot.is_null() {
                node.ended = true;
                break;
            }
            let count = node.output.rows.count;
            if count == node.output.rows.room() {
                make_room(node, size.min((count * ROOM_GROWTH).max(FIRST_ROOM)));
            }
            if count == DEFORMED && node.output.rows.are_others(slot) {
                find_columns(node, slot);
            }
            node.output.rows.push(slot);
            if let Some(cursor) = &mut node.cursor {
                cursor.keep();
            }
        }
        if node.output.rows.count > 0 {
            score(node);
        }
    }
}

/// Returns the row before the last one.
///
/// The plan below is at the last row that was read, or behind it, and is first moved back to the last one
/// that was returned.
///
/// # Safety
/// The node has begun, and its plan can scan backwards.
unsafe fn back(node: &mut BatchNode) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: as for `next`.
    unsafe {
        let ahead =
            node.output.rows.count - node.position + usize::from(node.ended && !node.end_told);
        for _ in 0..ahead {
            unguarded::next_row(node.below);
        }
        node.begin_anew();
        loop {
            let slot = unguarded::next_row(node.below);
            if slot.is_null() {
                node.hide_row();
                return slot;
            }
            let slot = evaluate_plainly(&mut node.output, slot);
            if !slot.is_null() {
                node.show_row(None);
                return slot;
            }
        }
    }
}

/// # Safety
/// PostgreSQL calls it with the state of a node that has begun.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn rescan(state: *mut pg_sys::CustomScanState) {
    // SAFETY: PostgreSQL passes a running node.
    unsafe {
        let node = node_of(state);
        node.begin_anew();
        node.hide_row();
        node.expected = node.limit;
        let changed = (*state).ss.ps.chgParam;
        if !changed.is_null() {
            pg_sys::UpdateChangedParamSet(node.below, changed);
        }
        // ExecProcNode rescans a plan whose parameters have changed.
        if (*node.below).chgParam.is_null() {
            pg_sys::ExecReScan(node.below);
        }
    }
}

/// # Safety
/// PostgreSQL calls it with the state of a node that has begun.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn end(state: *mut pg_sys::CustomScanState) {
    // SAFETY: PostgreSQL passes a node that has begun.
    unsafe { pg_sys::ExecEndNode(node_of(state).below) }
}
