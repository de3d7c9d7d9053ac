//! Kernels against the oracle on many rows of every golden model.
//!
//! The other golden tests compare the oracle with the libraries' predictions on some twenty rows per
//! model. Here all kernels must have the oracle's bits on a thousand rows per model (more with
//! PGBOOST_TIMES) of thresholds and codes, neighbouring values, and special values.
//!
//! On the rows drawn by tests/extension/long/test_golden_models.py they must have the libraries' bits. The folder
//! PGBOOST_ROWS has a file `cases.json`: a list of objects with the golden `model`, the paths `rows` and
//! `margins` to packed doubles, and whether the library's margins are `single`s.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

#[path = "../fuzz/fuzz_targets/near.rs"]
mod near;

use std::fs;
use std::path::Path;

use gbtrees::internals::Ensemble;
use gbtrees::internals::{BatchScratch, CompiledModel, Kernel, Scratch, oracle};
use gbtrees::{Cancel, Limits};
pub(crate) use near::near;
use serde_json::Value;

const ROWS: usize = 1000;
/// Fewer models mean that files are missing.
const MIN_MODELS: usize = 1137;
const SPECIAL: [f64; 12] =
    [f64::NAN, 0.0, -0.0, 1.0, -1.0, 0.1, 2.0, 3.0, f64::INFINITY, f64::NEG_INFINITY, 1e-35, 3e9];

/// Returns one file of each model with predictions by a library.
pub(crate) fn models() -> Vec<String> {
    let names = golden_models::names("").into_iter();
    let file = |base| {
        let suffixes = ["json", "ubj", "bin", "txt", "cbm", "onnx"].into_iter();
        let mut files = suffixes.map(|suffix| format!("{base}.{suffix}"));
        files.find(|file| golden_models::find(file).is_some())
    };
    names.filter_map(|name| name.strip_suffix(".expected.json")).filter_map(file).collect()
}

/// A pseudo-random number generator (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end as u64).unwrap()
    }

    pub(crate) fn of(&mut self, values: &[f64]) -> f64 {
        values[self.below(values.len())]
    }
}

/// Compares a model's rows; returns how many.
fn agrees(name: &str, model: &Ensemble, random: &mut Random) -> usize {
    let compiled =
        CompiledModel::open(gbtrees::internals::compile(model, &[], Cancel::never()).unwrap())
            .unwrap();
    let (features, outputs) = (model.num_features(), model.num_outputs());
    let mut near = near(model);
    near.iter_mut()
        .filter(|near| near.is_empty())
        .for_each(|near| near.extend((0..40).map(f64::from)));
    let mut rows = vec![0.0f64; ROWS * features];
    let cells = compiled.row_length();
    let mut narrowed = vec![0.0f32; ROWS * cells];
    let (mut expected, mut found) = (vec![0.0f64; ROWS * outputs], vec![0.0f64; ROWS * outputs]);
    for ((row, narrow), margins) in rows
        .chunks_exact_mut(features)
        .zip(narrowed.chunks_exact_mut(cells))
        .zip(expected.chunks_exact_mut(outputs))
    {
        for (value, near) in row.iter_mut().zip(&near) {
            let special = random.below(6) == 0;
            *value = random.of(if special { &SPECIAL } else { near });
        }
        compiled.narrow_row(row, narrow);
        oracle::margins(model, row, margins);
    }
    for kernel in Kernel::available() {
        let what = format!("{name} by {kernel:?}");
        let mut scratch = BatchScratch::with_kernel(&compiled, kernel);
        compiled.margins_batch(&mut scratch, &narrowed, &mut found).unwrap();
        assert_same(&found, &expected, &what);
        let mut scratch = Scratch::with_kernel(&compiled, kernel);
        for (row, margins) in narrowed.chunks_exact(cells).zip(found.chunks_exact_mut(outputs)) {
            compiled.margins(&mut scratch, row, margins).unwrap();
        }
        assert_same(&found, &expected, &what);
    }
    ROWS
}

fn assert_same(found: &[f64], expected: &[f64], what: &str) {
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
        assert!(same, "{what}: {found:e}, not {expected:e}, for number {number}");
    }
}

#[test]
fn kernels_have_the_oracles_bits_for_every_golden_model() {
    let times = std::env::var("PGBOOST_TIMES").ok().and_then(|times| times.parse().ok());
    let names = models();
    assert!(names.len() >= MIN_MODELS, "only {} models", names.len());
    let mut random = Random(4);
    let mut rows = 0;
    for name in &names {
        let file = golden_models::file(name);
        let model = gbtrees::internals::parse(file, &Limits::default(), Cancel::never())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for _ in 0..times.unwrap_or(1) {
            rows += agrees(name, &model, &mut random);
        }
    }
    let kernels: Vec<&str> = Kernel::available().map(|kernel| kernel.name()).collect();
    println!("{rows} rows of {} models by {}", names.len(), kernels.join(", "));
}

fn doubles(path: &Value) -> Vec<f64> {
    let bytes = fs::read(path.as_str().unwrap()).unwrap();
    let (words, rest) = bytes.as_chunks();
    assert!(rest.is_empty());
    words.iter().map(|word| f64::from_le_bytes(*word)).collect()
}

/// Compares a case's rows with the library's margins; returns how many.
fn compare(case: &Value) -> usize {
    let name = case["model"].as_str().unwrap();
    let model =
        gbtrees::internals::parse(golden_models::file(name), &Limits::default(), Cancel::never())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    let compiled =
        CompiledModel::open(gbtrees::internals::compile(&model, &[], Cancel::never()).unwrap())
            .unwrap();
    let (rows, expected) = (doubles(&case["rows"]), doubles(&case["margins"]));
    let (features, outputs) = (compiled.num_features(), compiled.num_outputs());
    let cells = compiled.row_length();
    let mut narrowed = vec![0.0; rows.len() / features * cells];
    for (row, narrow) in rows.chunks_exact(features).zip(narrowed.chunks_exact_mut(cells)) {
        compiled.narrow_row(row, narrow);
    }
    assert_eq!(rows.len() / features * outputs, expected.len(), "{name}");
    let single = case["single"].as_bool().unwrap();
    let rounded = |margin: f64| if single { f64::from(margin as f32) } else { margin };
    for kernel in Kernel::available() {
        let mut found = vec![0.0; expected.len()];
        compiled
            .margins_batch(&mut BatchScratch::with_kernel(&compiled, kernel), &narrowed, &mut found)
            .unwrap();
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let found = rounded(*found);
            let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            let row = &rows[at / outputs * features..][..features];
            assert!(same, "{name} by {kernel:?}: {found:e}, not {expected:e}, for {row:?}");
        }
    }
    rows.len() / features
}

#[test]
#[ignore = "it needs what the libraries predicted"]
fn margins_equal_the_librarys() {
    let folder = std::env::var("PGBOOST_ROWS").unwrap();
    let cases = fs::read(Path::new(&folder).join("cases.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_slice(&cases).unwrap();
    let rows: usize = cases.iter().map(compare).sum();
    println!("{rows} rows of {} models", cases.len());
}
