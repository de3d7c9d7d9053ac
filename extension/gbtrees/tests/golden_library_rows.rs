//! Golden models on the many rows drawn by tests/extension/long/test_golden_models.py, with margins
//! from the libraries: all kernels must have their bits.
//!
//! The folder PGBOOST_ROWS has a file `cases.json`: a list of objects with the golden `model`, the
//! paths `rows` and `margins` to packed doubles, and whether the library's margins are `single`s.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use std::fs;
use std::path::Path;

use gbtrees::internals::{BatchScratch, CompiledModel, Kernel};
use gbtrees::{Cancel, Limits};
use serde_json::Value;

fn doubles(path: &Value) -> Vec<f64> {
    let bytes = fs::read(path.as_str().unwrap()).unwrap();
    let (words, rest) = bytes.as_chunks();
    assert!(rest.is_empty());
    words.iter().map(|word| f64::from_le_bytes(*word)).collect()
}

/// Compares a case's rows; returns how many.
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
