//! The EXPLAIN output of a batch: the models with their versions, and the greatest batch; with VERBOSE also the
//! rows that are read ahead where reading one can fail. EXPLAIN ANALYZE adds the kernel, the number of rows in
//! batches larger than one, and their time.

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::ffi::{CStr, CString};

use pg_interface::nodes;
use pgrx::{pg_guard, pg_sys};

use super::batched_call::Call;
use super::exec;
use super::read_ahead::ReadAhead;
use crate::guc;

/// The text for the models of a call that names them by columns.
const BY_COLUMN: &str = "by column";

/// # Safety
/// PostgreSQL calls it with the state of a node, and a valid output.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn explain(
    state: *mut pg_sys::CustomScanState,
    _ancestors: *mut pg_sys::List,
    explain: *mut pg_sys::ExplainState,
) {
    // SAFETY: PostgreSQL passes a node that has begun, and where to write.
    unsafe {
        let node = exec::node_of(state);
        let models = node.output.calls.iter().map(Call::described);
        let models = models.map(|model| model.unwrap_or_else(|| BY_COLUMN.to_owned()));
        let models = nodes::list_of(models.map(|model| {
            let model = CString::new(model).unwrap_or_default();
            pg_sys::pstrdup(model.as_ptr())
        }));
        pg_sys::ExplainPropertyList(c"Models".as_ptr(), models, explain);
        integer(c"Batch Size", node.max_batch() as i64, explain);
        if node.only_needed && (*explain).verbose {
            let rows = reads_ahead(node.read_ahead);
            pg_sys::ExplainPropertyText(c"Reads Ahead".as_ptr(), rows, explain);
        }
        let instrument = (*state).ss.ps.instrument;
        if (*explain).analyze && !instrument.is_null() {
            let kernel = CString::new(guc::kernel().name()).unwrap_or_default();
            pg_sys::ExplainPropertyText(c"Kernel".as_ptr(), kernel.as_ptr(), explain);
            integer(c"Batched Rows", (*instrument).ntuples2 as i64, explain);
            if (*explain).timing {
                pg_sys::ExplainPropertyFloat(
                    c"Prediction Time".as_ptr(),
                    c"ms".as_ptr(),
                    (*instrument).nfiltered2 * 1e3,
                    3,
                    explain,
                );
            }
        }
    }
}

/// Describes the rows that a batch may read where reading one can fail.
fn reads_ahead(read_ahead: ReadAhead) -> *const std::ffi::c_char {
    match read_ahead {
        ReadAhead::All => c"all rows",
        ReadAhead::AsCaller => c"the rows that are fetched",
        ReadAhead::WithCaller => c"all rows, if all are fetched",
        ReadAhead::Limited => c"the rows of LIMIT, if all are fetched",
        ReadAhead::Fewer => c"no rows, since some may not be needed",
    }
    .as_ptr()
}

/// # Safety
/// The output of EXPLAIN is valid.
unsafe fn integer(label: &CStr, value: i64, explain: *mut pg_sys::ExplainState) {
    // SAFETY: the strings end in a NUL; a null pointer stands for no unit.
    unsafe { pg_sys::ExplainPropertyInteger(label.as_ptr(), std::ptr::null(), value, explain) }
}
