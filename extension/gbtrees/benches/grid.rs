//! The engine's kernels compared with XGBoost and LightGBM over a grid of models and rows per call.
//!
//!     cargo bench -p gbtrees --bench grid -- FOLDER SECONDS LIBRARY... > measured.jsonl
//!
//! FOLDER is what `grid/train.py` or `grid/shapes.py` wrote: models, named by trees, size, features and kind,
//! and rows.
//! Every LIBRARY is a release of libxgboost, or of LightGBM, with which its text models are compared.
//! For each model the margins of [`COMPARED`] rows are first found equal to the bit, by every kernel and
//! every release; LightGBM's are rounded to f32. Then all take turns, block after block, so that they
//! meet the same noise; a block walks on through the rows, so that no branch is learnt by heart. All have
//! the model ready, use one thread, and read rows where they lie. A line of JSON is written for every
//! model, number of rows per call, and side: nanoseconds per row, one number for each block.
//!
//! `serve MODEL ROWS KERNEL` instead has one model measured at the word of `grid/formats.py`.
//!
//! Calls have as many rows as the environment variable ROWS lists. SECONDS bounds the whole: blocks are cut to
//! fit their part of it, down to one call. Where a call of more than 2,048 rows would take longer, fewer are
//! handed over, which the line says.
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
use gbtrees::internals::{BatchScratch, CompiledModel, Kernel, Scratch};
use gbtrees::{Cancel, Limits};
use libloading::Library;
use lightgbm::{Booster, is_lightgbm};
use serde_json::json;
use xgboost::Peer;

/// Rows per call, unless the environment has others.
const ROWS: &str = "1 64 1024 100000";
/// Rows of a call that is not cut.
const FEW: usize = 2048;
/// Rows whose margins are compared before anything is measured.
const COMPARED: usize = 4096;
/// Blocks that a side is measured in, in turn with the others.
const BLOCKS: usize = 5;

/// Puts the margins of rows into a list.
type Margins<'a> = Box<dyn FnMut(&[f32], &mut Vec<f32>) + 'a>;

struct Side<'a> {
    name: String,
    margins: Margins<'a>,
}

/// Another library with the model.
enum Other {
    Xgboost(Peer),
    Lightgbm(Booster),
}

impl Other {
    /// The ways it is called: XGBoost as most call it, and at its best, with a proxy matrix that the
    /// caller keeps; LightGBM with matrices of f32, at its best, and of f64, as most call it.
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

fn sides<'a, B: gbtrees::internals::StableBytes>(
    compiled: &'a CompiledModel<B>,
    peers: &'a [(String, Other)],
) -> Vec<Side<'a>> {
    let (features, outputs) = (compiled.num_features(), compiled.num_outputs());
    let kernels = Kernel::available().map(|kernel| {
        let mut one = Scratch::with_kernel(compiled, kernel);
        let mut many = BatchScratch::with_kernel(compiled, kernel);
        let margins = move |rows: &[f32], out: &mut Vec<f32>| {
            out.resize(rows.len() / features * outputs, 0.0);
            if rows.len() == features {
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

/// Stops unless all sides give the same bits.
fn compare(name: &str, sides: &mut [Side<'_>], rows: &[f32], features: usize) {
    let rows = &rows[..rows.len().min(COMPARED * features)];
    let mut expected: Option<Vec<u32>> = None;
    for side in sides {
        let mut margins = Vec::new();
        (side.margins)(rows, &mut margins);
        let mut bits: Vec<u32> = margins.iter().map(|margin| margin.to_bits()).collect();
        assert_eq!(&bits, expected.get_or_insert_with(|| bits.clone()), "{name}, {}", side.name);
        // One by one: a few, since a call may take long.
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

/// Nanoseconds per row of so many calls.
fn block(side: &mut Side<'_>, rotation: &mut Rotation<'_>, count: usize, calls: usize) -> f64 {
    let mut out = Vec::new();
    let start = Clock::now();
    for _ in 0..calls {
        (side.margins)(black_box(rotation.take(count)), &mut out);
        black_box(&out);
    }
    start.nanoseconds() / (calls * count) as f64
}

/// How many rows a side is handed per call, and how many calls it gets per block.
#[derive(Clone, Copy)]
struct Load {
    rows: usize,
    calls: usize,
}

/// What a side can do in its share of the time. A first call warms up, and shows what one takes.
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

/// Measures all sides in turn with so many rows per call; writes a line for each.
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
            // SAFETY: the user names libraries of XGBoost and LightGBM; its initialisers may run.
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
    // Reading and comparing take a share, too: about a third.
    let row_counts = std::env::var("ROWS").unwrap_or_else(|_| ROWS.to_owned());
    let row_counts: Vec<usize> =
        row_counts.split(' ').map(|count| count.parse().unwrap()).collect();
    let part = seconds * 0.65 / (models.len() * row_counts.len()) as f64;
    for model in models {
        eprintln!("{}", model.display());
        run(&model, &libraries, &row_counts, Duration::from_secs_f64(part));
    }
}
