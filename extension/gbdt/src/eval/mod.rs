//! Evaluation: from a row's features to its margins, or to the leaves it falls into.
//!
//! All ways of evaluation return the same bits. `reference` walks the checked model and is the oracle;
//! `interleaved` walks the compiled image, several trees at once; `block` takes hundreds of rows through
//! its tiles, and `row_avx512` one row. Leaves are added in f32, from the base margin on, in the order
//! in which the file has the trees: any other order would round otherwise than XGBoost does.
#![allow(unsafe_code, reason = "calls a kernel for instructions that the processor has")]

mod batch;
mod block;
mod categorical;
mod interleaved;
mod kernel;
#[cfg(test)]
pub(crate) mod random_model;
pub mod reference;
#[cfg(target_arch = "x86_64")]
mod row_avx512;
mod row_keys;
#[cfg(test)]
mod tests;

pub use batch::BatchScratch;
use categorical::is_in_set;
pub use kernel::Kernel;

use crate::forest::records::GroupKind;
use crate::forest::sections::{COMPACT_IDS, OUTPUTS, SOURCES, Sections, WIDE_IDS, ZERO_MISSING};
use crate::forest::{Image, StableBytes};
use crate::model::{MissingRule, Task, Transform};
use crate::transform;

/// Buffers for the evaluation of one row after another; nothing is allocated per row.
#[derive(Clone, Debug)]
pub struct Scratch {
    kernel: Kernel,
    keys: row_keys::RowKeys,
    present: Vec<f32>,
}

impl Scratch {
    /// Buffers for rows of this image, for the best kernel of this processor.
    pub fn new<B: StableBytes>(image: &Image<B>) -> Self {
        Self::with_kernel(image, Kernel::default())
    }

    /// Buffers for rows of this image.
    pub fn with_kernel<B: StableBytes>(image: &Image<B>, kernel: Kernel) -> Self {
        let keys = row_keys::RowKeys::new(image.num_features());
        Scratch { kernel, keys, present: Vec::new() }
    }
}

/// Rows as splits see them: NaN for the zeros of features whose zeros are missing. Models without such
/// features see what they are given.
#[inline]
fn present_values<'a>(image: Sections<'_>, rows: &'a [f32], buffer: &'a mut Vec<f32>) -> &'a [f32] {
    let zero_missing = image.get(ZERO_MISSING);
    if zero_missing.is_empty() {
        return rows;
    }
    let values = rows.iter().zip(zero_missing.iter().cycle()).map(|(value, zero_missing)| {
        let rule = if *zero_missing == 0 { MissingRule::Nan } else { MissingRule::Zero };
        rule.present(*value).unwrap_or(f32::NAN)
    });
    buffer.clear();
    buffer.extend(values);
    buffer
}

impl<B: StableBytes> Image<B> {
    /// The margins of a row: `features.len() == num_features`, `out.len() == num_outputs`. NaN means
    /// that a feature is missing.
    ///
    /// Debug builds assert these lengths. In others absent features count as missing, further ones are ignored, and margins are NaN if their
    /// number is wrong.
    pub fn margins(&self, scratch: &mut Scratch, features: &[f32], out: &mut [f32]) {
        debug_assert_eq!(features.len(), self.num_features(), "number of features");
        debug_assert_eq!(out.len(), self.num_outputs(), "number of margins");
        if out.len() != self.num_outputs() {
            out.fill(f32::NAN);
            return;
        }
        out.copy_from_slice(self.base_margins());
        let image = self.sections();
        let Scratch { kernel, keys, present } = scratch;
        let features = present_values(image, features, present);
        // SAFETY: there is no such Kernel where the processor lacks the instructions.
        if kernel.row().is_some_and(|row| unsafe { row(image, features, out) }) {
            return;
        }
        keys.set(self.num_features(), features);
        if let [margin] = out {
            // The usual case: the sum stays in a register.
            let mut sum = *margin;
            interleaved::walk(image, keys, features, |_, leaf| sum += leaf.value());
            *margin = sum;
        } else {
            let outputs = image.get(OUTPUTS);
            interleaved::walk(image, keys, features, |tree, leaf| {
                let output = outputs.get(tree).map(|output| *output as usize);
                if let Some(margin) = output.and_then(|output| out.get_mut(output)) {
                    *margin += leaf.value();
                }
            });
        }
    }

    /// For each tree the id, in the model's file, of the leaf that a row falls into.
    ///
    /// Lengths are treated as in [`Image::margins`]: trees beyond the length of `out` are left out.
    pub fn leaves(&self, scratch: &mut Scratch, features: &[f32], out: &mut [u32]) {
        debug_assert_eq!(features.len(), self.num_features(), "number of features");
        debug_assert_eq!(out.len(), self.num_trees(), "number of trees");
        let image = self.sections();
        let (compact_ids, wide_ids) = (image.get(COMPACT_IDS), image.get(WIDE_IDS));
        let sources = image.get(SOURCES);
        let Scratch { keys, present, .. } = scratch;
        let features = present_values(image, features, present);
        keys.set(self.num_features(), features);
        interleaved::walk(image, keys, features, |tree, leaf| {
            let source = sources.get(tree).map_or(usize::MAX, |source| *source as usize);
            let ids = match leaf.kind {
                GroupKind::Compact => compact_ids,
                GroupKind::Wide | GroupKind::Categorical => wide_ids,
            };
            if let (Some(out), Some(id)) = (out.get_mut(source), ids.get(leaf.node as usize)) {
                *out = *id;
            }
        });
    }

    /// Turns the margins of a row into its values, in place; returns [`Image::num_values`], their
    /// number.
    pub fn values(&self, margins: &mut [f32]) -> usize {
        transform::apply(self.transform(), self.slope(), margins)
    }

    /// The class of a row with these margins, if the model is a classifier: the first of the
    /// largest probabilities, or of the largest margins where the model has no probabilities; for
    /// one margin whether the value is above a half. Probabilities replace the margins, since
    /// margins that differ in their last bits may have the same one.
    pub fn class(&self, margins: &mut [f32]) -> Option<u32> {
        match (self.task(), margins) {
            (Task::Multiclass, margins) => {
                if self.transform() == Transform::Softmax {
                    transform::softmax(margins);
                }
                transform::first_largest(margins)
            }
            (Task::Binary, [margin]) if self.transform() == Transform::Logistic => {
                Some(u32::from(transform::logistic(*margin * self.slope()) > 0.5))
            }
            (Task::Binary, [margin]) => Some(u32::from(*margin > 0.0)),
            _ => None,
        }
    }
}
