//! The place in its table of the row that a cursor has returned, for `UPDATE ... WHERE CURRENT OF`.
//!
//! PostgreSQL looks for it in the slot of the cursor's scan of that table (`execCurrentOf`), and finds this node instead
//! if it looks like such a scan. The scan below is ahead of the cursor, so a batch keeps the places of its rows.

use pgrx::pg_sys::{
    self, IndexOnlyScanState, InvalidOid, ItemPointerData, NodeTag, PlanState, ScanState,
    SubqueryScanState,
};

pub(super) struct CursorRows {
    /// The scan below.
    scan: *mut ScanState,
    places: Vec<ItemPointerData>,
}

impl CursorRows {
    /// Lets a node look like the scan below it, if that reads a table for a cursor; `None` otherwise.
    ///
    /// # Safety
    /// Both are states of the statement that begins.
    pub(super) unsafe fn new(node: *mut ScanState, below: *mut PlanState) -> Option<CursorRows> {
        // SAFETY: the running portal is null or valid; states are read by their tags.
        unsafe {
            let portal = pg_sys::ActivePortal.as_ref()?;
            let is_cursor = portal.cursorOptions & pg_sys::CURSOR_OPT_FAST_PLAN.cast_signed() != 0;
            if !is_cursor {
                return None;
            }
            let scan = scan_of(below)?;
            if (*scan).ss_currentRelation.is_null() {
                return None;
            }
            (*node).ss_currentRelation = (*scan).ss_currentRelation;
            Some(CursorRows { scan, places: Vec::new() })
        }
    }

    pub(super) fn make_room(&mut self, rows: usize) {
        self.places.reserve(rows.saturating_sub(self.places.len()));
    }

    pub(super) fn clear(&mut self) {
        self.places.clear();
    }

    /// Keeps the place of the row that the scan has just returned.
    ///
    /// # Safety
    /// The scan is running, and has a row, for which there is room.
    pub(super) unsafe fn keep(&mut self) {
        // SAFETY: guaranteed by the caller.
        self.places.push(unsafe { self.place() });
    }

    /// Puts the place of a row of the batch, or else of the scan's row, where PostgreSQL looks for it.
    ///
    /// # Safety
    /// The node is the one of `new`, and runs.
    pub(super) unsafe fn show(&self, node: *mut ScanState, row: Option<usize>) {
        // SAFETY: guaranteed by the caller; the relation was opened by the scan.
        unsafe {
            let kept = row.and_then(|row| self.places.get(row).copied());
            let slot = (*node).ss_ScanTupleSlot;
            (*slot).tts_tid = kept.unwrap_or_else(|| self.place());
            (*slot).tts_tableOid =
                (*node).ss_currentRelation.as_ref().map_or(InvalidOid, |it| it.rd_id);
            (*slot).tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
        }
    }

    /// Says that the node has no row, and so the cursor none of this table.
    ///
    /// # Safety
    /// As for [`CursorRows::show`].
    pub(super) unsafe fn hide(&self, node: *mut ScanState) {
        // SAFETY: guaranteed by the caller.
        unsafe { (*(*node).ss_ScanTupleSlot).tts_flags |= pg_sys::TTS_FLAG_EMPTY as u16 }
    }

    /// # Safety
    /// The scan is running, and has a row.
    unsafe fn place(&self) -> ItemPointerData {
        // SAFETY: guaranteed by the caller; the state is read by its tag.
        unsafe {
            if (*self.scan).ps.type_ == NodeTag::T_IndexOnlyScanState {
                return (*(*self.scan.cast::<IndexOnlyScanState>()).ioss_ScanDesc).xs_heaptid;
            }
            (*(*self.scan).ss_ScanTupleSlot).tts_tid
        }
    }
}

/// Returns the scan whose rows a plan passes on one by one, if it is such a plan; PostgreSQL looks below the same nodes.
///
/// # Safety
/// The state is valid.
unsafe fn scan_of(mut state: *mut PlanState) -> Option<*mut ScanState> {
    // SAFETY: guaranteed by the caller; states are read by their tags.
    unsafe {
        loop {
            state = match state.as_ref()?.type_ {
                NodeTag::T_SubqueryScanState => (*state.cast::<SubqueryScanState>()).subplan,
                NodeTag::T_ResultState | NodeTag::T_LimitState => (*state).lefttree,
                NodeTag::T_SeqScanState
                | NodeTag::T_SampleScanState
                | NodeTag::T_IndexScanState
                | NodeTag::T_IndexOnlyScanState
                | NodeTag::T_BitmapHeapScanState
                | NodeTag::T_TidScanState
                | NodeTag::T_TidRangeScanState
                | NodeTag::T_ForeignScanState
                | NodeTag::T_CustomScanState => return Some(state.cast()),
                _ => return None,
            }
        }
    }
}
