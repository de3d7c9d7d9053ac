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
    present: Vec<f32>,
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
        BatchScratch {
            kernel,
            row: Scratch::with_kernel(image, kernel),
            present: Vec::new(),
            block: None,
        }
    }
}

/// Steps of a call to [`Image::margins_batch`] that take some 10 to 20 ms, at about a nanosecond each.
const MAX_STEPS: u64 = 16 << 20;

impl<B: StableBytes> Image<B> {
    /// How many rows to hand to one call of [`Image::margins_batch`] so that it returns within some
    /// 20 ms: whole blocks of 512 rows for ordinary models, fewer where trees are many and deep, one
    /// at least. Callers that can be cancelled look for it between calls. Reads one record per group
    /// of trees: ask once per batch, not once per row.
    pub fn rows_per_call(&self) -> usize {
        // Trees are walked to the depth of the deepest of their group.
        let walked = self
            .forest()
            .groups
            .iter()
            .map(|group| u64::from(group.depth) * u64::from(group.count.next_multiple_of(4)));
        let steps = walked.sum::<u64>() + self.num_features() as u64;
        (MAX_STEPS / steps.max(1)).clamp(1, BLOCK as u64) as usize
    }

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
            let mut present = std::mem::take(&mut scratch.present);
            let rows = self.present(rows, &mut present);
            if !self.margins_block(scratch, rows, count, out) {
                let margins = out.chunks_exact_mut(outputs);
                for (row, margins) in rows.chunks_exact(features).zip(margins) {
                    self.margins(&mut scratch.row, row, margins);
                }
            }
            scratch.present = present;
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
