//! XGBoost's contributions, by its C API: a matrix is made once, and only predictions are measured.

use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};

use libloading::{Library, Symbol};

use super::{Create, Free, Handle, Load, SetParam};

type CreateDense = unsafe extern "C" fn(*const c_char, *const c_char, *mut Handle) -> c_int;
type Predict = unsafe extern "C" fn(
    Handle,
    Handle,
    *const c_char,
    *mut *const u64,
    *mut u64,
    *mut *const f32,
) -> c_int;

/// A model loaded into libxgboost, for one thread. The library must outlive it.
pub struct Explainer {
    booster: Handle,
    create: CreateDense,
    predict: Predict,
    free: [Free; 2],
}

/// Rows in libxgboost's own form.
pub struct Matrix(Handle, Free);

impl Drop for Matrix {
    fn drop(&mut self) {
        // SAFETY: the handle is alive, and nobody has it after this.
        unsafe { (self.1)(self.0) };
    }
}

impl Explainer {
    pub fn load(library: &Library, model: &Path) -> Self {
        let path = CString::new(model.to_str().unwrap()).unwrap();
        let mut booster = null_mut();
        // SAFETY: the signatures are those of xgboost/c_api.h; all strings end in a zero byte; the
        // library outlives the booster, since main keeps it to its end.
        unsafe {
            let create: Symbol<'_, Create> = library.get(b"XGBoosterCreate").unwrap();
            let load: Symbol<'_, Load> = library.get(b"XGBoosterLoadModel").unwrap();
            let set: Symbol<'_, SetParam> = library.get(b"XGBoosterSetParam").unwrap();
            assert_eq!(create(null(), 0, &raw mut booster), 0);
            assert_eq!(load(booster, path.as_ptr()), 0);
            assert_eq!(set(booster, c"nthread".as_ptr(), c"1".as_ptr()), 0);
            Explainer {
                booster,
                create: *library.get(b"XGDMatrixCreateFromDense").unwrap(),
                predict: *library.get(b"XGBoosterPredictFromDMatrix").unwrap(),
                free: [
                    *library.get(b"XGBoosterFree").unwrap(),
                    *library.get(b"XGDMatrixFree").unwrap(),
                ],
            }
        }
    }

    pub fn matrix(&self, rows: &[f32], num_features: usize) -> Matrix {
        let (address, count) = (rows.as_ptr().addr(), rows.len() / num_features);
        let array = CString::new(format!(
            "{{\"data\":[{address},true],\"shape\":[{count},{num_features}],\"typestr\":\"<f4\",\"version\":3}}"
        ));
        let config = c"{\"missing\":NaN,\"nthread\":1}";
        let mut matrix = null_mut();
        // SAFETY: the array interface names the rows, which are copied.
        let code =
            unsafe { (self.create)(array.unwrap().as_ptr(), config.as_ptr(), &raw mut matrix) };
        assert_eq!(code, 0, "XGDMatrixCreateFromDense");
        Matrix(matrix, self.free[1])
    }

    /// Puts a prediction of a type (2: contributions, 3: approximate ones, 4: interactions) into a list.
    pub fn explain(&self, matrix: &Matrix, kind: u32, out: &mut Vec<f32>) {
        let config = CString::new(format!(
            "{{\"type\":{kind},\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,\"strict_shape\":false}}"
        ));
        let (mut shape, mut dims, mut result) = (null(), 0, null());
        // SAFETY: the booster and the matrix are alive, and after success the result points to as many
        // floats as its shape says, which stay until the next call.
        unsafe {
            let config = config.unwrap();
            let code = (self.predict)(
                self.booster,
                matrix.0,
                config.as_ptr(),
                &raw mut shape,
                &raw mut dims,
                &raw mut result,
            );
            assert_eq!(code, 0, "XGBoosterPredictFromDMatrix");
            let shape = std::slice::from_raw_parts(shape, dims as usize);
            let length = shape.iter().product::<u64>() as usize;
            out.clear();
            out.extend_from_slice(std::slice::from_raw_parts(result, length));
        }
    }
}

impl Drop for Explainer {
    fn drop(&mut self) {
        // SAFETY: the handle is alive, and nobody has it after this.
        unsafe { (self.free[0])(self.booster) };
    }
}
