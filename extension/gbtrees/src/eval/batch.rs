//! Evaluation of many rows.
//!
//! Rows and margins are contiguous. A row's margins have the bits of [`CompiledModel::margins`],
//! whatever the number of rows per call. Blocks of rows go through the tiles; few rows, and models
//! without tiles, are evaluated row by row.
#![allow(unsafe_code, reason = "calls a kernel for instructions that the processor has")]

use crate::Result;
use crate::compiled::aligned::StableBytes;
use crate::compiled::sections::{COEFFICIENTS, CTR_PARTS, GROUPS, LINEAR_TERMS, OUTPUTS, ROOTS};
use crate::compiled::{CompiledModel, ScalingAt};
use crate::ensemble::Precision;
use crate::eval::block::{BLOCK, BlockRows, BlockSum, Buffers};
use crate::eval::ctr::CtrBuffers;
use crate::eval::kernel::{Kernel, RowSum};
use crate::eval::scratch::{Scratch, present_values, wrong_length};
use crate::eval::sum::{Margin, converted};
use crate::memory::allocated;

/// Reusable buffers for batches; nothing is allocated once they have grown.
#[derive(Clone, Debug)]
pub struct BatchScratch {
    kernel: Kernel,
    row: Scratch,
    present: Vec<f32>,
    ctrs: CtrBuffers,
    block: Option<Buffers<f32>>,
    block_double: Option<Buffers<f64>>,
}

impl BatchScratch {
    /// Creates buffers for a compiled model and the processor's best kernel.
    pub fn new<B: StableBytes>(compiled: &CompiledModel<B>) -> Self {
        Self::with_kernel(compiled, Kernel::default())
    }

    /// Creates buffers for a compiled model and a kernel.
    pub fn with_kernel<B: StableBytes>(compiled: &CompiledModel<B>, kernel: Kernel) -> Self {
        BatchScratch { row: Scratch::with_kernel(compiled, kernel), ..Self::for_any(kernel) }
    }

    /// Creates buffers for any compiled model, which grow as needed.
    pub fn for_any(kernel: Kernel) -> Self {
        BatchScratch {
            kernel,
            row: Scratch::for_any(kernel),
            present: Vec::new(),
            ctrs: CtrBuffers::default(),
            block: None,
            block_double: None,
        }
    }

    /// The kernel that it is for.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Returns the bytes that it has allocated, for callers that keep it.
    pub fn bytes(&self) -> usize {
        self.row.bytes()
            + allocated(&self.present)
            + self.ctrs.bytes()
            + self.block.as_ref().map_or(0, Buffers::bytes)
            + self.block_double.as_ref().map_or(0, Buffers::bytes)
    }
}

/// Sums of a width, with their buffers.
trait BatchSum: BlockSum + RowSum {
    fn buffers(scratch: &mut BatchScratch) -> &mut Option<Buffers<Self>>;
}

impl BatchSum for f32 {
    fn buffers(scratch: &mut BatchScratch) -> &mut Option<Buffers<Self>> {
        &mut scratch.block
    }
}

impl BatchSum for f64 {
    fn buffers(scratch: &mut BatchScratch) -> &mut Option<Buffers<Self>> {
        &mut scratch.block_double
    }
}

/// Maximum steps per call of [`CompiledModel::margins_batch`], at about a nanosecond each: 10 to 20 ms.
const MAX_STEPS: u64 = 16 << 20;
/// Steps for a part of a target statistic's key and its share of a look-up.
const PART_STEPS: u64 = 16;

impl<B: StableBytes> CompiledModel<B> {
    /// Returns the number of rows per call of [`CompiledModel::margins_batch`] that keeps it within
    /// some 20 ms: whole blocks of 512 rows for ordinary models, fewer for many deep trees, at least
    /// one. Callers check for cancellation between calls. Reads a record per group of trees: call it
    /// once per batch.
    pub fn rows_per_call(&self) -> usize {
        // Trees are walked to the depth of their group's deepest.
        let walked = self
            .sections()
            .get(GROUPS)
            .iter()
            .map(|group| u64::from(group.depth) * u64::from(group.count.next_multiple_of(4)));
        let looked_up = self.sections().get(CTR_PARTS).len() as u64 * PART_STEPS;
        let coefficients = self.sections().get(COEFFICIENTS).len();
        // An upper bound: a row uses the terms of one leaf per tree.
        let multiplied = (coefficients + self.sections().get(LINEAR_TERMS).len()) as u64;
        // Beyond one per tree of the model.
        let added = self.sections().get(OUTPUTS).len() - self.sections().get(ROOTS).len();
        let read = (self.num_split_features() + added) as u64;
        let steps = walked.sum::<u64>() + read + looked_up + multiplied;
        (MAX_STEPS / steps.max(1)).clamp(1, BLOCK as u64) as usize
    }

    /// Computes the margins of rows: `rows.len() == n * row_length`, `out.len() == n * num_outputs`,
    /// both row-major; NaN is a missing feature. Margins of another width than
    /// [`CompiledModel::sum_precision`] are converted.
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`](crate::ErrorKind::RowLength) for other lengths.
    pub fn margins_batch<M: Margin>(
        &self,
        scratch: &mut BatchScratch,
        rows: &[f32],
        out: &mut [M],
    ) -> Result<()> {
        self.has_rows(rows.len(), out.len(), self.num_outputs())?;
        if M::PRECISION != self.sum_precision() {
            return match self.sum_precision() {
                Precision::Single => {
                    converted(out, |out: &mut [f32]| self.margins_batch(scratch, rows, out))
                }
                Precision::Double => {
                    converted(out, |out: &mut [f64]| self.margins_batch(scratch, rows, out))
                }
            };
        }
        if let Some(out) = M::singles(out) {
            self.sums_batch(scratch, rows, out);
            self.add_linear(rows, out);
            self.scale_sums(ScalingAt::Margins, out);
        } else if let Some(out) = M::doubles(out) {
            if self.has_linear_leaves() {
                // SAFETY: the lengths have been checked.
                unsafe { self.linear_sums::<false>(&mut scratch.row, rows, out) };
            } else {
                self.sums_batch(scratch, rows, out);
            }
            self.scale_sums(ScalingAt::Margins, out);
        }
        Ok(())
    }

    /// Checks that there are whole rows, and `per_row` results for each.
    pub(crate) fn has_rows(&self, numbers: usize, out: usize, per_row: usize) -> Result<()> {
        let (rows, rest) = (numbers / self.row_length(), numbers % self.row_length());
        let wanted = rows.saturating_mul(per_row);
        if rest == 0 && out == wanted {
            return Ok(());
        }
        Err(wrong_length([numbers, numbers - rest], [out, wanted]))
    }

    fn sums_batch<S: BatchSum>(&self, scratch: &mut BatchScratch, rows: &[f32], out: &mut [S]) {
        let (features, outputs) = (self.num_features(), self.num_outputs());
        let blocks = rows.chunks(BLOCK * features).zip(out.chunks_mut(BLOCK * outputs));
        for (rows, out) in blocks {
            let count = rows.len() / features;
            let mut present = std::mem::take(&mut scratch.present);
            let mut ctrs = std::mem::take(&mut scratch.ctrs);
            let rows = self.split_values(rows, &mut ctrs);
            let rows = present_values(self.sections(), rows, &mut present);
            if !self.sums_block(scratch, rows, count, out) {
                let sums = out.chunks_exact_mut(outputs);
                for (row, sums) in rows.chunks_exact(self.num_split_features()).zip(sums) {
                    // SAFETY: a row has all split values, and a sum per output.
                    unsafe { self.sums_of_split_values::<false, _>(&mut scratch.row, row, sums) };
                }
            }
            (scratch.present, scratch.ctrs) = (present, ctrs);
        }
    }

    /// Evaluates up to [`BLOCK`] rows together if that pays; returns whether it did.
    fn sums_block<S: BatchSum>(
        &self,
        scratch: &mut BatchScratch,
        rows: &[f32],
        count: usize,
        out: &mut [S],
    ) -> bool {
        let rows = BlockRows { features: rows, num_features: self.num_split_features(), count };
        let kernel = scratch.kernel.block();
        let (compiled, total_depth) = (self.sections(), self.total_depth());
        // SAFETY: kernels only exist if the processor has their instructions.
        unsafe { kernel.sums(compiled, total_depth, S::buffers(scratch), &rows, out) }
    }
}
