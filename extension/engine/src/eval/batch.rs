//! Many rows at once.
//!
//! Rows lie one after another, and so do their margins. However many are handed over in one call,
//! each row's margins have the bits that [`Image::margins`] gives.

use super::Scratch;
use crate::layout::{Image, StableBytes};

/// Buffers for the evaluation of batches; nothing is allocated once they have grown.
#[derive(Clone, Debug)]
pub struct BatchScratch {
    row: Scratch,
}

impl BatchScratch {
    /// Buffers for batches of rows of this image.
    pub fn new<B: StableBytes>(image: &Image<B>) -> Self {
        BatchScratch { row: Scratch::new(image) }
    }
}

impl<B: StableBytes> Image<B> {
    /// The margins of rows, one an output, row after row. NaN means that a feature is missing.
    ///
    /// `rows` has as many features for each row as the model has, `out` room for as many margins.
    /// Rows that are not whole, or whose margins have no room, are left out.
    pub fn margins_batch(&self, scratch: &mut BatchScratch, rows: &[f32], out: &mut [f32]) {
        debug_assert_eq!(rows.len() % self.num_features(), 0, "number of features");
        debug_assert_eq!(
            rows.len() / self.num_features(),
            out.len() / self.num_outputs(),
            "number of margins"
        );
        let rows = rows.chunks_exact(self.num_features());
        for (row, margins) in rows.zip(out.chunks_exact_mut(self.num_outputs())) {
            self.margins(&mut scratch.row, row, margins);
        }
    }
}
