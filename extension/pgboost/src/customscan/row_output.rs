//! Builds the output tuple of a batched row: puts its results in place, tests its conditions, and projects.
//!
//! A row with valid results is built from them. Any other is evaluated with the calls in it, as by a plan
//! without this node. All functions here run on frames as `pg_interface::unguarded` describes them.

use std::rc::Rc;

use pg_interface::unguarded;
use pgrx::pg_guard;
use pgrx::pg_sys::{CustomScanState, Datum, ExprState, ProjectionInfo, TupleTableSlot};

use super::batched_call::Call;
use super::plain::{Plain, plain};
use super::rows::BatchRows;
use super::shape::{Shape, Source};
use crate::predictor::batch::BatchValidity;

pub(super) struct RowOutput {
    pub(super) scan: *mut CustomScanState,
    pub(super) shape: Rc<Shape>,
    pub(super) calls: Vec<Call>,
    pub(super) rows: BatchRows,
    /// Made for the first row that is evaluated without results.
    pub(super) plain: Option<Plain>,
    pub(super) validity: Option<BatchValidity>,
}

/// Returns the output of a row of the plan below, with the calls evaluated one by one; null if a condition
/// is not met.
///
/// # Safety
/// The slots are filled; an error may jump over the caller.
pub(super) unsafe fn evaluate_plainly(
    output: &mut RowOutput,
    slot: *mut TupleTableSlot,
) -> *mut TupleTableSlot {
    // SAFETY: the node is running; see the module's header.
    unsafe {
        let Some(plain) = plain_of(output) else { return std::ptr::null_mut() };
        unguarded::deform(slot, output.rows.shape.last_column);
        unguarded::clear(plain.row);
        for column in &output.rows.shape.columns {
            let place = column.number as usize - 1;
            *(*plain.row).tts_values.add(place) = *(*slot).tts_values.add(place);
            *(*plain.row).tts_isnull.add(place) = *(*slot).tts_isnull.add(place);
        }
        output_if(output, plain.row, plain.conditions, plain.projection)
    }
}

/// # Safety
/// The node is running; an error may jump over the caller.
unsafe fn plain_of(output: &mut RowOutput) -> Option<Plain> {
    if output.plain.is_none() {
        // SAFETY: guaranteed by the caller.
        unsafe { make_plain(output) };
    }
    output.plain
}

/// # Safety
/// The node has begun.
#[pg_guard]
unsafe extern "C-unwind" fn make_plain(output: &mut RowOutput) {
    // SAFETY: guaranteed by the caller.
    output.plain = unsafe { plain(output.scan, &output.shape) };
}

/// Returns the output of a row of the batch; null if a condition is not met.
///
/// # Safety
/// The batch has that row; an error may jump over the caller.
#[inline]
pub(super) unsafe fn hand_out(output: &mut RowOutput, row: usize) -> *mut TupleTableSlot {
    // SAFETY: the node is running; see the module's header.
    unsafe {
        let scored = output.validity.is_some_and(BatchValidity::still_holds)
            && output.calls.iter().all(|call| call.results.get(row).is_some_and(Option::is_some));
        if !scored {
            return hand_out_plainly(output, row);
        }
        let conditions = (*output.scan).ss.ps.qual;
        if conditions.is_null()
            && let Some(sources) = &output.shape.direct
        {
            let slot = (*output.scan).ss.ps.ps_ResultTupleSlot;
            fill(slot, output, sources, row);
            unguarded::mark_filled(slot);
            return slot;
        }
        let tuple = (*output.scan).ss.ss_ScanTupleSlot;
        fill(tuple, output, &output.shape.sources, row);
        output_if(output, tuple, conditions, (*output.scan).ss.ps.ps_ProjInfo)
    }
}

/// Returns the output of a row without valid results; null if a condition is not met.
///
/// # Safety
/// As for [`hand_out`].
#[cold]
#[inline(never)]
unsafe fn hand_out_plainly(output: &mut RowOutput, row: usize) -> *mut TupleTableSlot {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let Some(plain) = plain_of(output) else { return std::ptr::null_mut() };
        unguarded::clear(plain.row);
        output.rows.put(row, plain.row);
        output_if(output, plain.row, plain.conditions, plain.projection)
    }
}

/// Returns the output of the tuple, or null unless it meets these conditions.
///
/// # Safety
/// The slot is a virtual one with its values in place, and both expressions are over it.
#[inline]
unsafe fn output_if(
    output: &RowOutput,
    tuple: *mut TupleTableSlot,
    conditions: *mut ExprState,
    projection: *mut ProjectionInfo,
) -> *mut TupleTableSlot {
    // SAFETY: the node is running; otherwise guaranteed by the caller.
    unsafe {
        let context = (*output.scan).ss.ps.ps_ExprContext;
        unguarded::mark_filled(tuple);
        (*context).ecxt_scantuple = tuple;
        if !conditions.is_null() {
            unguarded::reset_per_tuple_memory(context);
            if !unguarded::are_met(conditions, context) {
                if let Some(instrument) = (*output.scan).ss.ps.instrument.as_mut() {
                    instrument.nfiltered1 += 1.0;
                }
                return std::ptr::null_mut();
            }
        }
        if projection.is_null() {
            return tuple;
        }
        unguarded::reset_per_tuple_memory(context);
        unguarded::project(projection)
    }
}

/// Puts the values of a scored row into an empty slot.
///
/// # Safety
/// The batch has that row, and the slot the places of the sources.
#[inline]
unsafe fn fill(
    slot: *mut TupleTableSlot,
    output: &RowOutput,
    sources: &[(usize, Source)],
    row: usize,
) {
    // SAFETY: guaranteed by the caller; each column of a row that was read has a value.
    unsafe {
        unguarded::clear(slot);
        let (values, nulls) = output.rows.cells(row);
        for (place, source) in sources {
            let (value, null) = match *source {
                Source::Column(cell) => (*values.get_unchecked(cell), *nulls.get_unchecked(cell)),
                Source::Call(call) => {
                    let result = *output.calls.get_unchecked(call).results.get_unchecked(row);
                    (result.unwrap_or(Datum::from(0)), result.is_none())
                }
            };
            *(*slot).tts_values.add(*place) = value;
            *(*slot).tts_isnull.add(*place) = null;
        }
    }
}
