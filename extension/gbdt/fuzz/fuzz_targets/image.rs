//! Images that somebody tampered with, whose checksum is right: they are refused, or evaluated within bounds.
//!
//! An input's first byte chooses the model; each six bytes that follow are an edit of four bytes.
//! What is asked of an image is what `pgboost` asks; AddressSanitizer sees a read beyond its bytes.
#![no_main]

mod buffers;

use std::sync::LazyLock;

use gbdt::internals::{AlignedBytes, seal};
use gbdt::{Cancel, Limits};
use gbdt::internals::{Image, Scratch, compile, parse};
use libfuzzer_sys::fuzz_target;

const ROWS: usize = 32;
/// What a caller would refuse to take memory for.
const WIDEST: usize = 1000;

/// Compact and wide nodes, categories by name and number, sums of f32 and f64, symmetric and recoded trees.
const FILES: [&[u8]; 11] = [
    include_bytes!("../../tests/golden/3.4.1/multi_softprob.json"),
    include_bytes!("../../tests/golden/3.4.1/dictionary_text.json"),
    include_bytes!("../../tests/golden/3.4.1/dictionary_integer.json"),
    include_bytes!("../../tests/golden/3.4.1/categories_partition.json"),
    include_bytes!("../../tests/golden/3.4.1/deep.json"),
    include_bytes!("../../tests/golden/3.4.1/many_stumps.json"),
    include_bytes!("../../tests/golden/3.4.1/vector_leaf.json"),
    include_bytes!("../../tests/golden/1.3.3/dart.bin"),
    include_bytes!("../../tests/golden/onnx/1.16.0/forest_binary_double.onnx"),
    include_bytes!("../../tests/golden/tie.json"),
    include_bytes!("../../tests/golden/lightgbm/4.7.0/deep.txt"),
];

static IMAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let image = |file: &&[u8]| {
        let model = parse(file, &Limits::default(), Cancel::never()).expect("a golden model is read");
        compile(&model, &[], Cancel::never()).expect("a golden model is compiled").to_vec()
    };
    FILES.iter().map(image).collect()
});

fuzz_target!(|input: &[u8]| {
    let Some((choice, edits)) = input.split_first() else { return };
    let mut image = IMAGES[usize::from(*choice) % IMAGES.len()].clone();
    for edit in edits.chunks_exact(6) {
        let [low, high, word @ ..] = edit else { continue };
        // Whole words, since links, slots and counts are; positions reach all of an image.
        let at = 4 * (usize::from(u16::from_le_bytes([*low, *high])) % (image.len() / 4));
        image[at..at + 4].copy_from_slice(word);
    }
    seal(&mut image);
    if let Ok(image) = AlignedBytes::copy_of(&image).and_then(Image::open)
        && image.num_features().max(image.num_outputs()) <= WIDEST
    {
        evaluate(&image);
    }
});

/// Everything that an image can be asked for.
fn evaluate(image: &Image<AlignedBytes>) {
    let features = image.num_features();
    let specials = [0.0, -1.5, 0.5, 3.0, f32::NAN, f32::INFINITY, 1e30, 17.0];
    let rows: Vec<f32> = (0..ROWS * features).map(|at| specials[at * 5 / 3 % 8]).collect();
    let mut margins = vec![0.0f64; ROWS * image.num_outputs()];
    buffers::with_each_kernel(|kernel, batch| {
        let mut scratch = Scratch::with_kernel(image, kernel);
        image.margins(&mut scratch, &rows[..features], &mut margins[..image.num_outputs()]).unwrap();
        image.margins_batch(batch, &rows, &mut margins).unwrap();
    });
    let mut leaves = vec![0; image.num_trees()];
    image.leaves(&mut Scratch::new(image), &rows[..features], &mut leaves).unwrap();
    for row in margins.chunks_mut(image.num_outputs()) {
        image.class(&mut row.to_vec());
        image.values(row);
    }
    for feature in 0..=features {
        image.feature_name(feature);
        if let Some(categories) = image.categories(feature) {
            categories.code_of_text("a");
            categories.code_of_integer(3);
            categories.code_of_float(1.5);
        }
    }
    assert!((0..image.num_labels()).all(|class| image.label(class).is_some()));
}
