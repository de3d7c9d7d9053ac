//! Boosters: models in training, and registered models for prediction.

use std::ffi::{CStr, c_char};
use std::{ptr, slice};

use crate::Result;
use crate::matrix::{Batch, Feature, Matrix};
use crate::{Handle, Library, c_text, count, pointers, round_number};

/// The kind of prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The value after the objective's transform.
    Value = 0,
    /// The margin before the transform.
    Margin = 1,
}

/// A booster.
pub struct Booster {
    library: &'static Library,
    handle: Handle,
}

impl Booster {
    /// Creates an untrained booster for matrices.
    pub fn new(library: &'static Library, matrices: &[&Matrix]) -> Result<Booster> {
        let handles: Vec<Handle> = matrices.iter().map(|matrix| matrix.handle()).collect();
        let mut handle = ptr::null_mut();
        // SAFETY: the handles are valid, and their number is passed.
        library.call(|symbols| unsafe {
            (symbols.XGBoosterCreate)(handles.as_ptr(), count(handles.len()), &mut handle)
        })?;
        Ok(Booster { library, handle })
    }

    /// A booster of the bytes of a file that the engine has written from a checked model.
    pub fn of_model(library: &'static Library, bytes: &[u8]) -> Result<Booster> {
        let booster = Booster::new(library, &[])?;
        booster.load(bytes)?;
        Ok(booster)
    }

    /// Takes over a model of such a file, to train it further.
    pub fn load(&self, bytes: &[u8]) -> Result<()> {
        // SAFETY: the handle is valid, and the number of bytes is passed.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterLoadModelFromBuffer)(
                self.handle,
                bytes.as_ptr().cast(),
                count(bytes.len()),
            )
        })
    }

    /// Sets a parameter.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        let (name, value) = (c_text(name), c_text(value));
        // SAFETY: the handle is valid, and the texts are zero-terminated.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterSetParam)(self.handle, name.as_ptr(), value.as_ptr())
        })
    }

    /// Sets the names and types of features for the model file. A name that Python refuses leaves the
    /// file without names.
    pub fn name_features(&self, features: &[Feature]) -> Result<()> {
        let names = features.iter().map(|feature| feature.name.as_str());
        let plain = features.iter().all(Feature::is_named_plainly);
        self.set_texts(c"feature_name", names.filter(|_| plain))?;
        self.set_texts(c"feature_type", features.iter().map(|feature| feature.kind.as_str()))
    }

    fn set_texts<'a>(&self, field: &CStr, texts: impl Iterator<Item = &'a str>) -> Result<()> {
        let texts: Vec<_> = texts.map(c_text).collect();
        let list = pointers(&texts);
        // SAFETY: the handle is valid, and the number of texts is passed.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterSetStrFeatureInfo)(
                self.handle,
                field.as_ptr(),
                list.as_ptr(),
                count(list.len()),
            )
        })
    }

    /// Runs one round, counted from 0.
    pub fn update(&self, round: u32, train: &Matrix) -> Result<()> {
        // SAFETY: both handles are valid.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterUpdateOneIter)(self.handle, round_number(round), train.handle())
        })
    }

    /// Returns the metrics after a round as XGBoost writes them: `[7]<tab>train-rmse:1.25<tab>...`.
    pub fn evaluate(&self, round: u32, sets: &[(&str, &Matrix)]) -> Result<String> {
        let handles: Vec<Handle> = sets.iter().map(|(_, matrix)| matrix.handle()).collect();
        let names: Vec<_> = sets.iter().map(|(name, _)| c_text(name)).collect();
        let list = pointers(&names);
        let mut line: *const c_char = ptr::null();
        // SAFETY: the handles are valid, and both lists have the given length.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterEvalOneIter)(
                self.handle,
                round_number(round),
                handles.as_ptr(),
                list.as_ptr(),
                count(list.len()),
                &mut line,
            )
        })?;
        // SAFETY: the string is the library's, valid until its next call in this thread.
        Ok(unsafe { CStr::from_ptr(line) }.to_string_lossy().into_owned())
    }

    /// Returns a booster of the first rounds.
    pub fn first_rounds(&self, rounds: u32) -> Result<Booster> {
        let mut handle = ptr::null_mut();
        // SAFETY: both handles are valid.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterSlice)(self.handle, 0, round_number(rounds), 1, &mut handle)
        })?;
        Ok(Booster { library: self.library, handle })
    }

    /// Returns the model file as UBJSON.
    pub fn save(&self) -> Result<Vec<u8>> {
        let (mut len, mut bytes): (u64, *const c_char) = (0, ptr::null());
        // SAFETY: the handle is valid, and the results are writable.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterSaveModelToBuffer)(
                self.handle,
                c"{\"format\":\"ubj\"}".as_ptr(),
                &mut len,
                &mut bytes,
            )
        })?;
        // SAFETY: the buffer is the library's, valid until its next call in this thread.
        Ok(unsafe { owned(bytes.cast(), len) })
    }

    /// Predicts the rows of a batch in place, by all rounds: `batch rows * outputs` values.
    pub fn predict(&self, batch: Batch<'_>, proxy: &Matrix, output: Output) -> Result<Vec<f32>> {
        let table = c_text(&batch.table(batch.record));
        let config = c_text(&format!(
            "{{\"type\":{},\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,\
             \"strict_shape\":true,\"missing\":NaN,\"cache_id\":0}}",
            output as u8
        ));
        let (mut shape, mut dimensions, mut values) = (ptr::null(), 0, ptr::null());
        // SAFETY: the handles and the described memory are valid, and the results are writable.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterPredictFromDense)(
                self.handle,
                table.as_ptr(),
                config.as_ptr(),
                proxy.handle(),
                &mut shape,
                &mut dimensions,
                &mut values,
            )
        })?;
        // SAFETY: the arrays are the library's, valid until its next call; the shape's product is the
        // number of values.
        Ok(unsafe {
            let len = owned::<u64>(shape, dimensions).into_iter().product();
            owned(values, len)
        })
    }
}

impl Drop for Booster {
    fn drop(&mut self) {
        // SAFETY: this value owns the handle, and does not use it again.
        let _ = self.library.call(|symbols| unsafe { (symbols.XGBoosterFree)(self.handle) });
    }
}

/// Copies an array of the library's.
///
/// # Safety
/// `start` is null, or has `len` elements.
unsafe fn owned<T: Copy>(start: *const T, len: u64) -> Vec<T> {
    if start.is_null() {
        return Vec::new();
    }
    // SAFETY: the array has `len` elements.
    unsafe { slice::from_raw_parts(start, usize::try_from(len).unwrap_or(0)) }.to_vec()
}
