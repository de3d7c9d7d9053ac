//! Tampered compiled models with valid checksums: they are refused, or evaluated within bounds.
//!
//! An input's first byte chooses the model; each further six bytes are an edit of four bytes. The calls
//! are those of `pgboost`; AddressSanitizer detects reads out of bounds.
#![no_main]

mod buffers;

use std::cell::RefCell;
use std::sync::LazyLock;

use gbtrees::internals::{AlignedBytes, ContributionScratch, Kernel, seal};
use gbtrees::internals::{CompiledModel, Scratch, compile, parse};
use gbtrees::{Cancel, Limits};
use libfuzzer_sys::fuzz_target;

const ROWS: usize = 32;
/// Larger sizes would be refused by a caller.
const WIDEST: usize = 1000;

/// Models with compact and wide nodes, categories by name and number, f32 and f64 sums, symmetric and
/// recoded trees, target statistics, coefficients, and linear leaves.
const FILES: [&str; 13] = [
    "xgboost/3.4.1/multi_softprob.json",
    "xgboost/3.4.1/dictionary_text.json",
    "xgboost/3.4.1/dictionary_integer.json",
    "xgboost/3.4.1/categories_partition.json",
    "xgboost/3.4.1/deep.json",
    "xgboost/3.4.1/many_stumps.json",
    "xgboost/3.4.1/vector_leaf.json",
    "xgboost/1.3.3/dart.bin",
    "onnx/1.16.0/forest_binary_double.onnx",
    "lightgbm/4.7.0/deep.txt",
    "catboost/1.2.10/ctr_simple.cbm",
    "xgboost/3.4.1/gblinear_multiclass.json",
    "lightgbm/4.7.0/linear_classes.txt",
];

thread_local! {
    /// Each kernel's buffers for explanations.
    static EXPLANATIONS: RefCell<Vec<ContributionScratch>> =
        RefCell::new(Kernel::available().map(ContributionScratch::with_kernel).collect());
}

static IMAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let compiled = |file| {
        let model =
            parse(file, &Limits::default(), Cancel::never()).expect("a golden model is read");
        compile(&model, &[], Cancel::never()).expect("a golden model is compiled").to_vec()
    };
    let tie: &[u8] = include_bytes!("../../tests/golden/tie.json");
    FILES.into_iter().map(golden_models::file).chain([tie]).map(compiled).collect()
});

fuzz_target!(init: {
    LazyLock::force(&IMAGES);
}, |input: &[u8]| {
    let Some((choice, edits)) = input.split_first() else { return };
    let mut compiled = IMAGES[usize::from(*choice) % IMAGES.len()].clone();
    for edit in edits.chunks_exact(6) {
        let [low, high, word @ ..] = edit else { continue };
        // Edits whole words, since links, slots and counts are words; positions reach the whole model.
        let at = 4 * (usize::from(u16::from_le_bytes([*low, *high])) % (compiled.len() / 4));
        compiled[at..at + 4].copy_from_slice(word);
    }
    seal(&mut compiled);
    if let Ok(compiled) = AlignedBytes::copy_of(&compiled).and_then(CompiledModel::open)
        && compiled.num_features().max(compiled.num_outputs()) <= WIDEST
    {
        evaluate(&compiled);
        explain(&compiled);
    }
});

/// Calls every method of a compiled model.
fn evaluate(compiled: &CompiledModel<AlignedBytes>) {
    let features = compiled.num_features();
    let specials = [0.0, -1.5, 0.5, 3.0, f32::NAN, f32::INFINITY, 1e30, 17.0];
    let cells = compiled.row_length();
    let rows: Vec<f32> = (0..ROWS * cells).map(|at| specials[at * 5 / 3 % 8]).collect();
    let mut margins = vec![0.0f64; ROWS * compiled.num_outputs()];
    buffers::with_each_kernel(|kernel, batch| {
        let mut scratch = Scratch::with_kernel(compiled, kernel);
        compiled
            .margins(&mut scratch, &rows[..cells], &mut margins[..compiled.num_outputs()])
            .unwrap();
        compiled.margins_batch(batch, &rows, &mut margins).unwrap();
    });
    let mut leaves = vec![0; compiled.num_trees()];
    let found = compiled.leaves(&mut Scratch::new(compiled), &rows[..cells], &mut leaves);
    assert_eq!(found.is_err(), compiled.is_linear());
    for row in margins.chunks_mut(compiled.num_outputs()) {
        compiled.class(&mut row.to_vec());
        compiled.values(row);
    }
    for feature in 0..=features {
        compiled.feature_name(feature);
        if let Some(categories) = compiled.categories(feature) {
            categories.code_of_text("a");
            categories.code_of_integer(3);
            categories.code_of_float(1.5);
        }
    }
    assert!((0..compiled.num_labels()).all(|class| compiled.label(class).is_some()));
}

/// Numbers of rows explained together, for each of the code paths.
const EXPLAINED: [usize; 3] = [20, 5, 1];
/// Maximum of matrix elements times trees, to bound the time.
const MAX_INTERACTIONS: usize = 1000;

/// Contributions with each kernel, and interactions of few features: the same bits, or the same error.
fn explain(compiled: &CompiledModel<AlignedBytes>) {
    let (width, cells) = (compiled.num_features() + 1, compiled.row_length());
    let specials = [0.5, f32::NAN, -1.5, 3.0];
    let rows: Vec<f32> = (0..EXPLAINED[0] * cells).map(|at| specials[at * 7 / 3 % 4]).collect();
    let mut expected = None;
    with_each_explanation(|scratch| {
        let never = Cancel::never();
        let found = EXPLAINED.map(|count| {
            let mut out = vec![0.0; count * compiled.num_outputs() * width];
            let is_explained =
                compiled.contributions(scratch, &rows[..count * cells], &mut out, never).is_ok();
            (is_explained, out.into_iter().map(bits).collect::<Vec<u32>>())
        });
        assert!(*expected.get_or_insert_with(|| found.clone()) == found);
        let numbers = compiled.num_outputs() * width * width;
        if found[0].0 && numbers * compiled.num_trees() < MAX_INTERACTIONS {
            let mut out = vec![0.0; numbers];
            let is_explained = compiled.interactions(scratch, &rows[..cells], &mut out, never);
            assert!(is_explained.is_ok() || compiled.has_ctrs());
        }
    });
}

/// Returns a number's bits, with one NaN for all, since the compiler chooses which of two NaNs a sum
/// keeps.
fn bits(number: f32) -> u32 {
    if number.is_nan() { f32::NAN.to_bits() } else { number.to_bits() }
}

/// Calls back with each kernel's buffers.
fn with_each_explanation(mut explain: impl FnMut(&mut ContributionScratch)) {
    EXPLANATIONS.with_borrow_mut(|buffers| buffers.iter_mut().for_each(&mut explain));
}
