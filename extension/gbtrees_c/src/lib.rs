//! The C API of gbtrees; `include/gbtrees.h` documents it.
//!
//! It maps the Rust API to pointers, status codes, and an error text per thread. A predictor borrows
//! its model, which must be freed last. No panic crosses the boundary, since the library has none.

#![deny(missing_docs, unreachable_pub)]
#![allow(unsafe_code, reason = "C hands over pointers")]

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::{ptr, slice};

use gbtrees::{Error, ErrorKind, Model, Number, Output, Predictor, Rows};

/// A model, with feature names as C strings.
pub struct LoadedModel {
    model: Model,
    names: Vec<CString>,
}

/// Status codes, numbered as in `gbtrees_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
enum Status {
    Argument = 1,
    Length = 2,
    Model = 3,
    Unsupported = 4,
    Limit = 5,
    Internal = 6,
}

/// A status code and an error message.
struct Failure(Status, String);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::RowLength => Status::Length,
            ErrorKind::Unsupported => Status::Unsupported,
            ErrorKind::Limit | ErrorKind::OutOfMemory => Status::Limit,
            ErrorKind::Internal | ErrorKind::CompiledModel => Status::Internal,
            _ => Status::Model,
        };
        Failure(status, error.to_string())
    }
}

fn argument(what: &str) -> Failure {
    Failure(Status::Argument, what.to_owned())
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Returns the code of an outcome and stores its message for the thread.
fn code(outcome: Result<(), Failure>) -> c_int {
    let Err(Failure(status, text)) = outcome else { return 0 };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    LAST.set(text);
    status as c_int
}

/// Dereferences a pointer from C.
///
/// # Safety
/// `pointer` is null, or valid for reads and not modified during `'a`.
unsafe fn read<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller ensures that `pointer` is null or valid.
    unsafe { pointer.as_ref() }.ok_or_else(|| argument(&format!("{what} is a null pointer")))
}

/// Returns an array from C.
///
/// # Safety
/// `pointer` is null, or valid for reads of `count` elements.
unsafe fn numbers<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(argument(&format!("{what} is a null pointer, or has an impossible length")));
    }
    // SAFETY: the caller ensures that `count` elements are readable.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// Returns a mutable array from C.
///
/// # Safety
/// `pointer` is null, or valid for writes of `count` elements, without aliases during `'a`.
unsafe fn room<'a, T>(pointer: *mut T, count: usize) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(argument("results is a null pointer, or has an impossible length"));
    }
    // SAFETY: the caller ensures that `count` elements are writable and not aliased.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, count) })
}

fn output_of(output: c_int) -> Result<Output, Failure> {
    match output {
        0 => Ok(Output::Value),
        1 => Ok(Output::Margin),
        2 => Ok(Output::Class),
        _ => Err(argument(&format!("there is no output {output}"))),
    }
}

fn count_of(rows: usize, columns: usize) -> Result<usize, Failure> {
    let message =
        || Failure(Status::Length, format!("{rows} rows of {columns} columns are too many"));
    rows.checked_mul(columns).ok_or_else(message)
}

/// Returns the message of this thread's last failed call, valid until its next call.
#[unsafe(no_mangle)]
pub extern "C" fn gbtrees_last_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

/// Loads a model from a file's bytes.
///
/// # Safety
/// `bytes` is valid for reads of `length` bytes, `model` for the write of a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_load(
    bytes: *const c_void,
    length: usize,
    model: *mut *mut LoadedModel,
) -> c_int {
    code((|| {
        if model.is_null() {
            return Err(argument("model is a null pointer"));
        }
        // SAFETY: `bytes` is valid for `length` bytes.
        let bytes = unsafe { numbers(bytes.cast::<u8>(), length, "bytes") }?;
        let loaded = Model::load(bytes)?;
        let name = |name: &str| CString::new(name).unwrap_or_default();
        let names = loaded.feature_names().map(name).collect();
        let loaded = Box::new(LoadedModel { model: loaded, names });
        // SAFETY: `model` is writable.
        unsafe { model.write(Box::into_raw(loaded)) };
        Ok(())
    })())
}

/// Frees a model; null is ignored.
///
/// # Safety
/// `model` is null, or an unfreed result of [`gbtrees_load`] without remaining predictors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_free(model: *mut LoadedModel) {
    if !model.is_null() {
        // SAFETY: the box comes from `gbtrees_load`, and is freed once.
        drop(unsafe { Box::from_raw(model) });
    }
}

/// Returns a property of a model; 0 for null.
///
/// # Safety
/// `model` is null, or an unfreed result of [`gbtrees_load`].
unsafe fn shape(model: *const LoadedModel, number: impl Fn(&Model) -> usize) -> usize {
    // SAFETY: `model` is null or a live model.
    unsafe { model.as_ref() }.map_or(0, |loaded| number(&loaded.model))
}

/// Returns the number of features of a row.
///
/// # Safety
/// `model` is null, or an unfreed result of [`gbtrees_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_num_features(model: *const LoadedModel) -> usize {
    // SAFETY: `model` is null or a live model.
    unsafe { shape(model, Model::num_features) }
}

/// Returns the number of margins of a row.
///
/// # Safety
/// As for [`gbtrees_num_features`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_num_outputs(model: *const LoadedModel) -> usize {
    // SAFETY: `model` is null or a live model.
    unsafe { shape(model, Model::num_outputs) }
}

/// Returns the number of trees.
///
/// # Safety
/// As for [`gbtrees_num_features`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_num_trees(model: *const LoadedModel) -> usize {
    // SAFETY: `model` is null or a live model.
    unsafe { shape(model, Model::num_trees) }
}

/// Returns the numbers per row in an output; 0 for an invalid output.
///
/// # Safety
/// As for [`gbtrees_num_features`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_width(model: *const LoadedModel, output: c_int) -> usize {
    let Ok(output) = output_of(output) else { return 0 };
    // SAFETY: `model` is null or a live model.
    unsafe { shape(model, |model| model.width(output)) }
}

/// Returns a feature's name, which lives as long as the model; null if it has none.
///
/// # Safety
/// As for [`gbtrees_num_features`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_feature_name(
    model: *const LoadedModel,
    feature: usize,
) -> *const c_char {
    // SAFETY: `model` is null or a live model.
    let name = unsafe { model.as_ref() }.and_then(|loaded| loaded.names.get(feature));
    name.map_or(ptr::null(), |name| name.as_ptr())
}

/// Creates a predictor, which serves one thread at a time.
///
/// # Safety
/// `model` is an unfreed result of [`gbtrees_load`] and freed after the predictor; `predictor` is valid
/// for the write of a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_predictor_new(
    model: *const LoadedModel,
    predictor: *mut *mut Predictor<'static>,
) -> c_int {
    code((|| {
        if predictor.is_null() {
            return Err(argument("predictor is a null pointer"));
        }
        // SAFETY: `model` is live, and outlives the predictor.
        let loaded: &'static LoadedModel = unsafe { read(model, "model") }?;
        // SAFETY: `predictor` is writable.
        unsafe { predictor.write(Box::into_raw(Box::new(loaded.model.predictor()))) };
        Ok(())
    })())
}

/// Frees a predictor; null is ignored.
///
/// # Safety
/// `predictor` is null, or an unfreed result of [`gbtrees_predictor_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_predictor_free(predictor: *mut Predictor<'static>) {
    if !predictor.is_null() {
        // SAFETY: the box comes from `gbtrees_predictor_new`, and is freed once.
        drop(unsafe { Box::from_raw(predictor) });
    }
}

/// Predicts rows of any form.
///
/// # Safety
/// `predictor` is null, or an unfreed result of [`gbtrees_predictor_new`] not in use elsewhere;
/// `results` is valid for writes of `count` elements.
unsafe fn predict<T: Number>(
    predictor: *mut Predictor<'static>,
    rows: Result<Rows<'_, T>, Failure>,
    output: c_int,
    results: *mut f64,
    count: usize,
) -> Result<(), Failure> {
    // SAFETY: `predictor` is null, or live and not in use elsewhere.
    let predictor = unsafe { predictor.as_mut() };
    let predictor = predictor.ok_or_else(|| argument("predictor is a null pointer"))?;
    let (rows, output) = (rows?, output_of(output)?);
    // SAFETY: `results` has room for `count` elements.
    Ok(predictor.predict_into(&rows, output, unsafe { room(results, count) }?)?)
}

/// # Safety
/// `values` is valid for reads of `rows * columns` elements.
unsafe fn dense<'a, T: Number>(
    values: *const T,
    rows: usize,
    columns: usize,
) -> Result<Rows<'a, T>, Failure> {
    // SAFETY: `values` has `rows * columns` elements.
    let values = unsafe { numbers(values, count_of(rows, columns)?, "values") }?;
    Ok(Rows::dense(values, [rows, columns])?)
}

/// Predicts f32 rows.
///
/// # Safety
/// `predictor` is an unfreed result of [`gbtrees_predictor_new`] not in use elsewhere; `values` is
/// valid for reads of `rows * columns` elements, `results` for writes of `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_predict_f32(
    predictor: *mut Predictor<'static>,
    values: *const f32,
    rows: usize,
    columns: usize,
    output: c_int,
    results: *mut f64,
    count: usize,
) -> c_int {
    // SAFETY: as for this function.
    code(unsafe { predict(predictor, dense(values, rows, columns), output, results, count) })
}

/// Predicts f64 rows.
///
/// # Safety
/// As for [`gbtrees_predict_f32`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_predict_f64(
    predictor: *mut Predictor<'static>,
    values: *const f64,
    rows: usize,
    columns: usize,
    output: c_int,
    results: *mut f64,
    count: usize,
) -> c_int {
    // SAFETY: as for this function.
    code(unsafe { predict(predictor, dense(values, rows, columns), output, results, count) })
}

/// Predicts sparse rows in CSR.
///
/// # Safety
/// As for [`gbtrees_predict_f32`]; `starts` is valid for reads of `rows + 1` elements, `column_of` and
/// `values` for as many as the last of these says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_predict_csr(
    predictor: *mut Predictor<'static>,
    starts: *const usize,
    rows: usize,
    column_of: *const u32,
    values: *const f64,
    columns: usize,
    output: c_int,
    results: *mut f64,
    count: usize,
) -> c_int {
    code((|| {
        // SAFETY: `starts` has `rows + 1` elements.
        let starts = unsafe { numbers(starts, count_of(rows, 1)?.saturating_add(1), "starts") }?;
        let all = starts.last().copied().ok_or_else(|| argument("starts has no end"))?;
        // SAFETY: `column_of` has as many elements as `starts` ends with.
        let column_of = unsafe { numbers(column_of, all, "column_of") }?;
        // SAFETY: so has `values`.
        let values = unsafe { numbers(values, all, "values") }?;
        let rows = Rows::csr(starts, column_of, values, columns).map_err(Failure::from);
        // SAFETY: predictor and results are as for this function.
        unsafe { predict(predictor, rows, output, results, count) }
    })())
}

/// Computes the SHAP values of rows.
///
/// # Safety
/// As for [`gbtrees_predict_f32`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_contributions(
    predictor: *mut Predictor<'static>,
    values: *const f32,
    rows: usize,
    columns: usize,
    results: *mut f32,
    count: usize,
) -> c_int {
    code((|| {
        // SAFETY: `predictor` is null, or live and not in use elsewhere.
        let predictor = unsafe { predictor.as_mut() };
        let predictor = predictor.ok_or_else(|| argument("predictor is a null pointer"))?;
        // SAFETY: `values` has `rows * columns` elements.
        let rows = unsafe { dense(values, rows, columns) }?;
        // SAFETY: `results` has room for `count` elements.
        Ok(predictor.contributions_into(&rows, unsafe { room(results, count) }?)?)
    })())
}
