//! Models for predictions, and the limit of their memory.
//!
//! A model's file is written by the engine from a checked model, so its booster takes a few times the file's
//! bytes. Beyond the limit libxgboost fails, before the machine runs out of memory.

use pgboost_trainer::SLOTS;
use xgboost_ffi::{Batch, Booster, Error, Library, Matrix, Output, Result};

/// Bytes of address space for libxgboost itself, its threads' stacks and the rows of a request.
const BASE_BYTES: u64 = 4 << 30;
/// Bytes of address space for each byte of a model's file.
const BYTES_PER_BYTE: u64 = 32;

pub(crate) struct Models {
    library: &'static Library,
    slots: [Option<Model>; SLOTS],
}

struct Model {
    booster: Booster,
    proxy: Matrix,
    bytes: u64,
}

impl Models {
    pub(crate) fn new(library: &'static Library) -> Models {
        Models { library, slots: [const { None }; SLOTS] }
    }

    /// Loads a model in place of the slot's previous one.
    pub(crate) fn load(&mut self, slot: usize, file: &[u8]) -> Result<()> {
        let place = self.slots.get_mut(slot).ok_or_else(no_model)?;
        // Frees the previous model before the new one is read.
        *place = None;
        let bytes = file.len() as u64;
        let all = self.slots.iter().flatten().map(|model| model.bytes).sum::<u64>() + bytes;
        limit_memory(BASE_BYTES.saturating_add(all.saturating_mul(BYTES_PER_BYTE)));
        // A single row gains nothing from threads.
        self.library.limit_threads(1);
        let booster = Booster::of_model(self.library, file)?;
        booster.set("nthread", "1")?;
        let proxy = Matrix::proxy(self.library)?;
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(Model { booster, proxy, bytes });
        }
        Ok(())
    }

    /// Predicts rows of `record` words each. Returns the outputs of each row.
    pub(crate) fn predict(
        &self,
        slot: usize,
        words: &[f32],
        record: usize,
        margins: bool,
    ) -> Result<Vec<f32>> {
        let model = self.slots.get(slot).and_then(Option::as_ref).ok_or_else(no_model)?;
        let output = if margins { Output::Margin } else { Output::Value };
        model.booster.predict(Batch { words, record }, &model.proxy, output)
    }
}

fn no_model() -> Error {
    Error::Rows("no model was given".to_owned())
}

/// Limits the process's address space, if the system permits it. AddressSanitizer reserves terabytes of it.
#[allow(unsafe_code, reason = "it calls the C library")]
fn limit_memory(bytes: u64) {
    if cfg!(sanitized) {
        return;
    }
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the records are valid.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_AS, &mut now) == 0 {
            let limit = libc::rlimit { rlim_cur: bytes.min(now.rlim_max), rlim_max: now.rlim_max };
            libc::setrlimit(libc::RLIMIT_AS, &limit);
        }
    }
}
