//! Evaluation: from a row's features to margins, or to the leaves that it reaches.
//!
//! All ways of evaluation return the same bits. `reference` walks the checked model and is the oracle;
//! `interleaved` walks the compiled model, several trees at once; `block` takes hundreds of rows
//! through the tiles, and `row_avx512` one row. Leaves are added in the precision of sums, from the
//! base margin on, in file order; any other order would round differently from the model's library.
#![allow(unsafe_code, reason = "calls a kernel for instructions that the processor has")]

mod batch;
mod block;
pub(crate) mod ctr;
pub(crate) mod interleaved;
mod kernel;
mod linear;
mod linear_leaves;
pub(crate) mod reference;
#[cfg(target_arch = "x86_64")]
mod row_avx512;
pub(crate) mod row_keys;
mod scratch;
mod sum;
#[cfg(test)]
mod tests;

pub use crate::eval::batch::BatchScratch;
pub use crate::eval::kernel::Kernel;
pub(crate) use crate::eval::kernel::Vectors;
pub use crate::eval::scratch::Scratch;
pub(crate) use crate::eval::scratch::{present_values, wrong_length};
pub use crate::eval::sum::Margin;

use crate::compiled::aligned::StableBytes;
use crate::compiled::aligned::prefetch_all;
use crate::compiled::records::GroupKind;
use crate::compiled::sections::{
    COMPACT_IDS, OUTCOME_NODES, OUTCOME_TABLES, OUTPUTS, ROOTS, SOURCES, Sections, TILE_EXITS,
    WIDE_IDS, WIDE_NODES,
};
use crate::compiled::{CompiledModel, ScalingAt};
use crate::ensemble::{ClassBy, NO_BIAS, Precision, Task, Transform};
use crate::eval::kernel::RowSum;
use crate::eval::row_keys::RowKeys;
use crate::eval::sum::{Sum, converted};
use crate::transform::{double, single};
use crate::{Result, transform, verified};

/// Maximum bytes of a compiled model prefetched at once: half of the first-level cache.
const MAX_FETCHED: usize = 16 << 10;

/// Adds the leaves of trees of which some have several outputs.
///
/// # Safety
/// As for [`interleaved::walk`]; `out` has a sum per output.
#[inline(never)]
unsafe fn add_vectors<S: Sum>(
    compiled: Sections<'_>,
    keys: &RowKeys,
    features: &[f32],
    out: &mut [S],
) {
    let values = S::leaf_values(compiled);
    let mut outputs = compiled.outputs_by_source();
    // SAFETY: a walk visits each tree of the model in turn, whose outputs, and the values of whose leaf,
    // `compiled::verify` has checked.
    unsafe {
        interleaved::walk(compiled, keys, features, |_, leaf| {
            for (place, output) in outputs.next().unwrap_or_default().iter().enumerate() {
                *verified::at_mut(out, *output as usize, "an output has a sum") +=
                    S::of_vector(values, leaf.key, place);
            }
        });
    }
}

/// Prefetches the first `most` bytes.
fn fetch(bytes: &[u8], most: usize) {
    prefetch_all(&bytes[..most.min(bytes.len())]);
}

impl<B: StableBytes> CompiledModel<B> {
    /// Computes the margins of a row: `features.len() == row_length`, `out.len() == num_outputs`.
    /// Features are those of [`CompiledModel::narrow_row`]; NaN is missing. Margins of another width
    /// than [`CompiledModel::sum_precision`] are converted, which takes longer.
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`](crate::ErrorKind::RowLength) for other lengths.
    #[inline]
    pub fn margins<M: Margin>(
        &self,
        scratch: &mut Scratch,
        features: &[f32],
        out: &mut [M],
    ) -> Result<()> {
        self.margins_of::<false, M>(scratch, features, out)
    }

    /// Like [`CompiledModel::margins`], with sums that start from `out` instead of the base margins:
    /// XGBoost's `base_margin` (`InitOutPredictions` in src/predictor/predictor.cc).
    ///
    /// # Errors
    /// As for [`CompiledModel::margins`].
    pub fn margins_from<M: Margin>(
        &self,
        scratch: &mut Scratch,
        features: &[f32],
        out: &mut [M],
    ) -> Result<()> {
        self.margins_of::<true, M>(scratch, features, out)
    }

    /// Checks the number of a row's features, and of its results.
    #[inline(always)]
    fn has_lengths(&self, features: usize, [out, wanted]: [usize; 2]) -> Result<()> {
        if (features == self.row_length()) & (out == wanted) {
            return Ok(());
        }
        Err(wrong_length([features, self.row_length()], [out, wanted]))
    }

    /// Returns whether [`CompiledModel::margins_from`] is meaningful: sums are XGBoost's, without
    /// scaling.
    pub fn takes_base_margins(&self) -> bool {
        self.sum_precision() == Precision::Single && self.scaling_at() == ScalingAt::None
    }

    #[inline(always)]
    fn margins_of<const STARTED: bool, M: Margin>(
        &self,
        scratch: &mut Scratch,
        features: &[f32],
        out: &mut [M],
    ) -> Result<()> {
        self.has_lengths(features.len(), [out.len(), self.num_outputs()])?;
        if M::PRECISION != self.sum_precision() {
            return self.margins_of_other_width::<STARTED, M>(scratch, features, out);
        }
        // SAFETY: the lengths have been checked.
        unsafe {
            if let Some(out) = M::singles(out) {
                self.sums::<STARTED, _>(scratch, features, out);
                self.add_linear(features, out);
                self.scale_sums(ScalingAt::Margins, out);
            } else if let Some(out) = M::doubles(out) {
                if self.has_linear_leaves() {
                    self.linear_sums::<STARTED>(scratch, features, out);
                } else {
                    self.sums::<STARTED, _>(scratch, features, out);
                }
                self.scale_sums(ScalingAt::Margins, out);
            }
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn margins_of_other_width<const STARTED: bool, M: Margin>(
        &self,
        scratch: &mut Scratch,
        features: &[f32],
        out: &mut [M],
    ) -> Result<()> {
        match self.sum_precision() {
            Precision::Single => converted(out, |out: &mut [f32]| {
                self.margins_of::<STARTED, _>(scratch, features, out)
            }),
            Precision::Double => converted(out, |out: &mut [f64]| {
                self.margins_of::<STARTED, _>(scratch, features, out)
            }),
        }
    }

    /// # Safety
    /// `features.len() == num_features`, and `out.len() == num_outputs`; leaves have no linear models.
    #[inline(always)]
    unsafe fn sums<const STARTED: bool, S: RowSum>(
        &self,
        scratch: &mut Scratch,
        features: &[f32],
        out: &mut [S],
    ) {
        // SAFETY: without statistics, features are the split values.
        unsafe {
            if self.has_ctrs() {
                self.sums_with_ctrs::<STARTED, _>(scratch, features, out);
            } else {
                self.sums_of_split_values::<STARTED, _>(scratch, features, out);
            }
        }
    }

    /// # Safety
    /// As for [`CompiledModel::sums`].
    #[inline(never)]
    unsafe fn sums_with_ctrs<const STARTED: bool, S: RowSum>(
        &self,
        scratch: &mut Scratch,
        features: &[f32],
        out: &mut [S],
    ) {
        let mut ctrs = std::mem::take(&mut scratch.ctrs);
        let values = self.split_values(features, &mut ctrs);
        // SAFETY: these are all split values, and `out` has a sum per output.
        unsafe { self.sums_of_split_values::<STARTED, _>(scratch, values, out) };
        scratch.ctrs = ctrs;
    }

    /// # Safety
    /// `features.len() == num_split_features`, and `out.len() == num_outputs`.
    #[inline(always)]
    unsafe fn sums_of_split_values<const STARTED: bool, S: RowSum>(
        &self,
        scratch: &mut Scratch,
        features: &[f32],
        out: &mut [S],
    ) {
        let compiled = self.sections();
        // Otherwise the sums keep their initial values.
        if !STARTED {
            S::start(compiled, out);
        }
        let Scratch { kernel, keys, present, .. } = scratch;
        let features = present_values(compiled, features, present);
        // SAFETY: kernels only exist if the processor has their instructions; the lengths are the
        // caller's.
        if S::row_kernel(*kernel).is_some_and(|row| unsafe { row(compiled, features, out) }) {
            return;
        }
        let values = S::leaf_values(compiled);
        // SAFETY: the row has all split values; a walk visits each tree, whose output, and whose leaf's
        // key, `compiled::verify` has checked.
        unsafe {
            keys.set_with_outcomes(compiled, self.num_split_features(), features);
            if let [only] = out {
                // The common case: the sum stays in a register.
                let mut sum = *only;
                interleaved::walk(compiled, keys, features, |_, leaf| {
                    sum += S::of_key(values, leaf.key);
                });
                *only = sum;
            } else if compiled.has_vectors() {
                add_vectors(compiled, keys, features, out);
            } else {
                let outputs = compiled.get(OUTPUTS);
                interleaved::walk(compiled, keys, features, |tree, leaf| {
                    let output = *verified::at(outputs, tree, "a tree has an output") as usize;
                    *verified::at_mut(out, output, "an output has a sum") +=
                        S::of_key(values, leaf.key);
                });
            }
        }
    }

    /// Prefetches what this kernel reads for `rows` rows, of a large compiled model only the first
    /// part. Pays off when each of many compiled models evaluates a few rows.
    pub fn fetch_ahead(&self, kernel: Kernel, rows: usize) {
        let by_block = kernel.block().takes(rows);
        let by_chunks = <f32 as RowSum>::row_kernel(kernel).is_some() && self.has_chunks();
        if by_block {
            fetch(self.between(OUTPUTS, SOURCES), MAX_FETCHED);
        } else if by_chunks {
            fetch(self.between(OUTPUTS, TILE_EXITS), MAX_FETCHED);
        } else {
            let compact = self.between(ROOTS, COMPACT_IDS);
            fetch(compact, MAX_FETCHED);
            // Walks read a single kind of wide nodes.
            let wide = match self.sections().get(OUTCOME_NODES) {
                [] => self.between(WIDE_NODES, WIDE_IDS),
                _ => self.between(OUTCOME_TABLES, WIDE_NODES),
            };
            fetch(wide, MAX_FETCHED.saturating_sub(compact.len()));
        }
    }

    /// Scales the sums of rows if `at` is the place for it.
    #[inline(always)]
    fn scale_sums<S: Sum>(&self, at: ScalingAt, sums: &mut [S]) {
        if self.scaling_at() != at {
            return;
        }
        let (scale, divisor, biases) = self.scaling_by();
        let biases = biases.iter().copied().cycle().chain(std::iter::repeat(NO_BIAS));
        for (sum, bias) in sums.iter_mut().zip(biases) {
            *sum = sum.scaled(scale, divisor, bias);
        }
    }

    /// Returns each tree's leaf by the library's number: `out.len() == num_trees`.
    ///
    /// # Errors
    /// As for [`CompiledModel::margins`]; [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a linear model.
    pub fn leaves(&self, scratch: &mut Scratch, features: &[f32], out: &mut [u32]) -> Result<()> {
        self.has_lengths(features.len(), [out.len(), self.num_trees()])?;
        self.has_leaves()?;
        let compiled = self.sections();
        let (compact_ids, wide_ids) = (compiled.get(COMPACT_IDS), compiled.get(WIDE_IDS));
        let Scratch { keys, present, ctrs, .. } = scratch;
        let features = &features[..self.num_features()];
        let features = present_values(compiled, self.split_values(features, ctrs), present);
        // SAFETY: the row has all split values.
        unsafe {
            keys.set_with_outcomes(compiled, self.num_split_features(), features);
            interleaved::walk(compiled, keys, features, |tree, leaf| {
                let ids = match leaf.kind {
                    GroupKind::Compact => compact_ids,
                    GroupKind::Wide | GroupKind::Categorical => wide_ids,
                };
                out[tree] = ids[leaf.node as usize];
            });
        }
        Ok(())
    }

    /// Returns whether a row's values are its margins.
    pub fn values_are_margins(&self) -> bool {
        self.transform() == Transform::Identity && self.scaling_at() != ScalingAt::Values
    }

    /// Transforms a row's margins into values, in place; returns their number,
    /// [`CompiledModel::num_values`]. They are computed in the width of the margins; the library's is
    /// [`CompiledModel::sum_precision`].
    pub fn values<M: Margin>(&self, margins: &mut [M]) -> usize {
        if let Some(margins) = M::singles(margins) {
            self.scale_sums(ScalingAt::Values, margins);
            return single::apply(self.transform(), self.slope() as f32, margins);
        }
        match M::doubles(margins) {
            Some(margins) => {
                self.scale_sums(ScalingAt::Values, margins);
                double::apply(self.transform(), self.slope(), margins)
            }
            None => 0,
        }
    }

    /// Returns whether [`CompiledModel::class`] finds classes.
    pub fn has_classes(&self) -> bool {
        match self.task() {
            Task::Multiclass => true,
            Task::Binary => self.num_values() == 1,
            Task::Regression | Task::Ranking => false,
        }
    }

    /// Returns the class of a row's margins, for classifiers: the first of the largest of several
    /// outputs, or whether a single one is above the objective's threshold. Values replace the margins
    /// if they decide.
    pub fn class<M: Margin + PartialOrd>(&self, margins: &mut [M]) -> Option<u32> {
        let (class_by, threshold) = self.class_rule();
        if !self.has_classes() {
            return None;
        }
        if class_by == ClassBy::Value {
            self.values(margins);
        }
        match (self.task(), margins) {
            (Task::Binary, [decides, ..]) => Some(u32::from(decides.double() > threshold)),
            (_, margins) => transform::first_largest(margins),
        }
    }

    /// Returns whether values are class probabilities: of the second of two, or of each of several.
    pub fn predicts_probabilities(&self) -> bool {
        let has_one_value = self.num_values() == 1;
        self.task().has_probabilities(self.transform(), has_one_value, self.class_rule())
    }

    /// Returns the class of a single margin, like [`CompiledModel::class`], and replaces the margin
    /// with its value, like [`CompiledModel::values`], with one transform instead of two.
    pub fn class_and_value<M: Margin + PartialOrd>(&self, margin: &mut M) -> Option<u32> {
        let margins = std::slice::from_mut(margin);
        let class = self.class(margins);
        if class.is_none() || self.class_rule().0 != ClassBy::Value {
            self.values(margins);
        }
        class
    }
}
