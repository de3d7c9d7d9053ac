//! Approximate contributions of rows, by the leaves that they reach.
#![allow(unsafe_code, reason = "walks rows that have all features")]

use super::scratch::ContributionScratch;
use super::tables::BLOCK;
use crate::eval::present_values;
use crate::forest::{Image, StableBytes};
use crate::{Result, verified};

impl<B: StableBytes> Image<B> {
    /// The approximate contributions of rows, by their leaves.
    pub(super) fn contributions_by_leaf(
        &self,
        scratch: &mut ContributionScratch,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        let changes = verified::known(scratch.leaf_changes.it.take(), "leaf changes were made")?;
        let (image, num_features) = (self.sections(), self.num_features());
        let (width, scale) = (num_features + 1, self.contribution_scale());
        self.begin_with_means(scratch, &changes.means);
        let ContributionScratch { keys, present, contributions, leaves, .. } = scratch;
        let biases = || contributions.iter().skip(num_features).step_by(width);
        let per_row = contributions.len();
        let blocks = rows.chunks(BLOCK * num_features).zip(out.chunks_mut(BLOCK * per_row));
        for (rows, out) in blocks {
            let features = present_values(image, rows, present);
            if changes.add_block(self, scratch.evaluation, scratch.kernel, leaves, features) {
                for (row, out) in out.chunks_exact_mut(per_row).enumerate() {
                    let own = out.chunks_exact_mut(width).zip(&leaves.outputs).zip(biases());
                    for ((out, own), bias) in own {
                        for (out, sum) in out.iter_mut().zip(&own.sums[row].0) {
                            *out = (f64::from(*sum) * scale) as f32;
                        }
                        out[num_features] = *bias as f32;
                    }
                }
            } else {
                let rows = features.chunks_exact(num_features);
                for (row, out) in rows.zip(out.chunks_exact_mut(per_row)) {
                    // SAFETY: the row has all features of the image.
                    unsafe {
                        keys.set_with_answers(image, num_features, row);
                        changes.add_row(image, keys, row, leaves, per_row);
                    }
                    let sums = leaves.sums.chunks_exact(width);
                    for ((out, sums), bias) in out.chunks_exact_mut(width).zip(sums).zip(biases()) {
                        for (out, sum) in out.iter_mut().zip(sums) {
                            *out = (sum * scale) as f32;
                        }
                        out[num_features] = *bias as f32;
                    }
                }
            }
            check_interrupts();
        }
        scratch.leaf_changes.it = Some(changes);
        Ok(())
    }
}
