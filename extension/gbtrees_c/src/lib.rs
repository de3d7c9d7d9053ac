//! gbtrees as a C library, for programs that are not Rust; `include/gbtrees.h` describes it.
//!
//! It adds nothing to the library's own types but C's way to call them: pointers for references, codes and a
//! text per thread for errors. A predictor borrows its model, which C must free last. No panic crosses the
//! border, since the library has none.

#![deny(missing_docs, unreachable_pub)]
#![allow(unsafe_code, reason = "C hands over pointers")]

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::{ptr, slice};

use gbtrees::{Error, ErrorKind, Model, Number, Output, Predictor, Rows};

/// A model, and the names of its features as C reads them.
pub struct LoadedModel {
    model: Model,
    names: Vec<CString>,
}

/// Why a call failed, by the numbers of `gbtrees_status`.
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

/// Why a call failed, in a number and in words.
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

/// The code of an outcome, whose text the thread keeps.
fn code(outcome: Result<(), Failure>) -> c_int {
    let Err(Failure(status, text)) = outcome else { return 0 };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    LAST.set(text);
    status as c_int
}

/// What a pointer leads to.
///
/// # Safety
/// It is null, or leads to a value that nobody changes while it is read.
unsafe fn read<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| argument(&format!("{what} is a null pointer")))
}

/// So many numbers.
///
/// # Safety
/// The pointer is null, or `count` numbers can be read there.
unsafe fn numbers<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(argument(&format!("{what} is a null pointer, or has an impossible length")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// Room for so many numbers.
///
/// # Safety
/// The pointer is null, or `count` numbers can be written there, which nobody else uses now.
unsafe fn room<'a, T>(pointer: *mut T, count: usize) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() || count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(argument("results is a null pointer, or has an impossible length"));
    }
    // SAFETY: the caller's promise.
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

/// The error of the last call of this thread that failed; valid until its next call.
#[unsafe(no_mangle)]
pub extern "C" fn gbtrees_last_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

/// Loads a model from the bytes of its file.
///
/// # Safety
/// `length` bytes can be read at `bytes`, and a pointer written at `model`.
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
        // SAFETY: the caller's promise.
        let bytes = unsafe { numbers(bytes.cast::<u8>(), length, "bytes") }?;
        let loaded = Model::load(bytes)?;
        let name = |name: &str| CString::new(name).unwrap_or_default();
        let names = loaded.feature_names().map(name).collect();
        let loaded = Box::new(LoadedModel { model: loaded, names });
        // SAFETY: the caller's promise.
        unsafe { model.write(Box::into_raw(loaded)) };
        Ok(())
    })())
}

/// Frees a model; null is no model.
///
/// # Safety
/// `model` is null, or came from [`gbtrees_load`], is not freed, and has no predictors left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_free(model: *mut LoadedModel) {
    if !model.is_null() {
        // SAFETY: it is a box of `gbtrees_load`, which nobody else frees.
        drop(unsafe { Box::from_raw(model) });
    }
}

/// A number that a model has; 0 if there is no model.
///
/// # Safety
/// `model` is null, or came from [`gbtrees_load`] and is not freed.
unsafe fn shape(model: *const LoadedModel, number: impl Fn(&Model) -> usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { model.as_ref() }.map_or(0, |loaded| number(&loaded.model))
}

/// Features of a row.
///
/// # Safety
/// `model` is null, or came from [`gbtrees_load`] and is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_num_features(model: *const LoadedModel) -> usize {
    // SAFETY: as this function asks.
    unsafe { shape(model, Model::num_features) }
}

/// Margins of a row.
///
/// # Safety
/// As for [`gbtrees_num_features`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_num_outputs(model: *const LoadedModel) -> usize {
    // SAFETY: as this function asks.
    unsafe { shape(model, Model::num_outputs) }
}

/// Trees of a model.
///
/// # Safety
/// As for [`gbtrees_num_features`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_num_trees(model: *const LoadedModel) -> usize {
    // SAFETY: as this function asks.
    unsafe { shape(model, Model::num_trees) }
}

/// Numbers of a row in an output; 0 if there is no such output.
///
/// # Safety
/// As for [`gbtrees_num_features`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_width(model: *const LoadedModel, output: c_int) -> usize {
    let Ok(output) = output_of(output) else { return 0 };
    // SAFETY: as this function asks.
    unsafe { shape(model, |model| model.width(output)) }
}

/// The name of a feature, which lives as long as the model; null if it has none.
///
/// # Safety
/// As for [`gbtrees_num_features`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_feature_name(
    model: *const LoadedModel,
    feature: usize,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let name = unsafe { model.as_ref() }.and_then(|loaded| loaded.names.get(feature));
    name.map_or(ptr::null(), |name| name.as_ptr())
}

/// Makes a predictor, which has the buffers of one thread at a time.
///
/// # Safety
/// `model` came from [`gbtrees_load`] and is freed after the predictor; a pointer can be written at
/// `predictor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_predictor_new(
    model: *const LoadedModel,
    predictor: *mut *mut Predictor<'static>,
) -> c_int {
    code((|| {
        if predictor.is_null() {
            return Err(argument("predictor is a null pointer"));
        }
        // SAFETY: the caller's promise: the model lives longer than the predictor.
        let loaded: &'static LoadedModel = unsafe { read(model, "model") }?;
        // SAFETY: the caller's promise.
        unsafe { predictor.write(Box::into_raw(Box::new(loaded.model.predictor()))) };
        Ok(())
    })())
}

/// Frees a predictor; null is no predictor.
///
/// # Safety
/// `predictor` is null, or came from [`gbtrees_predictor_new`] and is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gbtrees_predictor_free(predictor: *mut Predictor<'static>) {
    if !predictor.is_null() {
        // SAFETY: it is a box of `gbtrees_predictor_new`, which nobody else frees.
        drop(unsafe { Box::from_raw(predictor) });
    }
}

/// Predicts rows in any form.
///
/// # Safety
/// `predictor` is null, or came from [`gbtrees_predictor_new`], is not freed, and nobody else uses it now;
/// `count` numbers can be written at `results`.
unsafe fn predict<T: Number>(
    predictor: *mut Predictor<'static>,
    rows: Result<Rows<'_, T>, Failure>,
    output: c_int,
    results: *mut f64,
    count: usize,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let predictor = unsafe { predictor.as_mut() };
    let predictor = predictor.ok_or_else(|| argument("predictor is a null pointer"))?;
    let (rows, output) = (rows?, output_of(output)?);
    // SAFETY: the caller's promise.
    Ok(predictor.predict_into(&rows, output, unsafe { room(results, count) }?)?)
}

/// # Safety
/// `rows * columns` numbers can be read at `values`.
unsafe fn dense<'a, T: Number>(
    values: *const T,
    rows: usize,
    columns: usize,
) -> Result<Rows<'a, T>, Failure> {
    // SAFETY: the caller's promise.
    let values = unsafe { numbers(values, count_of(rows, columns)?, "values") }?;
    Ok(Rows::dense(values, [rows, columns])?)
}

/// Predicts rows of f32.
///
/// # Safety
/// `predictor` came from [`gbtrees_predictor_new`], is not freed, and nobody else uses it now;
/// `rows * columns` numbers can be read at `values`, and `count` be written at `results`.
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
    // SAFETY: as this function asks.
    code(unsafe { predict(predictor, dense(values, rows, columns), output, results, count) })
}

/// Predicts rows of f64.
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
    // SAFETY: as this function asks.
    code(unsafe { predict(predictor, dense(values, rows, columns), output, results, count) })
}

/// Predicts sparse rows in CSR.
///
/// # Safety
/// As for [`gbtrees_predict_f32`]; `rows + 1` numbers can be read at `starts`, and as many as the last of
/// them says at `column_of` and `values`.
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
        // SAFETY: the caller's promise, here and below.
        let starts = unsafe { numbers(starts, count_of(rows, 1)?.saturating_add(1), "starts") }?;
        let all = starts.last().copied().ok_or_else(|| argument("starts has no end"))?;
        // SAFETY: see above.
        let column_of = unsafe { numbers(column_of, all, "column_of") }?;
        // SAFETY: see above.
        let values = unsafe { numbers(values, all, "values") }?;
        let rows = Rows::csr(starts, column_of, values, columns).map_err(Failure::from);
        // SAFETY: see above.
        unsafe { predict(predictor, rows, output, results, count) }
    })())
}

/// The SHAP values of rows.
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
        // SAFETY: the caller's promise, here and below.
        let predictor = unsafe { predictor.as_mut() };
        let predictor = predictor.ok_or_else(|| argument("predictor is a null pointer"))?;
        // SAFETY: see above.
        let rows = unsafe { dense(values, rows, columns) }?;
        // SAFETY: see above.
        Ok(predictor.contributions_into(&rows, unsafe { room(results, count) }?)?)
    })())
}
