//! Measures explanations beside XGBoost's, on models of the grid, with one thread.
//!
//! Usage: cargo bench -p gbdt --bench explanations -- FOLDER SECONDS LIBRARY [CALL...]
//!
//! FOLDER is what `grid/train.py` wrote, LIBRARY libxgboost. For every model the sides take turns, five
//! times each; a line has the nanoseconds per row of every turn. XGBoost's matrices are made before.
//! `cold` has new buffers for each call, and no tables; the other sides have tables. A CALL is one such as
//! contributions-2048; where they are named, only they are measured, and only the best kernel.

#![allow(unsafe_code, reason = "calls libxgboost's C API")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark may stop at a surprise")]

#[path = "xgboost/mod.rs"]
#[allow(dead_code, reason = "this only explains")]
mod xgboost;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gbdt::forest::AlignedBytes;
use gbdt::{ContributionKind, ContributionScratch, Image, Kernel, Limits};
use libloading::Library;
use serde_json::json;
use xgboost::explain::{Explainer, Matrix};

/// Times that a side is measured, in turn with the others.
const TURNS: usize = 5;
const TABLE_BYTES: usize = 256 << 20;

/// What is computed: its name, XGBoost's type, and the rows of a call.
const CALLS: [(&str, u32, usize); 6] = [
    ("contributions", 2, 2048),
    ("contributions", 2, 1),
    ("approximate", 3, 2048),
    ("approximate", 3, 1),
    ("interactions", 4, 256),
    ("interactions", 4, 1),
];

type Explain<'a> = Box<dyn FnMut(&[f32], &Matrix, &mut Vec<f32>) + 'a>;

struct Side<'a> {
    name: String,
    explain: Explain<'a>,
}

fn explain(
    image: &Image<AlignedBytes>,
    scratch: &mut ContributionScratch,
    kind: u32,
    rows: &[f32],
    out: &mut Vec<f32>,
) {
    let (width, count) = (image.num_features() + 1, rows.len() / image.num_features());
    let per_row = image.num_outputs() * if kind == 4 { width * width } else { width };
    out.resize(count * per_row, 0.0);
    let mut check_interrupts = || ();
    let method = if kind == 3 { ContributionKind::Approximate } else { ContributionKind::Exact };
    if kind == 4 {
        image.interactions(scratch, rows, out, &mut check_interrupts).unwrap();
    } else {
        image.contributions(scratch, method, rows, out, &mut check_interrupts).unwrap();
    }
}

fn sides<'a>(
    image: &'a Image<AlignedBytes>,
    peer: &'a Explainer,
    kind: u32,
    count: usize,
    kernels: &[Kernel],
) -> Vec<Side<'a>> {
    let mut sides: Vec<Side<'_>> = Vec::new();
    for &kernel in kernels {
        let mut scratch = ContributionScratch::with_tables(image, kernel, TABLE_BYTES).unwrap();
        let start = Instant::now();
        match kind {
            2 => image.make_tables(&mut scratch, ContributionKind::Exact, &mut || ()),
            3 => image.make_tables(&mut scratch, ContributionKind::Approximate, &mut || ()),
            _ => image.make_interaction_tables(&mut scratch, &mut || ()),
        }
        let (time, bytes) = (start.elapsed(), scratch.table_bytes());
        eprintln!("  {kind} {}: {bytes} bytes of tables in {time:?}", kernel.name());
        let explain = move |rows: &[f32], _: &Matrix, out: &mut Vec<f32>| {
            explain(image, &mut scratch, kind, rows, out);
        };
        sides.push(Side { name: format!("gbdt {}", kernel.name()), explain: Box::new(explain) });
        if kind != 2 {
            break;
        }
    }
    if count == 1 {
        let explain = move |rows: &[f32], _: &Matrix, out: &mut Vec<f32>| {
            let mut scratch =
                ContributionScratch::with_tables(image, Kernel::default(), 0).unwrap();
            explain(image, &mut scratch, kind, rows, out);
        };
        sides.push(Side { name: "gbdt cold".to_owned(), explain: Box::new(explain) });
    }
    let explain = move |_: &[f32], matrix: &Matrix, out: &mut Vec<f32>| {
        peer.explain(matrix, kind, out);
    };
    sides.push(Side { name: "xgboost".to_owned(), explain: Box::new(explain) });
    sides
}

/// The largest difference of two results, as a part of the largest number.
fn apart(one: &[f32], other: &[f32]) -> f32 {
    assert_eq!(one.len(), other.len());
    let largest = other.iter().fold(0.0f32, |largest, number| largest.max(number.abs()));
    one.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / largest
}

fn measure(
    name: &str,
    peer: &Explainer,
    image: &Image<AlignedBytes>,
    rows: &[f32],
    share: Duration,
    only: &[String],
) {
    let features = image.num_features();
    let is_measured = |(what, _, count): &(&str, u32, usize)| {
        only.is_empty() || only.contains(&format!("{what}-{count}"))
    };
    let kernels: Vec<Kernel> =
        if only.is_empty() { Kernel::available().collect() } else { vec![Kernel::default()] };
    for (what, kind, count) in CALLS.into_iter().filter(is_measured) {
        let rows = &rows[..count.max(64) * features];
        let called: Vec<(&[f32], Matrix)> = rows
            .chunks_exact(count * features)
            .map(|rows| (rows, peer.matrix(rows, features)))
            .collect();
        let mut sides = sides(image, peer, kind, count, &kernels);
        let mut results: Vec<Vec<f32>> = Vec::new();
        for side in &mut sides {
            let mut out = Vec::new();
            (side.explain)(called[0].0, &called[0].1, &mut out);
            results.push(out);
        }
        let theirs = results.pop().unwrap();
        let mut times = vec![Vec::new(); sides.len()];
        for _ in 0..TURNS {
            for (side, times) in sides.iter_mut().zip(&mut times) {
                let (start, mut calls, mut out) = (Instant::now(), 0, Vec::new());
                for (rows, matrix) in called.iter().cycle() {
                    (side.explain)(black_box(rows), matrix, &mut out);
                    black_box(&out);
                    calls += 1;
                    if start.elapsed() > share {
                        break;
                    }
                }
                times.push(start.elapsed().as_nanos() as f64 / (calls * count) as f64);
            }
        }
        for (index, (side, times)) in sides.iter().zip(times).enumerate() {
            let apart = results.get(index).map(|ours| apart(ours, &theirs));
            println!(
                "{}",
                json!({"model": name, "what": what, "rows": count, "side": side.name,
                    "ns_a_row": times, "apart": apart})
            );
        }
    }
}

fn main() {
    // Cargo passes --bench.
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [folder, seconds, library, only @ ..] = &arguments[..] else {
        eprintln!(
            "usage: cargo bench -p gbdt --bench explanations -- FOLDER SECONDS LIBRARY [CALL...]"
        );
        return;
    };
    // SAFETY: the user names a library of XGBoost; its initialisers may run.
    let library = unsafe { Library::new(library) }.unwrap();
    println!("{}", json!({"xgboost": xgboost::version(&library)}));
    let mut models: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    models.retain(|path| path.extension().is_some_and(|extension| extension == "ubj"));
    models.sort();
    let share = seconds.parse::<f64>().unwrap() / (models.len() * CALLS.len() * TURNS * 4) as f64;
    for path in models {
        run(&path, &library, Duration::from_secs_f64(share), only);
    }
}

fn run(path: &Path, library: &Library, share: Duration, only: &[String]) {
    let name = path.file_stem().unwrap().to_str().unwrap();
    let rows = path.with_file_name(format!("rows-{}.f32", name.splitn(3, 'x').nth(2).unwrap()));
    let rows = xgboost::floats(&rows);
    let bytes = std::fs::read(path).unwrap();
    let limits = Limits { bytes: bytes.len(), ..Limits::default() };
    let model = gbdt::parse(&bytes, &limits, &mut || {}).unwrap();
    let image = Image::open(gbdt::compile(&model, &[], &mut || ()).unwrap()).unwrap();
    eprintln!("{name}: an image of {} bytes", image.bytes_len());
    let peer = Explainer::load(library, path);
    measure(name, &peer, &image, &rows, share, only);
}
