//! libxgboost in this backend, for predictions by a registered model. It trains in a process of its
//! own, see `training::trainer`.
//!
//! Bytes of a user never reach it: a model is parsed and checked by the engine before.

pub mod cached;

use std::sync::OnceLock;

use pg_interface::fault;
use row_source::SourceError;
use xgboost_ffi::Library;

use crate::error::{Error, Result};
use crate::installed;

static LOADED: OnceLock<&Library> = OnceLock::new();

/// The library, loaded if it was not yet.
pub fn library() -> Result<&'static Library> {
    fault::at("xgboost: asked");
    if let Some(library) = LOADED.get() {
        return Ok(library);
    }
    let library = Library::open(&installed::library())?;
    Ok(LOADED.get_or_init(|| library))
}

impl From<xgboost_ffi::Error> for Error {
    fn from(error: xgboost_ffi::Error) -> Error {
        use xgboost_ffi::Error as Theirs;
        match error {
            Theirs::Missing { path, reason } => Error::LibraryMissing { path, reason },
            Theirs::Old(version) => Error::LibraryOld { version },
            Theirs::OutOfMemory => Error::OutOfMemory,
            Theirs::Rows(reason) => SourceError::TemporaryFile { reason, disk_full: false }.into(),
            Theirs::Refused(message) => Error::XGBoost { message },
        }
    }
}
