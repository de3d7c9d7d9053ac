//! Many rows at once.
//!
//! Rows lie one after another, and so do their margins. However many are handed over in one call,
//! each row's margins have the bits that [`Image::margins`] gives. Blocks of rows go through the
//! tiles of the image where the processor has vectors for it; few rows, models without tiles, and
//! other processors take one row after another.

use super::Scratch;
use super::kernel::Kernel;
use super::simd::{BLOCK, Buffers, Rows, margins_of_block};
use crate::forest::{Image, StableBytes};

/// Buffers for the evaluation of batches; nothing is allocated once they have grown.
#[derive(Clone, Debug)]
pub struct BatchScratch {
    kernel: Kernel,
    row: Scratch,
    /// Made for the first block.
    block: Option<Buffers>,
}

impl BatchScratch {
    /// Buffers for batches of rows of this image, for the best kernel of this processor.
    pub fn new<B: StableBytes>(image: &Image<B>) -> Self {
        Self::with_kernel(image, Kernel::default())
    }

    /// Buffers for batches of rows of this image.
    pub fn with_kernel<B: StableBytes>(image: &Image<B>, kernel: Kernel) -> Self {
        BatchScratch { kernel, row: Scratch::with_kernel(image, kernel), block: None }
    }
}

impl<B: StableBytes> Image<B> {
    /// The margins of rows, one an output, row after row. NaN means that a feature is missing.
    ///
    /// `rows` has as many features for each row as the model has, `out` room for as many margins.
    /// Rows that are not whole, or whose margins have no room, are left out.
    pub fn margins_batch(&self, scratch: &mut BatchScratch, rows: &[f32], out: &mut [f32]) {
        let (features, outputs) = (self.num_features(), self.num_outputs());
        debug_assert_eq!(rows.len() % features, 0, "number of features");
        debug_assert_eq!(rows.len() / features, out.len() / outputs, "number of margins");
        let blocks = rows.chunks(BLOCK * features).zip(out.chunks_mut(BLOCK * outputs));
        for (rows, out) in blocks {
            let count = (rows.len() / features).min(out.len() / outputs);
            if self.margins_block(scratch, rows, count, out) {
                continue;
            }
            for (row, margins) in rows.chunks_exact(features).zip(out.chunks_exact_mut(outputs)) {
                self.margins(&mut scratch.row, row, margins);
            }
        }
    }

    /// Evaluates up to [`BLOCK`] rows together, if that pays; gives whether it does.
    fn margins_block(
        &self,
        scratch: &mut BatchScratch,
        rows: &[f32],
        count: usize,
        out: &mut [f32],
    ) -> bool {
        let rows = Rows { features: rows, num_features: self.num_features(), count };
        let BatchScratch { kernel, block, .. } = scratch;
        let (forest, tiles) = (self.forest(), self.tiles());
        margins_of_block(*kernel, &forest, &tiles, self.total_depth(), block, &rows, out)
    }
}
