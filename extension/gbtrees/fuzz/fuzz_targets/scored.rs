//! The property of any bytes: they are refused, or all kernels agree with the oracle.

use gbtrees::internals::Ensemble;
use gbtrees::internals::{CompiledModel, Scratch, oracle};
use gbtrees::{Cancel, Limits};

#[path = "buffers.rs"]
mod buffers;
#[path = "near.rs"]
mod near;
use near::near;

/// Small limits, since larger models take longer and show nothing more.
fn limits() -> Limits {
    Limits::default()
        .with_bytes(1 << 20)
        .with_trees(64)
        .with_nodes(4096)
        .with_depth(64)
        .with_features(64)
        .with_outputs(16)
}
const ROWS: usize = 48;

/// Panics unless the bytes are refused, or all ways of evaluation give the same bits.
pub fn check(bytes: &[u8]) {
    let Ok(model) = gbtrees::internals::parse(bytes, &limits(), Cancel::never()) else { return };
    let compiled = gbtrees::internals::compile(&model, &[], Cancel::never())
        .expect("a checked model is compiled");
    let compiled = CompiledModel::open(compiled).expect("a compiled model is sound");
    let rows = rows(&model);
    let (features, outputs) = (model.num_features(), model.num_outputs());
    let cells = compiled.row_length();
    let mut narrowed = vec![0.0f32; ROWS * cells];
    let mut expected = vec![0.0f64; ROWS * outputs];
    let mut leaves = vec![0u32; model.trees().len()];
    let mut found = leaves.clone();
    let mut scratch = Scratch::new(&compiled);
    for ((row, narrow), margins) in
        rows.chunks(features).zip(narrowed.chunks_mut(cells)).zip(expected.chunks_mut(outputs))
    {
        compiled.narrow_row(row, narrow);
        oracle::margins(&model, row, margins);
        oracle::leaves(&model, row, &mut leaves);
        assert_eq!(compiled.leaves(&mut scratch, narrow, &mut found).is_err(), model.is_linear());
        assert_eq!(found, leaves, "leaves of {row:?}");
    }
    buffers::with_each_kernel(|kernel, batch| {
        let mut found = vec![0.0f64; expected.len()];
        let mut scratch = Scratch::with_kernel(&compiled, kernel);
        for (row, margins) in narrowed.chunks(cells).zip(found.chunks_mut(outputs)) {
            compiled.margins(&mut scratch, row, margins).unwrap();
        }
        assert_same(&found, &expected, kernel.name());
        compiled.margins_batch(batch, &narrowed, &mut found).unwrap();
        assert_same(&found, &expected, kernel.name());
    });
    for margins in expected.chunks_mut(outputs) {
        compiled.class(&mut margins.to_vec());
        assert_eq!(compiled.values(margins), compiled.num_values());
    }
}

fn assert_same(found: &[f64], expected: &[f64], kernel: &str) {
    for (found, expected) in found.iter().zip(expected) {
        // Sums that overflow both ways are NaN, in one of many representations.
        let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
        assert!(same, "{found:e}, not {expected:e}, by {kernel}");
    }
}

/// Returns rows of the model's thresholds, neighbouring values, and special values.
fn rows(model: &Ensemble) -> Vec<f64> {
    let zero = f64::from(1e-35_f32);
    let special = [
        f64::NAN,
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        5e-324,
        zero,
        -zero,
        zero.next_up(),
        (-zero).next_down(),
        -0.5,
        1.9,
        31.0,
        32.0,
        16_777_216.0,
        3e9,
    ];
    let near = near(model);
    let value = |row: usize, feature: usize| {
        let near: &[f64] = &near[feature];
        let index = row * 7 + feature * 3;
        if row % 3 == 0 || near.is_empty() {
            special[index % special.len()]
        } else {
            near[index % near.len()]
        }
    };
    let places =
        (0..ROWS).flat_map(|row| (0..model.num_features()).map(move |feature| (row, feature)));
    places.map(|(row, feature)| value(row, feature)).collect()
}
