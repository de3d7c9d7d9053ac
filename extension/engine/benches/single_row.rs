//! One row at a time: this engine against libxgboost, called in place through its C API.
//!
//!     XGBOOST_LIB=path/to/libxgboost.so cargo bench -p gbdt --bench single_row -- FOLDER
//!
//! FOLDER is what `train_models.py` wrote. Before anything is timed, the margins of all rows are
//! compared bit for bit. Then blocks of rows are timed, the two taking turns so that both meet the
//! same noise, each block walking through all rows so that no branch is learnt by heart. Both sides
//! have the model ready, use one thread and read the row where it lies. Medians are printed, and
//! the smallest and largest block beside them.
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
            let predict = *library.get::<Predict>(b"XGBoosterPredictFromDense").unwrap();
            assert_eq!(create(null(), 0, &raw mut booster), 0);
            assert_eq!(set(booster, c"nthread".as_ptr(), c"1".as_ptr()), 0);
            assert_eq!(load(booster, path.as_ptr()), 0);
            assert_eq!(set(booster, c"nthread".as_ptr(), c"1".as_ptr()), 0);
            Peer { booster, predict, config: CString::new(CONFIG).unwrap() }
        }
    }

    /// The margin of a row, read in place.
    fn margin(&self, row: &[f32]) -> f32 {
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
                null_mut(),
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
        let (ours, theirs) = (ours(row), peer.margin(row));
        assert_eq!(ours.to_bits(), theirs.to_bits(), "row {index}: {ours} and {theirs}");
    }
    let (mut our_times, mut peer_times) = (Vec::new(), Vec::new());
    for _ in 0..BLOCKS {
        peer_times.push(time(rows[..PEER_ROWS].iter().copied(), |row| peer.margin(row)));
        our_times.push(time(rows.iter().copied(), &mut ours));
    }
    let [our_min, our_median, our_max] = spread(our_times);
    let [peer_min, peer_median, peer_max] = spread(peer_times);
    println!(
        "{name}: {} rows equal to the bit; image {length} bytes, opened in {opening:.0} us",
        rows.len()
    );
    println!("  gbdt     {our_median:>10.1} ns/row  ({our_min:.1} to {our_max:.1})");
    println!("  xgboost  {peer_median:>10.1} ns/row  ({peer_min:.1} to {peer_max:.1})");
    println!("  ratio    {:>10.1}", peer_median / our_median);
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
