//! Compares the engine with ONNX Runtime on the models in `tests/golden/onnx`.
//!
//! The reference walk and every kernel, row by row and in batches, must agree to the bit. Values must
//! be within 1 ULP of f32 of ONNX Runtime's, and classes equal. `tests/golden/README.md` says how
//! the files were made.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use gbtrees::internals::AlignedBytes;
use gbtrees::internals::{BatchScratch, CompiledModel, Ensemble, Kernel, Scratch, oracle};
use gbtrees::{Cancel, Limits};
use serde_json::Value;

const FOLDERS: [&str; 5] = ["1.14.1", "1.16.0", "1.18.0", "1.20.0", "hand"];
/// Fewer cases mean that files are missing.
const MIN_CASES: usize = 239;

struct Case {
    name: &'static str,
    expected: Value,
    model: Ensemble,
    compiled: CompiledModel<AlignedBytes>,
}

/// Parses rows of hex digits, `width` to a number.
fn rows(list: &Value, width: usize) -> Vec<Vec<u64>> {
    let number =
        |digits: &[u8]| u64::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
    let row = |line: &Value| line.as_str().unwrap().as_bytes().chunks(width).map(number).collect();
    list.as_array().unwrap().iter().map(row).collect()
}

impl Case {
    fn rows(&self) -> Vec<Vec<f64>> {
        let bits = rows(&self.expected["rows"], 16);
        bits.into_iter().map(|row| row.into_iter().map(f64::from_bits).collect()).collect()
    }

    fn values(&self) -> Vec<Vec<f32>> {
        let bits = rows(&self.expected["values"], 8);
        let float = |bits: u64| f32::from_bits(bits as u32);
        bits.into_iter().map(|row| row.into_iter().map(float).collect()).collect()
    }
}

fn cases() -> Vec<Case> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        for file in golden_models::names(&format!("onnx/{folder}/")) {
            let Some(name) = file.strip_suffix(".onnx") else { continue };
            let expected = golden_models::file(&format!("{name}.expected.json"));
            let expected = serde_json::from_slice(expected).unwrap();
            let file = golden_models::file(file);
            let model = gbtrees::internals::parse(file, &Limits::default(), Cancel::never())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(model.format(), "onnx", "{name}");
            let compiled = CompiledModel::open(
                gbtrees::internals::compile(&model, &[], Cancel::never()).unwrap(),
            )
            .unwrap();
            found.push(Case { name, expected, model, compiled });
        }
    }
    assert!(found.len() >= MIN_CASES, "only {} cases", found.len());
    found
}

/// Returns the distance of two f32 in units in the last place.
fn ulps(a: f32, b: f32) -> u32 {
    let order = |x: f32| {
        let bits = x.to_bits().cast_signed();
        if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits }
    };
    order(a).abs_diff(order(b))
}

/// Returns a row's margins, after checking that the reference walk and all kernels agree in bits.
fn margins(case: &Case, row: &[f64]) -> Vec<f64> {
    let outputs = case.model.num_outputs();
    let mut expected = vec![0.0f64; outputs];
    oracle::margins(&case.model, row, &mut expected);
    let mut narrowed = vec![0.0f32; case.compiled.num_features()];
    case.compiled.narrow_row(row, &mut narrowed);
    for kernel in Kernel::available() {
        let mut found = vec![0.0f64; outputs];
        let mut scratch = Scratch::with_kernel(&case.compiled, kernel);
        case.compiled.margins(&mut scratch, &narrowed, &mut found).unwrap();
        assert_eq!(found, expected, "{} {}", case.name, kernel.name());
        let rows = narrowed.repeat(520);
        let mut batch = vec![0.0f64; 520 * outputs];
        let mut scratch = BatchScratch::with_kernel(&case.compiled, kernel);
        case.compiled.margins_batch(&mut scratch, &rows, &mut batch).unwrap();
        assert_eq!(batch, expected.repeat(520), "{} {}", case.name, kernel.name());
    }
    expected
}

/// Transforms margins in the width of the model's sums.
fn values(case: &Case, margins: &[f64]) -> Vec<f32> {
    if case.model.sum_precision() == gbtrees::internals::Precision::Single {
        let mut single: Vec<f32> = margins.iter().map(|margin| *margin as f32).collect();
        case.compiled.values(&mut single);
        return single;
    }
    let mut double = margins.to_vec();
    case.compiled.values(&mut double);
    double.into_iter().map(|value| value as f32).collect()
}

#[test]
fn values_and_classes_equal_onnx_runtimes() {
    let (mut compared, mut differing, mut wrong) = (0, 0, Vec::new());
    for case in cases() {
        let classes = case.expected.get("classes").map(|classes| classes.as_array().unwrap());
        for (index, (row, expected)) in case.rows().iter().zip(case.values()).enumerate() {
            let margins = margins(&case, row);
            let found = values(&case, &margins);
            assert_eq!(found.len(), expected.len(), "{}", case.name);
            let worst = found.iter().zip(&expected).map(|(a, b)| ulps(*a, *b)).max().unwrap();
            differing += usize::from(worst > 0);
            compared += 1;
            if worst > 1 {
                wrong.push(format!("{} row {index}: {found:?}, not {expected:?}", case.name));
            }
            if let Some(classes) = classes {
                let class = case.compiled.class(&mut margins.clone()).unwrap();
                let label = &case.model.class_labels()[class as usize];
                if classes[index].as_str().unwrap() != label {
                    wrong.push(format!(
                        "{} row {index}: {label}, not {}",
                        case.name, classes[index]
                    ));
                }
            }
        }
    }
    println!("{compared} rows, {differing} differ by 1 ULP");
    assert!(
        wrong.is_empty(),
        "{} of {compared}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(30)].join("\n")
    );
    assert!(compared >= MIN_CASES * 100, "only {compared}");
}
