//! One row at a time: this engine against libxgboost, called in place through its C API.
//!
//!     XGBOOST_LIB=path/to/libxgboost.so cargo bench -p gbdt --bench single_row -- FOLDER
//!
//! FOLDER is what `train_models.py` wrote. The margins of all rows are compared bit for bit first.
//! Then all sides take turns at blocks of rows, as in the benchmark `grid`; the medians are printed,
//! and the smallest and largest block beside them.
//!
//! `XGBoosterPredictFromDense` is called in two ways: without a proxy matrix, as most callers do, so
//! that XGBoost makes one for every call, which each time reads the container's CPU limit from
//! `/sys`; and with a proxy matrix that is kept, which is the best that can be done with it.
#![allow(unsafe_code, reason = "calls a C library")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark stops where it fails")]

mod xgboost;

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use gbdt::{Image, Limits, Scratch};
use libloading::Library;
use xgboost::Peer;

const MODELS: [&str; 2] = ["25x6.ubj", "500x8.ubj"];
const BLOCKS: usize = 15;
/// What XGBoost needs longer for is measured on fewer rows: a block is not to last forever.
const PEER_ROWS: usize = 1024;

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

fn spread(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_by(f64::total_cmp);
    [times[0], times[times.len() / 2], times[times.len() - 1]]
}

fn compare(library: &Library, folder: &Path, name: &str, rows: &[f32]) {
    let path = folder.join(name);
    let bytes = std::fs::read(&path).unwrap();
    let model = gbdt::parse(&bytes, &Limits::default(), &mut || {}).unwrap();
    let bytes = gbdt::compile(&model, &[], &mut || ()).unwrap();
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
    let peer_margin =
        |row: &[f32], keep_proxy| peer.margins(row, row.len(), keep_proxy, |margins| margins[0]);
    let rows: Vec<&[f32]> = rows.chunks_exact(image.num_features()).collect();
    for (index, row) in rows.iter().enumerate() {
        let (ours, theirs) = (ours(row), [false, true].map(|keep| peer_margin(row, keep)));
        let bits = theirs.map(f32::to_bits);
        assert_eq!([ours.to_bits(); 2], bits, "row {index}: {ours}, {theirs:?}");
    }
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..BLOCKS {
        let [our_times, fresh_times, kept_times] = &mut times;
        let some = || rows[..PEER_ROWS].iter().copied();
        fresh_times.push(time(some(), |row| peer_margin(row, false)));
        kept_times.push(time(some(), |row| peer_margin(row, true)));
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
    let rows = xgboost::floats(&folder.join("rows.f32"));
    // SAFETY: the user names a library that is libxgboost; its initialisers may run.
    let library = unsafe { Library::new(path) }.unwrap();
    let version = xgboost::version(&library);
    println!("libxgboost {version}, one thread, one row at a time, margins");
    for name in MODELS {
        compare(&library, folder, name, &rows);
    }
}
