//! Buffers report the bytes that they have allocated: a backend keeps them from statement to statement up to a limit.

#![allow(clippy::unwrap_used, reason = "a test may stop at a surprise")]

use gbtrees::internals::{
    BatchScratch, CompiledModel, ContributionScratch, Kernel, compile, parse,
};
use gbtrees::{Cancel, Limits};

use crate::allocator::held_by;

/// More than a block, whose last rows are fewer.
const ROWS: usize = 600;

fn check(file: &str, kernel: Kernel) {
    let never = Cancel::never();
    let model = parse(golden_models::file(file), &Limits::default(), never).unwrap();
    let compiled = CompiledModel::open(compile(&model, &[], never).unwrap()).unwrap();
    let [width, outputs] = [compiled.num_features() + 1, compiled.num_outputs()];
    let rows = vec![0.5f32; ROWS * compiled.row_length()];
    let row = &rows[..compiled.row_length()];
    let mut margins = vec![0.0f64; ROWS * outputs];
    let mut explained = vec![0.0; outputs * width * width];
    let (held, scratch) = held_by(|| {
        let mut scratch = BatchScratch::with_kernel(&compiled, kernel);
        compiled.margins_batch(&mut scratch, &rows, &mut margins).unwrap();
        compiled.margins_batch(&mut scratch, row, &mut margins[..outputs]).unwrap();
        scratch
    });
    assert_eq!(scratch.bytes(), held, "{file}, batches with {}", kernel.name());
    let (held, scratch) = held_by(|| {
        let mut scratch = ContributionScratch::with_kernel(kernel);
        let contributions = &mut explained[..outputs * width];
        // Some models are not explained, or their interactions are not.
        let _ = compiled.contributions(&mut scratch, row, contributions, never);
        let _ = compiled.interactions(&mut scratch, row, &mut explained, never);
        scratch
    });
    assert_eq!(scratch.bytes(), held, "{file}, explanations with {}", kernel.name());
}

#[test]
fn buffers_report_the_bytes_that_they_have_allocated() {
    let releases =
        ["catboost/1.2.10/", "lightgbm/4.7.0/", "onnx/1.20.0/", "onnx/hand/", "xgboost/3.4.1/"];
    let mut models = 0;
    for file in releases.into_iter().flat_map(golden_models::names) {
        if !file.ends_with(".expected.json") {
            Kernel::available().for_each(|kernel| check(file, kernel));
            models += 1;
        }
    }
    assert!(models > 100, "{models}");
}
