//! LightGBM's C API, loaded by path, to compare the engine on text models.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;

use libloading::{Library, Symbol};

type Handle = *mut c_void;
type Load = unsafe extern "C" fn(*const c_char, *mut c_int, *mut Handle) -> c_int;
type Free = unsafe extern "C" fn(Handle) -> c_int;
/// Handle, data and type, rows, columns, row-major, kind, first iteration, iterations, parameters,
/// results.
type Predict = unsafe extern "C" fn(
    Handle,
    *const c_void,
    c_int,
    i32,
    i32,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_char,
    *mut i64,
    *mut f64,
) -> c_int;
type Prepare = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    i32,
    *const c_char,
    *mut Handle,
) -> c_int;
type PredictRow = unsafe extern "C" fn(Handle, *const c_void, *mut i64, *mut f64) -> c_int;

const FLOAT32: c_int = 0;
const FLOAT64: c_int = 1;
const RAW_SCORE: c_int = 1;
const ONE_THREAD: &std::ffi::CStr = c"num_threads=1";

/// Returns whether a library is LightGBM.
pub(crate) fn is_lightgbm(library: &Library) -> bool {
    // SAFETY: the symbol is only looked up.
    unsafe { library.get::<Load>(b"LGBM_BoosterCreateFromModelfile") }.is_ok()
}

/// Returns the release of a library in a Python environment, which the library itself does not tell.
pub(crate) fn version(library: &Path) -> String {
    let folders = library.ancestors().filter_map(|folder| folder.read_dir().ok());
    let names = folders.flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let version =
        |name: String| Some(name.strip_prefix("lightgbm-")?.strip_suffix(".dist-info")?.to_owned());
    names.filter_map(version).next().unwrap_or_else(|| "of unknown release".to_owned())
}

/// A model loaded into LightGBM for one thread, with symbols that must not outlive the library.
pub(crate) struct Booster {
    booster: Handle,
    row: Handle,
    predict: Predict,
    predict_row: PredictRow,
    free: [Free; 2],
    sums: RefCell<Vec<f64>>,
    doubles: RefCell<Vec<f64>>,
}

impl Booster {
    pub(crate) fn load(library: &Library, model: &Path, features: usize) -> Self {
        let path = CString::new(model.to_str().unwrap()).unwrap();
        let (mut booster, mut row, mut iterations) = (null_mut(), null_mut(), 0);
        // SAFETY: the signatures are those of LightGBM/c_api.h, all strings are zero-terminated, and
        // main keeps the library until it exits.
        unsafe {
            let load: Symbol<'_, Load> = library.get(b"LGBM_BoosterCreateFromModelfile").unwrap();
            let prepare: Symbol<'_, Prepare> =
                library.get(b"LGBM_BoosterPredictForMatSingleRowFastInit").unwrap();
            assert_eq!(load(path.as_ptr(), &raw mut iterations, &raw mut booster), 0);
            let parameters = ONE_THREAD.as_ptr();
            let code = prepare(
                booster,
                RAW_SCORE,
                0,
                -1,
                FLOAT32,
                features as i32,
                parameters,
                &raw mut row,
            );
            assert_eq!(code, 0, "LGBM_BoosterPredictForMatSingleRowFastInit");
            Booster {
                booster,
                row,
                predict: *library.get(b"LGBM_BoosterPredictForMat").unwrap(),
                predict_row: *library.get(b"LGBM_BoosterPredictForMatSingleRowFast").unwrap(),
                free: [
                    *library.get::<Free>(b"LGBM_BoosterFree").unwrap(),
                    *library.get::<Free>(b"LGBM_FastConfigFree").unwrap(),
                ],
                sums: RefCell::default(),
                doubles: RefCell::default(),
            }
        }
    }

    /// Computes raw scores of an f32 or f64 matrix, rounded once to f32; single f32 rows use the fast
    /// call. Converting rows to f64 takes a few nanoseconds of the time.
    pub(crate) fn margins(
        &self,
        rows: &[f32],
        features: usize,
        outputs: usize,
        wide: bool,
        out: &mut Vec<f32>,
    ) {
        let count = rows.len() / features;
        let (mut sums, mut doubles) = (self.sums.borrow_mut(), self.doubles.borrow_mut());
        sums.resize(count * outputs, 0.0);
        let (data, kind) = if wide {
            doubles.clear();
            doubles.extend(rows.iter().copied().map(f64::from));
            (doubles.as_ptr().cast(), FLOAT64)
        } else {
            (rows.as_ptr().cast(), FLOAT32)
        };
        let mut length = 0;
        // SAFETY: the booster is alive; counts match the numbers, and the results have room for one per
        // row and output.
        let code = unsafe {
            let (length, sums) = (&raw mut length, sums.as_mut_ptr());
            if count == 1 && !wide {
                (self.predict_row)(self.row, data, length, sums)
            } else {
                let (rows, columns) = (count as i32, features as i32);
                let parameters = ONE_THREAD.as_ptr();
                (self.predict)(
                    self.booster,
                    data,
                    kind,
                    rows,
                    columns,
                    1,
                    RAW_SCORE,
                    0,
                    -1,
                    parameters,
                    length,
                    sums,
                )
            }
        };
        assert_eq!((code, length), (0, sums.len() as i64), "LightGBM's prediction");
        out.clear();
        out.extend(sums.iter().map(|sum| *sum as f32));
    }
}

impl Drop for Booster {
    fn drop(&mut self) {
        // SAFETY: the handles are alive and not used afterwards.
        unsafe {
            (self.free[1])(self.row);
            (self.free[0])(self.booster);
        }
    }
}
