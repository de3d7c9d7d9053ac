//! The engine as a C library, for programs that are not Rust; `include/gbdt.h` describes it.
//!
//! Three functions: a model is opened from bytes, predicts rows, and is closed. It holds the buffers of a
//! prediction, so that predicting allocates nothing, and therefore belongs to one thread at a time.
//! No error and no panic crosses the border: what fails says so by what it returns.

#![allow(unreachable_pub, clippy::missing_safety_doc, reason = "not yet held here")]
#![allow(unsafe_code, reason = "C hands over pointers")]

use std::ffi::{c_char, c_int, c_void};
use std::{ptr, slice};

use gbdt::forest::AlignedBytes;
use gbdt::{Image, Limits, Scratch, compile, parse};

/// A model and the buffers of one prediction.
pub struct Model {
    image: Image<AlignedBytes>,
    scratch: Scratch,
}

fn opened(bytes: &[u8]) -> gbdt::Result<Model> {
    let mut never = || ();
    let model = parse(bytes, &Limits::default(), &mut never)?;
    let image = Image::open(compile(&model, &[], &mut never)?)?;
    let scratch = Scratch::new(&image);
    Ok(Model { image, scratch })
}

impl Model {
    /// The value of a row; `None` where the row or the model is of another shape.
    fn predict(&mut self, features: &[f32]) -> Option<f32> {
        if (features.len(), self.image.num_outputs()) != (self.image.num_features(), 1) {
            return None;
        }
        let mut margin = [0.0f32];
        self.image.margins(&mut self.scratch, features, &mut margin).ok()?;
        (self.image.values(&mut margin) == 1).then_some(margin[0])
    }
}

/// Copies as much of a text as fits, ended by a zero.
///
/// # Safety
/// `size` bytes can be written at `target`, unless `target` is null.
unsafe fn tell(text: &str, target: *mut c_char, size: usize) {
    if target.is_null() || size == 0 {
        return;
    }
    let length = text.len().min(size - 1);
    // SAFETY: `length + 1 <= size` bytes are the caller's to be written, and `text` has `length`.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), target.cast(), length);
        target.add(length).write(0);
    }
}

/// Opens a model file that lies in memory; null where it cannot, and `error` says why.
///
/// # Safety
/// `length` bytes can be read at `bytes`; `error_size` can be written at `error`, unless that is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbdt_open(
    bytes: *const c_void,
    length: usize,
    error: *mut c_char,
    error_size: usize,
) -> *mut Model {
    if bytes.is_null() {
        // SAFETY: as this function asks.
        unsafe { tell("there are no bytes", error, error_size) };
        return ptr::null_mut();
    }
    // SAFETY: `length` bytes can be read there.
    match opened(unsafe { slice::from_raw_parts(bytes.cast(), length) }) {
        Ok(model) => Box::into_raw(Box::new(model)),
        Err(why) => {
            // SAFETY: as this function asks.
            unsafe { tell(&why.to_string(), error, error_size) };
            ptr::null_mut()
        }
    }
}

/// Predicts a row: 0, or -1 where the row or the model is of another shape.
///
/// # Safety
/// `model` came from [`gbdt_open`], is not closed, and nobody else uses it now; `features` has `count` numbers
/// and `value` room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbdt_predict(
    model: *mut Model,
    features: *const f32,
    count: usize,
    value: *mut f32,
) -> c_int {
    if model.is_null() || features.is_null() || value.is_null() {
        return -1;
    }
    // SAFETY: the caller has the model alone, and `count` numbers can be read.
    let found = unsafe { (*model).predict(slice::from_raw_parts(features, count)) };
    let Some(found) = found else { return -1 };
    // SAFETY: there is room for one.
    unsafe { value.write(found) };
    0
}

/// Frees a model; null is none.
///
/// # Safety
/// `model` is null, or came from [`gbdt_open`] and is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbdt_close(model: *mut Model) {
    if !model.is_null() {
        // SAFETY: it is a box of `gbdt_open`, which nobody else frees.
        drop(unsafe { Box::from_raw(model) });
    }
}
