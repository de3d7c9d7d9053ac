//! libxgboost in this backend, for predictions by a registered model. It trains in a separate process, see
//! `training::trainer`.
//!
//! The library is loaded when it is first needed and never before. The last models that were used stay
//! loaded. It is installed next to this extension's library, in the folder `pgboost_train`: the wheel of
//! XGBoost, unpacked, and the trainer.

use std::cell::RefCell;
use std::ffi::{CStr, OsStr, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::OnceLock;

use gbtrees::internals::Ensemble;
use pg_interface::fault;
use row_source::SourceError;
use xgboost_ffi::{Batch, Booster, Library, Matrix, Output};

use crate::error::{Error, Result};
use crate::registry::{Registry, Version, resolve};

static LOADED: OnceLock<&Library> = OnceLock::new();

/// The library, loaded if it was not yet.
pub(crate) fn library() -> Result<&'static Library> {
    fault::at("xgboost: asked");
    if let Some(library) = LOADED.get() {
        return Ok(library);
    }
    let library = Library::open(&library_path())?;
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

pub(crate) struct CachedBooster {
    pub(crate) version: Rc<Version>,
    /// The model as the engine reads it.
    pub(crate) model: Ensemble,
    booster: Booster,
    proxy: Matrix,
}

/// A backend keeps this many models.
const MAX_KEPT: usize = 4;

thread_local! {
    /// Not dropped when the process ends: libxgboost has destroyed by then what it needs for that.
    static KEPT: ManuallyDrop<RefCell<Vec<Rc<CachedBooster>>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

impl CachedBooster {
    /// The model that a reference means now. Raises pgboost's errors for one that is not there or
    /// not to be seen.
    pub(crate) fn find(reference: &str) -> Result<Rc<CachedBooster>> {
        let version = resolve(reference)?;
        let kept = KEPT.with(|kept| {
            let kept = kept.borrow();
            kept.iter().find(|one| one.version == version).cloned()
        });
        if let Some(kept) = kept {
            return Ok(kept);
        }
        // pgboost raises an error for a user who does not own the model; nothing of it is kept.
        let (bytes, model) = Registry::find()?.model(&version)?;
        let format = model.format();
        if !format.starts_with("xgboost ") {
            return Err(Error::OtherLibrary { model: reference.to_owned(), format });
        }
        let library = library()?;
        library.limit_threads(1);
        let booster = Booster::of_model(library, &bytes)?;
        // One row is not worth a thread.
        booster.set("nthread", "1")?;
        let proxy = Matrix::proxy(library)?;
        let found = Rc::new(CachedBooster { version, model, booster, proxy });
        KEPT.with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() >= MAX_KEPT {
                kept.remove(0);
            }
            kept.push(Rc::clone(&found));
        });
        Ok(found)
    }

    /// Predicts rows of features, NaN where they are missing: the outputs of each row.
    pub(crate) fn predict(&self, features: &[f32], output: Output) -> Result<Vec<f32>> {
        library()?.limit_threads(1);
        let batch = Batch { words: features, record: self.model.num_features() };
        let rounds = u32::try_from(self.version.rounds).unwrap_or(0);
        let predicted = self.booster.predict(batch, &self.proxy, output, rounds)?;
        fault::at("xgboost: predicted");
        Ok(predicted)
    }
}

pub(crate) fn library_path() -> PathBuf {
    in_library_folder("pgboost_train/xgboost/lib/libxgboost.so")
}

pub(crate) fn trainer_path() -> PathBuf {
    in_library_folder("pgboost_train/pgboost_trainer")
}

fn in_library_folder(path: &str) -> PathBuf {
    library_folder().map_or_else(|| PathBuf::from(path), |folder| folder.join(path))
}

/// The folder of the library_path that this code is in.
fn library_folder() -> Option<PathBuf> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    let address: *const c_void = (library_folder as fn() -> Option<PathBuf>) as *const c_void;
    // SAFETY: the address lies in this library_path; the record is filled if the call succeeds, and its
    // name is null or a string that lives as long as the library_path.
    let path = unsafe {
        if libc::dladdr(address, found.as_mut_ptr()) == 0 {
            return None;
        }
        let name = found.assume_init().dli_fname;
        if name.is_null() {
            return None;
        }
        Path::new(OsStr::from_bytes(CStr::from_ptr(name).to_bytes())).to_owned()
    };
    path.parent().map(Path::to_owned)
}
