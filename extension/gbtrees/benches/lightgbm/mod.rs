//! LightGBM's C API, loaded by path: the grid compares the engine with it on text models.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;

use libloading::{Library, Symbol};

type Handle = *mut c_void;
type Load = unsafe extern "C" fn(*const c_char, *mut c_int, *mut Handle) -> c_int;
type Free = unsafe extern "C" fn(Handle) -> c_int;
/// Handle, numbers and their type, rows, columns, row by row, what, iterations, parameters, results.
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

/// Whether a library is LightGBM's.
pub(crate) fn is_lightgbm(library: &Library) -> bool {
    // SAFETY: the symbol is only looked for.
    unsafe { library.get::<Load>(b"LGBM_BoosterCreateFromModelfile") }.is_ok()
}

/// The release of a library in a Python environment, which the library itself does not tell.
pub(crate) fn version(library: &Path) -> String {
    let folders = library.ancestors().filter_map(|folder| folder.read_dir().ok());
    let names = folders.flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let version =
        |name: String| Some(name.strip_prefix("lightgbm-")?.strip_suffix(".dist-info")?.to_owned());
    names.filter_map(version).next().unwrap_or_else(|| "of unknown release".to_owned())
}

/// A model loaded into LightGBM, for one thread. The library must outlive it.
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
        // SAFETY: the signatures are those of LightGBM/c_api.h; all strings end in a zero byte; the
        // library outlives the booster, since main keeps it to its end.
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

    /// Raw scores of rows, as a matrix of f32 or of f64; a single row of f32 goes the fast way. Rounded to
    /// f32 once. To make rows f64 takes a few
    /// nanoseconds of the time.
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
        // SAFETY: the booster is alive; the numbers are as many as the counts say, and the results have
        // room for one per row and output.
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
        // SAFETY: the handles are alive, and nobody has them after this.
        unsafe {
            (self.free[1])(self.row);
            (self.free[0])(self.booster);
        }
    }
}
