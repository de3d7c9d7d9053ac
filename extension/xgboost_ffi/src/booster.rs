//! A booster: the model while it grows, and a registered model for prediction.

use std::ffi::{CStr, c_char};
use std::{ptr, slice};

use crate::Result;
use crate::matrix::{Batch, Feature, Matrix};
use crate::{Handle, Library, c_text, count, pointers, round_number};

/// What to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The value, after the objective's transform.
    Value = 0,
    /// The margin before it.
    Margin = 1,
}

/// The booster.
pub struct Booster {
    library: &'static Library,
    handle: Handle,
}

impl Booster {
    /// A booster that has learned nothing, for these matrices.
    pub fn new(library: &'static Library, matrices: &[&Matrix]) -> Result<Booster> {
        let handles: Vec<Handle> = matrices.iter().map(|matrix| matrix.handle()).collect();
        let mut handle = ptr::null_mut();
        // SAFETY: the handles are valid, and there are as many as is said.
        library.call(|symbols| unsafe {
            (symbols.XGBoosterCreate)(handles.as_ptr(), count(handles.len()), &mut handle)
        })?;
        Ok(Booster { library, handle })
    }

    /// A booster of the bytes of a model that the engine has checked.
    pub fn of_model(library: &'static Library, bytes: &[u8]) -> Result<Booster> {
        let booster = Booster::new(library, &[])?;
        booster.load(bytes)?;
        Ok(booster)
    }

    /// Takes over a model that the engine has checked, to train it further.
    pub fn load(&self, bytes: &[u8]) -> Result<()> {
        // SAFETY: the handle is valid, and the bytes are as many as is said.
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
        // SAFETY: the handle is valid and the texts end in a NUL.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterSetParam)(self.handle, name.as_ptr(), value.as_ptr())
        })
    }

    /// Names the features and their types, as the model file carries them. If one has a name that Python
    /// does not take, the file has no names.
    pub fn name_features(&self, features: &[Feature]) -> Result<()> {
        let names = features.iter().map(|feature| feature.name.as_str());
        let plain = features.iter().all(Feature::is_named_plainly);
        self.set_texts(c"feature_name", names.filter(|_| plain))?;
        self.set_texts(c"feature_type", features.iter().map(|feature| feature.kind.as_str()))
    }

    fn set_texts<'a>(&self, field: &CStr, texts: impl Iterator<Item = &'a str>) -> Result<()> {
        let texts: Vec<_> = texts.map(c_text).collect();
        let list = pointers(&texts);
        // SAFETY: the handle is valid and the list has as many texts as it says.
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

    /// The metrics after a round, as XGBoost writes them: `[7]<tab>train-rmse:1.25<tab>...`.
    pub fn evaluate(&self, round: u32, sets: &[(&str, &Matrix)]) -> Result<String> {
        let handles: Vec<Handle> = sets.iter().map(|(_, matrix)| matrix.handle()).collect();
        let names: Vec<_> = sets.iter().map(|(name, _)| c_text(name)).collect();
        let list = pointers(&names);
        let mut line: *const c_char = ptr::null();
        // SAFETY: the handles are valid and both lists have as many entries as is said.
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
        // SAFETY: a string of the library's that lives until its next call in this thread.
        Ok(unsafe { CStr::from_ptr(line) }.to_string_lossy().into_owned())
    }

    /// A booster of the first rounds of this one.
    pub fn first_rounds(&self, rounds: u32) -> Result<Booster> {
        let mut handle = ptr::null_mut();
        // SAFETY: the handle is valid, and so is the place for the other.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterSlice)(self.handle, 0, round_number(rounds), 1, &mut handle)
        })?;
        Ok(Booster { library: self.library, handle })
    }

    /// The bytes of the model file, as UBJSON.
    pub fn save(&self) -> Result<Vec<u8>> {
        let (mut len, mut bytes): (u64, *const c_char) = (0, ptr::null());
        // SAFETY: the handle and the places for the answer are valid.
        self.library.call(|symbols| unsafe {
            (symbols.XGBoosterSaveModelToBuffer)(
                self.handle,
                c"{\"format\":\"ubj\"}".as_ptr(),
                &mut len,
                &mut bytes,
            )
        })?;
        // SAFETY: the buffer is the library's and lives until its next call in this thread.
        Ok(unsafe { owned(bytes.cast(), len) })
    }

    /// Predicts the rows of a batch in place, by the first rounds: `batch rows * outputs` values.
    pub fn predict(
        &self,
        batch: Batch<'_>,
        proxy: &Matrix,
        output: Output,
        rounds: u32,
    ) -> Result<Vec<f32>> {
        let table = c_text(&batch.table(batch.record));
        let config = c_text(&format!(
            "{{\"type\":{},\"training\":false,\"iteration_begin\":0,\"iteration_end\":{rounds},\
             \"strict_shape\":true,\"missing\":NaN,\"cache_id\":0}}",
            output as u8
        ));
        let (mut shape, mut dimensions, mut values) = (ptr::null(), 0, ptr::null());
        // SAFETY: the handles and the places for the answer are valid, and so is the memory
        // that the table describes.
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
        // SAFETY: the library's own arrays, alive until its next call; the product of the shape is
        // the number of values.
        Ok(unsafe {
            let len = owned::<u64>(shape, dimensions).into_iter().product();
            owned(values, len)
        })
    }
}

impl Drop for Booster {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's own and is not used again.
        let _ = self.library.call(|symbols| unsafe { (symbols.XGBoosterFree)(self.handle) });
    }
}

/// A copy of an array of the library's.
///
/// # Safety
/// The array has that many elements, or none.
unsafe fn owned<T: Copy>(start: *const T, len: u64) -> Vec<T> {
    if start.is_null() {
        return Vec::new();
    }
    // SAFETY: guaranteed by the caller.
    unsafe { slice::from_raw_parts(start, usize::try_from(len).unwrap_or(0)) }.to_vec()
}
