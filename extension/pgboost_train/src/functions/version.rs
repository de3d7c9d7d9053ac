//! `xgboost_version`: the release of libxgboost, and proof that it is there.

use pgrx::pg_extern;
use pgrx::pg_sys::panic::ErrorReport;

use crate::xgboost;

/// `xgboost_version() -> text`
#[pg_extern(sql = false)]
fn pgboost_xgboost_version() -> Result<&'static str, ErrorReport> {
    Ok(xgboost::library()?.version())
}
