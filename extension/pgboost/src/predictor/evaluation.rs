//! What is computed of a batch's features: predictions, or explanations.

use gbdt::{BatchScratch, Margin, Precision};
use pg_interface::Datum;
use pg_interface::report::check_for_interrupts;

use super::explanation::Explanation;
use super::margins::Margins;
use super::output::Output;
use super::single::Predictor;
use crate::cache::ModelImage;
use crate::error::Result;
use crate::guc;

/// Computes results of rows, and has the buffers for it.
pub trait Evaluation {
    /// Bytes that a row takes here, with its result.
    fn row_bytes(&self, predictor: &Predictor) -> usize;

    /// Puts the result of each row of `features` where `read` says. That of a row that has none is left
    /// as it is.
    fn put_results(
        &mut self,
        predictor: &Predictor,
        features: &[f32],
        read: &[usize],
        results: &mut [Option<Datum>],
    );
}

pub struct Predictions {
    output: Output,
    scratch: BatchScratch,
    margins: Margins,
}

impl Predictions {
    pub fn new(output: Output) -> Self {
        let scratch = BatchScratch::for_any(guc::kernel());
        Predictions { output, scratch, margins: Margins::default() }
    }
}

impl Evaluation for Predictions {
    fn row_bytes(&self, predictor: &Predictor) -> usize {
        let image = predictor.image();
        let margin = match image.sum_precision() {
            Precision::Single => size_of::<f32>(),
            Precision::Double => size_of::<f64>(),
        };
        margin * image.num_outputs()
    }

    fn put_results(
        &mut self,
        predictor: &Predictor,
        features: &[f32],
        read: &[usize],
        results: &mut [Option<Datum>],
    ) {
        let image = predictor.image();
        let Predictions { output, scratch, margins } = self;
        margins.fit(image, read.len());
        match margins {
            Margins::Single(margins) => {
                if evaluate(image, scratch, features, margins).is_ok() {
                    put_results(predictor, *output, read, margins, results);
                }
            }
            Margins::Double(margins) => {
                if evaluate(image, scratch, features, margins).is_ok() {
                    put_results(predictor, *output, read, margins, results);
                }
            }
        }
    }
}

/// The margins of rows, with a look at whether the statement was cancelled every so many of them.
///
/// # Errors
/// The engine's, which are bugs.
pub fn evaluate<M: Margin>(
    image: &ModelImage,
    scratch: &mut BatchScratch,
    features: &[f32],
    margins: &mut [M],
) -> Result<()> {
    let (width, outputs) = (image.num_features().max(1), image.num_outputs().max(1));
    let rows_per_call = image.rows_per_call();
    let parts = features.chunks(rows_per_call * width);
    for (features, margins) in parts.zip(margins.chunks_mut(rows_per_call * outputs)) {
        check_for_interrupts();
        image.margins_batch(scratch, features, margins)?;
    }
    Ok(())
}

/// The results of the rows that were read, each in its place.
fn put_results<M: Margin + PartialOrd>(
    predictor: &Predictor,
    output: Output,
    read: &[usize],
    margins: &mut [M],
    results: &mut [Option<Datum>],
) {
    let outputs = predictor.image().num_outputs().max(1);
    for (row, margins) in read.iter().zip(margins.chunks_mut(outputs)) {
        if let Some(result) = results.get_mut(*row) {
            *result = output.of(predictor, margins).ok();
        }
    }
}

/// Of explanations that are computed at once.
const MAX_NUMBERS: usize = 1 << 20;

pub struct Explanations {
    explanation: Explanation,
    numbers: Vec<f32>,
}

impl Explanations {
    pub fn new(explanation: Explanation) -> Self {
        Explanations { explanation, numbers: Vec::new() }
    }
}

impl Evaluation for Explanations {
    fn row_bytes(&self, predictor: &Predictor) -> usize {
        // Once in the buffer and once in the result.
        2 * size_of::<f32>() * self.explanation.numbers(predictor.image())
    }

    fn put_results(
        &mut self,
        predictor: &Predictor,
        features: &[f32],
        read: &[usize],
        results: &mut [Option<Datum>],
    ) {
        let Explanations { explanation, numbers } = self;
        let image = predictor.image();
        let (width, features_per_row) = (explanation.numbers(image), image.num_features());
        if width > MAX_NUMBERS {
            // A copy would take as much memory again as the result.
            for (row, features) in read.iter().zip(features.chunks(features_per_row.max(1))) {
                let array = explanation.of_row(predictor, features);
                if let (Some(result), Ok(array)) = (results.get_mut(*row), array) {
                    *result = Some(array.into_datum());
                }
            }
            return;
        }
        let rows_per_call = MAX_NUMBERS / width;
        let parts = features.chunks(rows_per_call * features_per_row.max(1));
        for (features, read) in parts.zip(read.chunks(rows_per_call)) {
            numbers.clear();
            // Where there is no memory for it, the function itself says so.
            if numbers.try_reserve(read.len() * width).is_err() {
                return;
            }
            numbers.resize(read.len() * width, 0.0);
            if explanation.explain(predictor, features, numbers).is_err() {
                return;
            }
            for (row, numbers) in read.iter().zip(numbers.chunks(width)) {
                if let (Some(result), Ok(mut array)) =
                    (results.get_mut(*row), explanation.array(predictor))
                {
                    array.elements().copy_from_slice(numbers);
                    *result = Some(array.into_datum());
                }
            }
        }
    }
}
