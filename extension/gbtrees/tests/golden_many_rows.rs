//! Every golden model of every library on many rows: all kernels have the bits of the oracle.
//!
//! The other golden tests hold the oracle to what the libraries predicted, on some twenty rows per model.
//! Here it is the oracle that the kernels must equal, on a thousand rows per model, and more with
//! PGBOOST_TIMES: of the model's own thresholds and codes, of the values next to them, and of special values.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

#[path = "../fuzz/fuzz_targets/near.rs"]
mod near;

use std::fs;
use std::path::{Path, PathBuf};

use gbtrees::internals::Ensemble;
use gbtrees::internals::{BatchScratch, CompiledModel, Kernel, Scratch, oracle};
use gbtrees::{Cancel, Limits};
use near::near;

const ROWS: usize = 1000;
/// Fewer models than this mean that files are missing.
const MIN_MODELS: usize = 1000;
const SPECIAL: [f64; 12] =
    [f64::NAN, 0.0, -0.0, 1.0, -1.0, 0.1, 2.0, 3.0, f64::INFINITY, f64::NEG_INFINITY, 1e-35, 3e9];

/// The models that have the predictions of a library in a file next to them, one file of each.
fn models(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            models(&path, found);
        } else if let Some(base) = path.to_str().unwrap().strip_suffix(".expected.json") {
            let files = ["json", "ubj", "bin", "txt", "cbm", "onnx"]
                .map(|suffix| PathBuf::from(format!("{base}.{suffix}")));
            found.extend(files.into_iter().find(|file| file.exists()));
        }
    }
}

/// Numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end as u64).unwrap()
    }

    fn of(&mut self, values: &[f64]) -> f64 {
        values[self.below(values.len())]
    }
}

/// How many rows of the model were compared.
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
    let mut files = Vec::new();
    models(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), &mut files);
    assert!(files.len() >= MIN_MODELS, "only {} models", files.len());
    let mut random = Random(4);
    let mut rows = 0;
    for file in &files {
        let name = file.display().to_string();
        let model = gbtrees::internals::parse(
            &fs::read(file).unwrap(),
            &Limits::default(),
            Cancel::never(),
        )
        .unwrap_or_else(|error| panic!("{name}: {error}"));
        for _ in 0..times.unwrap_or(1) {
            rows += agrees(&name, &model, &mut random);
        }
    }
    let kernels: Vec<&str> = Kernel::available().map(|kernel| kernel.name()).collect();
    println!("{rows} rows of {} models by {}", files.len(), kernels.join(", "));
}
