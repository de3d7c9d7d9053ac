//! Contributions and interactions of rows, by the compiled image.
//!
//! A model's finish, its scale, divisor and biases, is applied where its margins have it, so that the
//! contributions of a row and the bias add up to what [`Image::margins`] returns.

use super::scratch::ContributionScratch;
use crate::Result;
use crate::forest::sections::{BASE_MARGINS, OUTPUTS, TREE_SUMMARIES};
use crate::forest::{FinishAt, Image, StableBytes};
use crate::model::Precision;

/// Most rows that are explained together.
const MAX_ROWS: usize = 2048;
/// What their keys and sums may take, if they are more than a block: as much as stays in a cache.
const BATCH_BYTES: usize = 2 << 20;
/// What the sums of several outputs may take.
const OUTPUTS_BYTES: usize = 64 << 20;

/// What is computed of each output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Contributions,
    /// Of pairs of features, and contributions.
    Interactions,
}

impl Of {
    /// Sums of a row and output.
    pub(super) fn places(self, num_features: usize) -> usize {
        match self {
            Of::Contributions => num_features,
            Of::Interactions => num_features * (num_features + 1) / 2,
        }
    }

    /// Numbers of a row and output.
    fn width(self, num_features: usize) -> usize {
        match self {
            Of::Contributions => num_features + 1,
            Of::Interactions => (num_features + 1) * (num_features + 1),
        }
    }
}

impl<B: StableBytes> Image<B> {
    /// The contributions of rows, in the order of XGBoost's `pred_contribs`: for each row and output one
    /// per feature, then the bias, which has the base margin in it.
    /// `rows.len() == n * num_features`, as [`Image::narrow`] makes them, NaN for what is missing;
    /// `out.len() == n * num_outputs * (num_features + 1)`. Rows that are not whole, or have no room, are
    /// left out.
    ///
    /// They are Shapley values of the path-dependent game: XGBoost's `pred_contribs`, LightGBM's
    /// `pred_contrib`, CatBoost's `ShapValues`; sums of f64, rounded once to f32, of trees' f32. Those of a
    /// row and output add up to [`Image::margins`], to the roundings. A row's are the same bits with any
    /// kernel and in any call. `check_interrupts` is called every few milliseconds; it may unwind.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unsupported`] if the model has no covers, or trees deeper than
    /// `Limits::default()` allows; [`crate::ErrorKind::OutOfMemory`].
    pub fn contributions(
        &self,
        scratch: &mut ContributionScratch,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        self.explain(scratch, Of::Contributions, rows, out, check_interrupts)
    }

    /// The interactions of rows, in the order of XGBoost's `pred_interactions`: for each row and output
    /// `num_features + 1` rows of as many columns, symmetric. Off the diagonal is half of what two
    /// features contribute together; rows add up to the contributions; the last element is the bias.
    /// `out.len() == n * num_outputs * (num_features + 1) * (num_features + 1)`; all else is as for
    /// [`Image::contributions`].
    ///
    /// # Errors
    /// As for [`Image::contributions`].
    pub fn interactions(
        &self,
        scratch: &mut ContributionScratch,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        self.explain(scratch, Of::Interactions, rows, out, check_interrupts)
    }

    fn explain(
        &self,
        scratch: &mut ContributionScratch,
        of: Of,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        scratch.begin(self)?;
        let (num_features, num_outputs) = (self.num_features(), self.num_outputs());
        let width = of.width(num_features);
        debug_assert_eq!(rows.len() / num_features, out.len() / (num_outputs * width), "rows");
        let (biases, scale) = (self.contribution_biases(), self.contribution_scale());
        let (block, slots) = (scratch.level.rows(), self.sections().num_slots(num_features));
        let of_output = of.places(num_features) * size_of::<f64>();
        let together = (OUTPUTS_BYTES / (of_output * block)).clamp(1, num_outputs);
        let a_row = slots * size_of::<u32>() + together * of_output;
        let batch = (BATCH_BYTES / a_row).clamp(block, MAX_ROWS) / block * block;
        let batches =
            rows.chunks(batch * num_features).zip(out.chunks_mut(batch * num_outputs * width));
        for (rows, out) in batches {
            let count = (rows.len() / num_features).min(out.len() / (num_outputs * width));
            self.set_keys(scratch, rows.get(..count * num_features).unwrap_or_default())?;
            check_interrupts();
            for first in (0..num_outputs).step_by(together) {
                let outputs = first..num_outputs.min(first + together);
                self.add_trees(scratch, of, count, outputs.clone(), check_interrupts)?;
                for (row, out) in out.chunks_exact_mut(num_outputs * width).enumerate() {
                    let own = out.chunks_exact_mut(width).zip(&biases).skip(first);
                    for (output, (out, bias)) in own.take(outputs.len()).enumerate() {
                        let sums =
                            scratch.sums_of(of.places(num_features), row, output, outputs.len());
                        let sums = sums.map(|sum| scale * sum);
                        match of {
                            Of::Contributions => {
                                let all = sums.chain([*bias]);
                                out.iter_mut().zip(all).for_each(|(out, sum)| *out = sum as f32);
                            }
                            Of::Interactions => {
                                write_matrix(sums, *bias, num_features + 1, out, check_interrupts);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// What the sums of leaves are multiplied by in margins.
    fn contribution_scale(&self) -> f64 {
        let (scale, divisor, _) = self.finish_by();
        if self.finish_at() == FinishAt::Margins { scale / divisor } else { 1.0 }
    }

    /// What all rows have, by output: the means of its trees, and what margins begin with.
    fn contribution_biases(&self) -> Vec<f64> {
        let image = self.sections();
        let mut biases: Vec<f64> = image.get(BASE_MARGINS).iter().copied().map(f64::from).collect();
        if self.sum_precision() == Precision::Double {
            biases.fill(0.0);
        }
        for (output, summary) in image.get(OUTPUTS).iter().zip(image.get(TREE_SUMMARIES)) {
            if let Some(bias) = biases.get_mut(*output as usize) {
                *bias += summary.mean;
            }
        }
        let scale = self.contribution_scale();
        biases.iter_mut().for_each(|bias| *bias *= scale);
        let (_, _, own) = self.finish_by();
        if self.finish_at() == FinishAt::Margins {
            biases.iter_mut().zip(own).for_each(|(bias, own)| *bias += own);
        }
        biases
    }
}

/// Writes the matrix of an output's interactions, of so many rows and columns, from the sums of pairs: on
/// the diagonal these have contributions, and off it twice the interactions.
fn write_matrix(
    mut sums: impl Iterator<Item = f64>,
    bias: f64,
    width: usize,
    out: &mut [f32],
    check_interrupts: &mut dyn FnMut(),
) {
    out.fill(0.0);
    // What is left of each contribution.
    let mut rest = vec![0.0; width];
    for row in 0..width - 1 {
        check_interrupts();
        for column in 0..=row {
            let sum = sums.next().unwrap_or(0.0);
            let value = if column == row { sum } else { 0.5 * sum };
            if column == row {
                rest[row] += value;
                continue;
            }
            rest[row] -= value;
            rest[column] -= value;
            out[row * width + column] = value as f32;
            out[column * width + row] = value as f32;
        }
    }
    if let Some(last) = rest.last_mut() {
        *last = bias;
    }
    let diagonal = out.iter_mut().step_by(width + 1);
    diagonal.zip(rest).for_each(|(out, rest)| *out = rest as f32);
}
