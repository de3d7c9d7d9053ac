//! Compares the engine's kernels with XGBoost and LightGBM over a grid of models and rows per call.
//!
//! Usage: `cargo bench -p gbtrees --bench grid -- FOLDER SECONDS LIBRARY... > measured.jsonl`
//!
//! FOLDER has the models and rows of `grid/train.py` or `grid/shapes.py`; models are named by trees,
//! size, features and kind. Each LIBRARY is a release of libxgboost, or of LightGBM, which gets its
//! text models.
//!
//! For each model the margins of [`COMPARED`] rows must first be equal to the bit in all kernels and
//! releases; LightGBM's are rounded to f32. Then all sides take turns, block after block, to meet the
//! same noise; a block continues through the rows, so that branch predictors cannot learn them. All
//! sides have the model ready, use one thread, and read rows in place, except that the engine copies
//! those of models with linear leaves, and their doubles, within the time. Each line of JSON has a model, a
//! number of rows per call, and a side, with the nanoseconds per row of each block.
//!
//! `serve MODEL ROWS KERNEL` instead measures one model on request of `grid/formats.py`.
//!
//! The environment variable ROWS lists the rows per call. SECONDS bounds the whole run: blocks are cut
//! to their share, down to one call. Slow calls of more than 2,048 rows get fewer, as the output says.
#![allow(unsafe_code, reason = "calls a C library")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark stops where it fails")]

#[path = "grid/clock.rs"]
mod clock;
mod lightgbm;
#[path = "grid/serve.rs"]
mod serve;
mod xgboost;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clock::Clock;
use gbtrees::internals::{BatchScratch, CompiledModel, Kernel, Scratch, StableBytes};
use gbtrees::{Cancel, Limits};
use libloading::Library;
use lightgbm::{Booster, is_lightgbm};
use serde_json::json;
use xgboost::Peer;

/// Default rows per call.
const ROWS: &str = "1 64 1024 100000";
/// Rows of a call that is never cut.
const FEW: usize = 2048;
/// Rows whose margins are compared before measuring.
const COMPARED: usize = 4096;
/// Blocks measured per side, in turn with the others.
const BLOCKS: usize = 5;

/// Computes the margins of rows into a list.
type Margins<'a> = Box<dyn FnMut(&[f32], &mut Vec<f32>) + 'a>;

struct Side<'a> {
    name: String,
    margins: Margins<'a>,
}

/// Another library with the model loaded.
enum Other {
    Xgboost(Peer),
    Lightgbm(Booster),
}

impl Other {
    /// Returns the ways to call the library: XGBoost as usual, and at its fastest with a reused proxy
    /// matrix; LightGBM at its fastest with f32 matrices, and as usual with f64.
    fn sides(&self, version: &str, features: usize, outputs: usize) -> Vec<Side<'_>> {
        match self {
            Other::Xgboost(peer) => [(false, ""), (true, ", proxy kept")]
                .map(|(keep_proxy, how)| {
                    let margins = move |rows: &[f32], out: &mut Vec<f32>| {
                        peer.margins(rows, features, keep_proxy, out);
                    };
                    let name = format!("xgboost {version}{how}");
                    Side { name, margins: Box::new(margins) }
                })
                .into(),
            Other::Lightgbm(booster) => [(false, "f32"), (true, "f64")]
                .map(|(wide, how)| {
                    let margins = move |rows: &[f32], out: &mut Vec<f32>| {
                        booster.margins(rows, features, outputs, wide, out);
                    };
                    let name = format!("lightgbm {version}, {how}");
                    Side { name, margins: Box::new(margins) }
                })
                .into(),
        }
    }
}

fn sides<'a, B: StableBytes>(
    compiled: &'a CompiledModel<B>,
    peers: &'a [(String, Other)],
) -> Vec<Side<'a>> {
    let (features, outputs) = (compiled.num_features(), compiled.num_outputs());
    let kernels = Kernel::available().map(|kernel| {
        let mut one = Scratch::with_kernel(compiled, kernel);
        let mut many = BatchScratch::with_kernel(compiled, kernel);
        let margins = move |rows: &[f32], out: &mut Vec<f32>| {
            out.resize(rows.len() / features * outputs, 0.0);
            let one_row = rows.len() == features;
            let wide;
            let rows = if compiled.has_linear_leaves() {
                wide = narrowed(compiled, rows);
                &wide
            } else {
                rows
            };
            if one_row {
                compiled.margins(&mut one, rows, out).unwrap();
            } else {
                compiled.margins_batch(&mut many, rows, out).unwrap();
            }
        };
        Side { name: format!("gbdt {}", kernel.name()), margins: Box::new(margins) }
    });
    kernels
        .chain(peers.iter().flat_map(|(version, peer)| peer.sides(version, features, outputs)))
        .collect()
}

/// Returns rows as the engine reads them.
fn narrowed<B: StableBytes>(compiled: &CompiledModel<B>, rows: &[f32]) -> Vec<f32> {
    let (features, width) = (compiled.num_features(), compiled.row_length());
    let mut narrowed = vec![0.0; rows.len() / features * width];
    let categories: Vec<_> = (0..features).map(|feature| compiled.categories(feature)).collect();
    for (row, narrowed) in rows.chunks(features).zip(narrowed.chunks_mut(width)) {
        let values = row.iter().zip(&categories).map(|(cell, categories)| {
            let number = f64::from(*cell);
            let Some(categories) = categories else { return number };
            categories.code_of_float(number).map_or(f64::NAN, |code| categories.row_value(code))
        });
        compiled.narrow_row(&values.collect::<Vec<_>>(), narrowed);
    }
    narrowed
}

/// Panics unless all sides give the same bits.
fn compare(name: &str, sides: &mut [Side<'_>], rows: &[f32], features: usize) {
    let rows = &rows[..rows.len().min(COMPARED * features)];
    let mut expected: Option<Vec<u32>> = None;
    for side in sides {
        let mut margins = Vec::new();
        (side.margins)(rows, &mut margins);
        let mut bits: Vec<u32> = margins.iter().map(|margin| margin.to_bits()).collect();
        assert_eq!(&bits, expected.get_or_insert_with(|| bits.clone()), "{name}, {}", side.name);
        // Single rows are few, since a call may be slow.
        let outputs = bits.len() * features / rows.len();
        for (row, bits) in rows.chunks(features).zip(bits.chunks_mut(outputs)).take(64) {
            (side.margins)(row, &mut margins);
            let row_bits: Vec<u32> = margins.iter().map(|margin| margin.to_bits()).collect();
            assert_eq!(bits, row_bits, "{name}, {}, one row", side.name);
        }
    }
}

struct Rotation<'a> {
    rows: &'a [f32],
    features: usize,
    next: usize,
}

impl<'a> Rotation<'a> {
    fn take(&mut self, count: usize) -> &'a [f32] {
        let all = self.rows.len() / self.features;
        if self.next + count > all {
            self.next = 0;
        }
        let start = self.next * self.features;
        self.next += count;
        &self.rows[start..start + count * self.features]
    }
}

/// Returns the nanoseconds per row of `calls` calls.
fn block(side: &mut Side<'_>, rotation: &mut Rotation<'_>, count: usize, calls: usize) -> f64 {
    let mut out = Vec::new();
    let start = Clock::now();
    for _ in 0..calls {
        (side.margins)(black_box(rotation.take(count)), &mut out);
        black_box(&out);
    }
    start.nanoseconds() / (calls * count) as f64
}

/// Rows per call, and calls per block, of a side.
#[derive(Clone, Copy)]
struct Load {
    rows: usize,
    calls: usize,
}

/// Chooses a side's load for its share of the time. The first call warms up and estimates.
fn load(side: &mut Side<'_>, rotation: &mut Rotation<'_>, count: usize, share: Duration) -> Load {
    let few = count.min(FEW);
    block(side, rotation, few, 1);
    let a_row = block(side, rotation, few, 3);
    let fit = (share.as_nanos() as f64 / a_row) as usize;
    if count > few && fit < count {
        Load { rows: fit.max(few), calls: 1 }
    } else {
        Load { rows: count, calls: (fit / count).max(1) }
    }
}

/// Measures all sides in turn with `count` rows per call; writes a line for each.
fn measure(
    name: &str,
    sides: &mut [Side<'_>],
    rows: &[f32],
    features: usize,
    count: usize,
    part: Duration,
) {
    let share = part / (sides.len() * (BLOCKS + 1)) as u32;
    let mut rotations: Vec<Rotation<'_>> =
        sides.iter().map(|_| Rotation { rows, features, next: 0 }).collect();
    let mut times = vec![Vec::new(); sides.len()];
    let loads: Vec<Load> = sides
        .iter_mut()
        .zip(&mut rotations)
        .map(|(side, rotation)| load(side, rotation, count, share))
        .collect();
    for _ in 0..BLOCKS {
        for (index, side) in sides.iter_mut().enumerate() {
            let Load { rows, calls } = loads[index];
            times[index].push(block(side, &mut rotations[index], rows, calls));
        }
    }
    for ((side, times), load) in sides.iter().zip(times).zip(loads) {
        println!(
            "{}",
            json!({
                "model": name, "rows": count, "side": side.name, "ns_a_row": times,
                "rows_called": load.rows, "calls": load.calls,
            })
        );
    }
}

fn run(path: &Path, libraries: &[(String, Library)], row_counts: &[usize], part: Duration) {
    let name = path.file_stem().unwrap().to_str().unwrap();
    // trees x depth x features - kind
    let [_, _, features_and_kind] = name.splitn(3, 'x').collect::<Vec<_>>()[..] else {
        panic!("{name} is not a name of a model of the grid")
    };
    let rows = xgboost::floats(&path.with_file_name(format!("rows-{features_and_kind}.f32")));
    let bytes = std::fs::read(path).unwrap();
    let limits = Limits::default().with_bytes(bytes.len());
    let model = gbtrees::internals::parse(&bytes, &limits, Cancel::never()).unwrap();
    let start = Instant::now();
    let compiled = gbtrees::internals::compile(&model, &[], Cancel::never()).unwrap();
    let lowering = start.elapsed();
    let start = Instant::now();
    let compiled = CompiledModel::open(compiled).unwrap();
    let opening = start.elapsed();
    let nodes: usize = model.trees().iter().map(|tree| tree.nodes().len()).sum();
    println!(
        "{}",
        json!({"model": name, "nodes": nodes, "file_bytes": bytes.len(), "image_bytes": compiled.bytes_len(),
            "lowering_ms": lowering.as_secs_f64() * 1e3, "opening_ms": opening.as_secs_f64() * 1e3})
    );
    drop(model);
    let is_text = path.extension().is_some_and(|extension| extension == "txt");
    let peers: Vec<(String, Other)> = libraries
        .iter()
        .filter(|(_, library)| is_lightgbm(library) == is_text)
        .map(|(version, library)| {
            let other = if is_text {
                Other::Lightgbm(Booster::load(library, path, compiled.num_features()))
            } else {
                Other::Xgboost(Peer::load(library, path))
            };
            (version.clone(), other)
        })
        .collect();
    let features = compiled.num_features();
    let mut sides = sides(&compiled, &peers);
    compare(name, &mut sides, &rows, features);
    for &count in row_counts {
        measure(name, &mut sides, &rows, features, count, part);
    }
}

fn main() {
    // Cargo passes --bench.
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let [serve, model, rows, kernel] = &arguments[..]
        && serve == "serve"
    {
        return serve::run(Path::new(model), Path::new(rows), kernel);
    }
    let [folder, seconds, libraries @ ..] = &arguments[..] else {
        eprintln!("usage: cargo bench -p gbtrees --bench grid -- FOLDER SECONDS LIBRARY...");
        return;
    };
    let libraries: Vec<(String, Library)> = libraries
        .iter()
        .map(|path| {
            // SAFETY: the user names libraries of XGBoost and LightGBM, whose initialisers may run.
            let library = unsafe { Library::new(path) }.unwrap();
            let version = if is_lightgbm(&library) {
                lightgbm::version(Path::new(path))
            } else {
                xgboost::version(&library)
            };
            (version, library)
        })
        .collect();
    let mut models: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    models.retain(|path| {
        path.extension().is_some_and(|extension| extension == "ubj" || extension == "txt")
    });
    models.sort();
    let seconds: f64 = seconds.parse().unwrap();
    // About a third of the time goes to reading and comparing.
    let row_counts = std::env::var("ROWS").unwrap_or_else(|_| ROWS.to_owned());
    let row_counts: Vec<usize> =
        row_counts.split(' ').map(|count| count.parse().unwrap()).collect();
    let part = seconds * 0.65 / (models.len() * row_counts.len()) as f64;
    for model in models {
        eprintln!("{}", model.display());
        run(&model, &libraries, &row_counts, Duration::from_secs_f64(part));
    }
}
