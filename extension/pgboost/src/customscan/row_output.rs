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
use super::rows::Rows;
use super::shape::{Shape, Source};
use crate::predictor::batch::BatchValidity;

pub(super) struct RowOutput {
    pub(super) scan: *mut CustomScanState,
    pub(super) shape: Rc<Shape>,
    /// The calls, in the order of the scan tuple's last columns.
    pub(super) calls: Vec<Call>,
    pub(super) rows: Rows,
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
    batch: &mut RowOutput,
    slot: *mut TupleTableSlot,
) -> *mut TupleTableSlot {
    // SAFETY: the node is running; see the module's header.
    unsafe {
        unguarded::deform(slot, batch.rows.shape.last_column);
        let tuple = (*batch.scan).ss.ss_ScanTupleSlot;
        unguarded::clear(tuple);
        for column in &batch.rows.shape.columns {
            let place = column.number as usize - 1;
            *(*tuple).tts_values.add(place) = *(*slot).tts_values.add(place);
            *(*tuple).tts_isnull.add(place) = *(*slot).tts_isnull.add(place);
        }
        output_plainly(batch)
    }
}

/// Returns the output of the row in the scan tuple, with the calls evaluated one by one; null if a condition
/// is not met.
///
/// # Safety
/// The scan tuple is filled; an error may jump over the caller.
unsafe fn output_plainly(batch: &mut RowOutput) -> *mut TupleTableSlot {
    // SAFETY: the node is running; see the module's header.
    unsafe {
        if batch.plain.is_none() {
            make_plain(batch);
        }
        match batch.plain {
            Some(Plain { projection, conditions }) => output_if(batch, conditions, projection),
            None => std::ptr::null_mut(),
        }
    }
}

/// # Safety
/// The node has begun.
#[pg_guard]
unsafe extern "C-unwind" fn make_plain(batch: &mut RowOutput) {
    // SAFETY: guaranteed by the caller.
    batch.plain = Some(unsafe { plain(batch.scan, &batch.shape) });
}

/// Returns the output of a row of the batch; null if a condition is not met.
///
/// # Safety
/// The batch has that row; an error may jump over the caller.
#[inline]
pub(super) unsafe fn hand_out(batch: &mut RowOutput, row: usize) -> *mut TupleTableSlot {
    // SAFETY: the node is running; see the module's header.
    unsafe {
        let scored = batch.validity.is_some_and(BatchValidity::still_holds)
            && batch.calls.iter().all(|call| call.results.get(row).is_some_and(Option::is_some));
        let conditions = (*batch.scan).ss.ps.qual;
        if scored
            && conditions.is_null()
            && let Some(sources) = &batch.shape.direct
        {
            return output_directly(batch, sources, row);
        }
        let tuple = (*batch.scan).ss.ss_ScanTupleSlot;
        unguarded::clear(tuple);
        batch.rows.put(row, tuple);
        if !scored {
            return output_plainly(batch);
        }
        for (index, call) in batch.calls.iter().enumerate() {
            if let Some(Some(result)) = call.results.get(row) {
                *(*tuple).tts_values.add(batch.shape.inputs + index) = *result;
                *(*tuple).tts_isnull.add(batch.shape.inputs + index) = false;
            }
        }
        output_if(batch, conditions, (*batch.scan).ss.ps.ps_ProjInfo)
    }
}

/// Returns the output, or null unless the scan tuple meets these conditions.
///
/// # Safety
/// The slots are filled; an error may jump over the caller.
#[inline]
unsafe fn output_if(
    batch: &RowOutput,
    conditions: *mut ExprState,
    projection: *mut ProjectionInfo,
) -> *mut TupleTableSlot {
    // SAFETY: the node is running; the conditions are over the scan tuple.
    unsafe {
        if !conditions.is_null() {
            let context = (*batch.scan).ss.ps.ps_ExprContext;
            unguarded::mark_filled((*batch.scan).ss.ss_ScanTupleSlot);
            unguarded::reset_per_tuple_memory(context);
            (*context).ecxt_scantuple = (*batch.scan).ss.ss_ScanTupleSlot;
            if !unguarded::are_met(conditions, context) {
                if let Some(instrument) = (*batch.scan).ss.ps.instrument.as_mut() {
                    instrument.nfiltered1 += 1.0;
                }
                return std::ptr::null_mut();
            }
        }
        output(batch, projection)
    }
}

/// Returns the output, computed from the scan tuple, or the scan tuple itself without a projection.
///
/// # Safety
/// The slots are filled; an error may jump over the caller.
unsafe fn output(batch: &RowOutput, projection: *mut ProjectionInfo) -> *mut TupleTableSlot {
    // SAFETY: the node is running; the scan tuple's slot is a virtual one.
    unsafe {
        let tuple = (*batch.scan).ss.ss_ScanTupleSlot;
        let context = (*batch.scan).ss.ps.ps_ExprContext;
        unguarded::mark_filled(tuple);
        if projection.is_null() {
            return tuple;
        }
        unguarded::reset_per_tuple_memory(context);
        (*context).ecxt_scantuple = tuple;
        unguarded::project(projection)
    }
}

/// Builds the output of a scored row without the scan tuple.
///
/// # Safety
/// The batch has that row, and the columns are those of the slot.
#[inline]
unsafe fn output_directly(
    batch: &RowOutput,
    sources: &[Source],
    row: usize,
) -> *mut TupleTableSlot {
    // SAFETY: the node is running; the result's slot has a place for every source.
    unsafe {
        let slot = (*batch.scan).ss.ps.ps_ResultTupleSlot;
        unguarded::clear(slot);
        let (values, nulls) = batch.rows.row(row);
        for (place, source) in sources.iter().enumerate() {
            let (value, null) = match *source {
                Source::Column(kept) => (*values.get_unchecked(kept), *nulls.get_unchecked(kept)),
                Source::Call(call) => {
                    let result = *batch.calls.get_unchecked(call).results.get_unchecked(row);
                    (result.unwrap_or(Datum::from(0)), result.is_none())
                }
            };
            *(*slot).tts_values.add(place) = value;
            *(*slot).tts_isnull.add(place) = null;
        }
        unguarded::mark_filled(slot);
        slot
    }
}
