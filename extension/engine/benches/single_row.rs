//! One row at a time: this engine against libxgboost, called in place through its C API.
//!
//!     XGBOOST_LIB=path/to/libxgboost.so cargo bench -p gbdt --bench single_row -- FOLDER
//!
//! FOLDER is what `train_models.py` wrote. Before anything is timed, the margins of all rows are
//! compared bit for bit. Then blocks of rows are timed, all taking turns so that they meet the same
//! noise, each block walking through its rows so that no branch is learnt by heart. All sides have
//! the model ready, use one thread and read the row where it lies. Medians are printed, and the
//! smallest and largest block beside them.
//!
//! `XGBoosterPredictFromDense` is called in two ways: without a proxy matrix, as most callers do, so
//! that XGBoost makes one for every call, which each time reads the container's CPU limit from
//! `/sys`; and with a proxy matrix that is kept, which is the best that can be done with it.
#![allow(unsafe_code, reason = "calls a C library")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark stops where it fails")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::Instant;

use gbdt::{Image, Limits, Scratch};
use libloading::{Library, Symbol};

const MODELS: [&str; 2] = ["25x6.ubj", "500x8.ubj"];
const BLOCKS: usize = 15;
/// What XGBoost needs longer for is measured on fewer rows: a block is not to last forever.
const PEER_ROWS: usize = 1024;
const CONFIG: &str = r#"{"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"missing":NaN,"strict_shape":false,"cache_id":0}"#;

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*const Handle, u64, *mut Handle) -> c_int;
type Load = unsafe extern "C" fn(Handle, *const c_char) -> c_int;
type SetParam = unsafe extern "C" fn(Handle, *const c_char, *const c_char) -> c_int;
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

/// A model loaded into libxgboost.
struct Peer {
    booster: Handle,
    proxy: Handle,
    predict: Predict,
    config: CString,
}

impl Peer {
    fn load(library: &Library, model: &Path) -> Self {
        let path = CString::new(model.to_str().unwrap()).unwrap();
        let mut booster = null_mut();
        // SAFETY: the signatures are those of xgboost/c_api.h; all strings end in a zero byte; the
        // library outlives the booster, since main keeps it to its end.
        unsafe {
            let create: Symbol<'_, Create> = library.get(b"XGBoosterCreate").unwrap();
            let load: Symbol<'_, Load> = library.get(b"XGBoosterLoadModel").unwrap();
            let set: Symbol<'_, SetParam> = library.get(b"XGBoosterSetParam").unwrap();
            let create_proxy: Symbol<'_, CreateProxy> =
                library.get(b"XGProxyDMatrixCreate").unwrap();
            let predict = *library.get::<Predict>(b"XGBoosterPredictFromDense").unwrap();
            let mut proxy = null_mut();
            assert_eq!(create_proxy(&raw mut proxy), 0);
            assert_eq!(create(null(), 0, &raw mut booster), 0);
            assert_eq!(set(booster, c"nthread".as_ptr(), c"1".as_ptr()), 0);
            assert_eq!(load(booster, path.as_ptr()), 0);
            assert_eq!(set(booster, c"nthread".as_ptr(), c"1".as_ptr()), 0);
            Peer { booster, proxy, predict, config: CString::new(CONFIG).unwrap() }
        }
    }

    /// The margin of a row, read in place, with or without the proxy matrix that is kept.
    fn margin(&self, row: &[f32], keep_proxy: bool) -> f32 {
        let proxy = if keep_proxy { self.proxy } else { null_mut() };
        let mut array = [0u8; 128];
        let mut rest = &mut array[..];
        let (address, features) = (row.as_ptr().addr(), row.len());
        write!(
            rest,
            "{{\"data\":[{address},true],\"shape\":[1,{features}],\"typestr\":\"<f4\",\"version\":3}}\0"
        )
        .unwrap();
        let (mut shape, mut dims, mut result) = (null(), 0, null());
        // SAFETY: the booster is alive, the strings end in a zero byte, the array interface names
        // the row, and after success the result points to one float.
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
            *result
        }
    }
}

/// Nanoseconds a row of one pass over the rows.
fn time<'a>(
    rows: impl ExactSizeIterator<Item = &'a [f32]>,
    mut margin: impl FnMut(&[f32]) -> f32,
) -> f64 {
    let count = rows.len() as f64;
    let start = Instant::now();
    let sum: f32 = rows.map(|row| margin(black_box(row))).sum();
    black_box(sum);
    start.elapsed().as_nanos() as f64 / count
}

/// Smallest, median and largest.
fn spread(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_by(f64::total_cmp);
    [times[0], times[times.len() / 2], times[times.len() - 1]]
}

fn compare(library: &Library, folder: &Path, name: &str, rows: &[f32]) {
    let path = folder.join(name);
    let bytes = std::fs::read(&path).unwrap();
    let model = gbdt::parse(&bytes, &Limits::default(), &mut || {}).unwrap();
    let bytes = gbdt::lower(&model, &[]).unwrap();
    let length = bytes.len();
    let start = Instant::now();
    let image = Image::open(bytes).unwrap();
    let opening = start.elapsed().as_nanos() as f64 / 1000.0;
    let mut scratch = Scratch::new(&image);
    let mut out = [0.0];
    let mut ours = |row: &[f32]| {
        image.margins(&mut scratch, row, &mut out);
        out[0]
    };
    let peer = Peer::load(library, &path);
    let rows: Vec<&[f32]> = rows.chunks_exact(image.num_features()).collect();
    for (index, row) in rows.iter().enumerate() {
        let (ours, theirs) = (ours(row), [false, true].map(|keep| peer.margin(row, keep)));
        assert_eq!(
            [ours.to_bits(); 2],
            theirs.map(f32::to_bits),
            "row {index}: {ours}, {theirs:?}"
        );
    }
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..BLOCKS {
        let [our_times, fresh_times, kept_times] = &mut times;
        let some = || rows[..PEER_ROWS].iter().copied();
        fresh_times.push(time(some(), |row| peer.margin(row, false)));
        kept_times.push(time(some(), |row| peer.margin(row, true)));
        our_times.push(time(rows.iter().copied(), &mut ours));
    }
    println!(
        "{name}: {} rows equal to the bit; image {length} bytes, opened in {opening:.0} us",
        rows.len()
    );
    let names = ["gbdt", "xgboost", "xgboost, proxy kept"];
    let [ours, fresh, kept] = times.map(spread);
    for (name, [min, median, max]) in names.into_iter().zip([ours, fresh, kept]) {
        let ratio = median / ours[1];
        println!("  {name:<20}{median:>10.1} ns/row  ({min:.1} to {max:.1})  {ratio:.1}");
    }
}

fn main() {
    // Cargo passes --bench; the folder is what is no option.
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let (Some(folder), Some(path)) = (folder, std::env::var_os("XGBOOST_LIB")) else {
        eprintln!(
            "usage: XGBOOST_LIB=path/to/libxgboost.so cargo bench -p gbdt --bench single_row -- FOLDER"
        );
        return;
    };
    let folder = Path::new(&folder);
    let rows: Vec<f32> = std::fs::read(folder.join("rows.f32"))
        .unwrap()
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    // SAFETY: the user names a library that is libxgboost; its initialisers may run.
    let library = unsafe { Library::new(path) }.unwrap();
    let mut version = [0; 3];
    // SAFETY: the signature is that of xgboost/c_api.h, and each pointer is to an int of its own.
    unsafe {
        let ask: Symbol<'_, Version> = library.get(b"XGBoostVersion").unwrap();
        let [major, minor, patch] = &mut version;
        ask(major, minor, patch);
    }
    println!("libxgboost {version:?}, one thread, one row at a time, margins");
    for name in MODELS {
        compare(&library, folder, name, &rows);
    }
}
