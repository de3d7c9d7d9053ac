//! libxgboost's C API, loaded by path, to compare the engine with it.
//!
//! Unlike this module, the crate `xgboost_ffi` takes only recent releases, and its calls allocate,
//! which is some percent of the fastest call measured here.

use std::ffi::{CString, c_char, c_int, c_void};
use std::io::Write as _;
use std::path::Path;
use std::ptr::{null, null_mut};

use libloading::{Library, Symbol};

const CONFIG: &str = r#"{"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"missing":NaN,"strict_shape":false,"cache_id":0}"#;

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*const Handle, u64, *mut Handle) -> c_int;
type Load = unsafe extern "C" fn(Handle, *const c_char) -> c_int;
type SetParam = unsafe extern "C" fn(Handle, *const c_char, *const c_char) -> c_int;
type Free = unsafe extern "C" fn(Handle) -> c_int;
type CreateProxy = unsafe extern "C" fn(*mut Handle) -> c_int;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int);
type Predict = unsafe extern "C" fn(
    Handle,
    *const c_char,
    *const c_char,
    Handle,
    *mut *const u64,
    *mut u64,
    *mut *const f32,
) -> c_int;

/// Reads a file of rows.
pub(crate) fn floats(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

pub(crate) fn version(library: &Library) -> String {
    let mut version = [0; 3];
    // SAFETY: the signature is that of xgboost/c_api.h, and each pointer is to a separate int.
    unsafe {
        let ask: Symbol<'_, Version> = library.get(b"XGBoostVersion").unwrap();
        let [major, minor, patch] = &mut version;
        ask(major, minor, patch);
    }
    version.map(|number| number.to_string()).join(".")
}

/// A model loaded into libxgboost for one thread, with symbols that must not outlive the library.
pub(crate) struct Peer {
    booster: Handle,
    proxy: Handle,
    predict: Predict,
    free: [Free; 2],
    config: CString,
}

impl Peer {
    pub(crate) fn load(library: &Library, model: &Path) -> Self {
        let path = CString::new(model.to_str().unwrap()).unwrap();
        let (mut booster, mut proxy) = (null_mut(), null_mut());
        // SAFETY: the signatures are those of xgboost/c_api.h, all strings are zero-terminated, and
        // main keeps the library until it exits.
        unsafe {
            let create: Symbol<'_, Create> = library.get(b"XGBoosterCreate").unwrap();
            let load: Symbol<'_, Load> = library.get(b"XGBoosterLoadModel").unwrap();
            let set: Symbol<'_, SetParam> = library.get(b"XGBoosterSetParam").unwrap();
            let create_proxy: Symbol<'_, CreateProxy> =
                library.get(b"XGProxyDMatrixCreate").unwrap();
            let predict = *library.get::<Predict>(b"XGBoosterPredictFromDense").unwrap();
            let free = [
                *library.get::<Free>(b"XGBoosterFree").unwrap(),
                *library.get::<Free>(b"XGDMatrixFree").unwrap(),
            ];
            assert_eq!(create_proxy(&raw mut proxy), 0);
            assert_eq!(create(null(), 0, &raw mut booster), 0);
            assert_eq!(set(booster, c"nthread".as_ptr(), c"1".as_ptr()), 0);
            assert_eq!(load(booster, path.as_ptr()), 0);
            assert_eq!(set(booster, c"nthread".as_ptr(), c"1".as_ptr()), 0);
            Peer { booster, proxy, predict, free, config: CString::new(CONFIG).unwrap() }
        }
    }

    /// Computes the margins of rows in place, with or without a reused proxy matrix.
    pub(crate) fn margins(
        &self,
        rows: &[f32],
        num_features: usize,
        keep_proxy: bool,
        out: &mut Vec<f32>,
    ) {
        let proxy = if keep_proxy { self.proxy } else { null_mut() };
        let mut array = [0u8; 128];
        let mut rest = &mut array[..];
        let (address, count) = (rows.as_ptr().addr(), rows.len() / num_features);
        write!(
            rest,
            "{{\"data\":[{address},true],\"shape\":[{count},{num_features}],\"typestr\":\"<f4\",\"version\":3}}\0"
        )
        .unwrap();
        let (mut shape, mut dims, mut result) = (null(), 0, null());
        // SAFETY: the booster is alive, strings are zero-terminated, the array interface describes the
        // rows, and on success the result has as many floats as its shape says, valid until the next
        // call.
        unsafe {
            let code = (self.predict)(
                self.booster,
                array.as_ptr().cast(),
                self.config.as_ptr(),
                proxy,
                &raw mut shape,
                &raw mut dims,
                &raw mut result,
            );
            assert_eq!(code, 0, "XGBoosterPredictFromDense");
            let shape = std::slice::from_raw_parts(shape, dims as usize);
            let length = shape.iter().product::<u64>() as usize;
            out.clear();
            out.extend_from_slice(std::slice::from_raw_parts(result, length));
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // SAFETY: the handles are alive and not used afterwards.
        unsafe {
            (self.free[0])(self.booster);
            (self.free[1])(self.proxy);
        }
    }
}
