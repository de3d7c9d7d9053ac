//! Contributions and interactions of rows.
//!
//! Scale, divisor and biases are applied where the model's margins include them, so that a row's
//! contributions and bias add up to [`CompiledModel::margins`].

use std::ops::Range;

use crate::compiled::aligned::StableBytes;
use crate::compiled::sections::{BASE_MARGINS, COEFFICIENTS, GROUPS, OUTPUTS, TREE_SUMMARIES};
use crate::compiled::{CompiledModel, ScalingAt};
use crate::ensemble::Precision;
use crate::explain::ContributionScratch;
use crate::explain::walk::pair;
use crate::{Cancel, Error, ErrorKind, Limits, Result, verified};

/// Maximum rows explained together.
const MAX_ROWS: usize = 2048;
/// Maximum bytes of keys and sums beyond one block, to stay in cache.
const BATCH_BYTES: usize = 2 << 20;
/// Maximum bytes of the sums of several outputs, or of several rows of a matrix.
const PART_BYTES: usize = 32 << 20;

/// The kind of explanation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Contributions,
    Interactions,
}

/// A unit of work: contributions for some outputs, or for one output some rows of the interaction
/// matrix up to the diagonal, which holds contributions.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) outputs: Range<usize>,
    pub(super) matrix: Option<Range<usize>>,
    /// Sums per row and output: features, or pairs of features.
    pub(super) places: Range<usize>,
}

impl What {
    /// Returns the numbers per row and output.
    fn width(self, num_features: usize) -> usize {
        match self {
            What::Contributions => num_features + 1,
            What::Interactions => (num_features + 1) * (num_features + 1),
        }
    }

    /// Splits the work so that sums fit in [`PART_BYTES`].
    fn parts(self, num_outputs: usize, num_features: usize, rows: usize) -> Vec<Part> {
        let most = PART_BYTES / (size_of::<f64>() * rows);
        match self {
            What::Contributions => {
                let together = (most / num_features).max(1);
                let starts = (0..num_outputs).step_by(together);
                let outputs = starts.map(|first| first..num_outputs.min(first + together));
                let places = 0..num_features;
                outputs
                    .map(|outputs| Part { outputs, matrix: None, places: places.clone() })
                    .collect()
            }
            What::Interactions => {
                let mut bands = Vec::new();
                let mut first = 0;
                while first < num_features {
                    let mut end = first + 1;
                    while end < num_features && pair(end, end) < pair(first, 0) + most {
                        end += 1;
                    }
                    bands.push(first..end);
                    first = end;
                }
                let of_output = |output: usize| {
                    bands.iter().map(move |rows| Part {
                        outputs: output..output + 1,
                        matrix: Some(rows.clone()),
                        places: pair(rows.start, 0)..pair(rows.end, 0),
                    })
                };
                (0..num_outputs).flat_map(of_output).collect()
            }
        }
    }
}

impl<B: StableBytes> CompiledModel<B> {
    /// Computes SHAP values in the order of XGBoost's `pred_contribs`: per row and output one per
    /// feature, then the bias, including the base margin. `rows.len() == n * num_features`, from
    /// [`CompiledModel::narrow`], NaN if missing; `out.len() == n * num_outputs * (num_features + 1)`.
    ///
    /// They are Shapley values of the path-dependent game, as in XGBoost's `pred_contribs`, LightGBM's
    /// `pred_contrib` and CatBoost's `ShapValues`: f64 sums of the trees' f32, rounded once to f32.
    /// They add up to [`CompiledModel::margins`] except for rounding. A row's bits do not depend on the
    /// kernel or the batch. `cancel` is called every few milliseconds and may unwind.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unsupported`] if the model has no covers, or trees deeper than
    /// `Limits::default()` allows; [`crate::ErrorKind::RowLength`] for other lengths;
    /// [`crate::ErrorKind::OutOfMemory`].
    pub fn contributions(
        &self,
        scratch: &mut ContributionScratch,
        rows: &[f32],
        out: &mut [f32],
        cancel: Cancel<'_>,
    ) -> Result<()> {
        self.explain(scratch, What::Contributions, rows, out, cancel)
    }

    /// Computes interactions in the order of XGBoost's `pred_interactions`: per row and output a
    /// symmetric matrix of `num_features + 1` rows and columns. Off the diagonal is half the joint
    /// contribution of two features; rows add up to the contributions; the last element is the bias.
    /// `out.len() == n * num_outputs * (num_features + 1) * (num_features + 1)`; otherwise like
    /// [`CompiledModel::contributions`].
    ///
    /// # Errors
    /// As for [`CompiledModel::contributions`]; [`crate::ErrorKind::Unsupported`] if splits test target
    /// statistics, since CatBoost omits interactions of combinations with a common category
    /// (`UnpackInternalShapInteractionValues` in catboost/libs/fstr/shap_interaction_values.cpp).
    pub fn interactions(
        &self,
        scratch: &mut ContributionScratch,
        rows: &[f32],
        out: &mut [f32],
        cancel: Cancel<'_>,
    ) -> Result<()> {
        self.explain(scratch, What::Interactions, rows, out, cancel)
    }

    fn explain(
        &self,
        scratch: &mut ContributionScratch,
        what: What,
        rows: &[f32],
        out: &mut [f32],
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let (num_features, num_outputs) = (self.num_features(), self.num_outputs());
        let width = what.width(num_features);
        self.has_rows(rows.len(), out.len(), num_outputs * width)?;
        self.can_be_explained(what)?;
        if self.is_linear() {
            return self.explain_linear(width, rows, out, cancel);
        }
        let (biases, scale) = (self.contribution_biases(), self.contribution_scale());
        let slots = self.sections().num_slots(self.num_split_features());
        let block = scratch.level.rows();
        let places = num_outputs * width * size_of::<f64>();
        let a_row = slots * size_of::<u32>() + places.min(PART_BYTES / block);
        let batch = (BATCH_BYTES / a_row).clamp(block, MAX_ROWS) / block * block;
        let batches =
            rows.chunks(batch * num_features).zip(out.chunks_mut(batch * num_outputs * width));
        for (rows, out) in batches {
            let count = rows.len() / num_features;
            if !scratch.takes_rows_alone(what == What::Contributions, count) {
                self.set_keys(scratch, rows)?;
            }
            cancel.check()?;
            // The rest of each contribution after its interactions.
            let mut rest = vec![0.0; if what == What::Interactions { rows.len() } else { 0 }];
            for part in what.parts(num_outputs, num_features, count) {
                self.add_trees(scratch, &part, rows, cancel)?;
                for (row, out) in out.chunks_exact_mut(num_outputs * width).enumerate() {
                    for output in part.outputs.clone() {
                        let out = &mut out[output * width..][..width];
                        let sums = scratch.sums_of(&part, count, row, output);
                        let sums = sums.map(|sum| scale * sum);
                        let bias = biases[output];
                        match &part.matrix {
                            None => {
                                let all = out.iter_mut().zip(sums.chain([bias]));
                                all.for_each(|(out, sum)| *out = sum as f32);
                            }
                            Some(lines) => {
                                let rest = &mut rest[row * num_features..][..num_features];
                                let lines = lines.clone();
                                write_lines(lines, sums, bias, rest, out, cancel)?;
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Explains a linear model: products, then the intercept plus base margin, on the diagonal of an
    /// interaction matrix.
    fn explain_linear(
        &self,
        width: usize,
        rows: &[f32],
        out: &mut [f32],
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let (num_features, num_outputs) = (self.num_features(), self.num_outputs());
        let coefficients = self.sections().get(COEFFICIENTS);
        let bases = self.sections().get(BASE_MARGINS);
        // Distance between diagonal elements.
        let step = (width - 1) / num_features;
        let of_rows = out.chunks_exact_mut(num_outputs * width);
        for (row, out) in rows.chunks_exact(num_features).zip(of_rows) {
            cancel.check()?;
            for (output, out) in out.chunks_exact_mut(width).enumerate() {
                out.fill(0.0);
                let factors = row.iter().chain([&1.0]);
                let own = coefficients.iter().skip(output).step_by(num_outputs);
                let places = out.iter_mut().step_by(step);
                for ((place, value), own) in places.zip(factors).zip(own) {
                    *place = if value.is_nan() { 0.0 } else { value * own };
                }
                out[width - 1] += bases[output];
            }
        }
        Ok(())
    }

    fn can_be_explained(&self, what: What) -> Result<()> {
        if what == What::Interactions && self.has_ctrs() {
            let message =
                "a model with target statistics (CTR) has contributions, but no interactions";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if self.has_linear_leaves() {
            let message = "a model with linear leaves has no contributions";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if !self.has_covers() {
            let message = "the model file does not say how many rows reached each node";
            return Err(Error::new(ErrorKind::Unsupported, message).with_hint(COVERS));
        }
        let limit = Limits::default().depth;
        let depths = self.sections().get(GROUPS).iter().map(|group| group.depth);
        if let Some(depth) = depths.max().filter(|depth| *depth as usize > limit) {
            let message = format!("trees of depth {depth} cannot be explained, only up to {limit}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(())
    }

    /// Returns the factor from sums of leaves to margins.
    fn contribution_scale(&self) -> f64 {
        let (scale, divisor, _) = self.scaling_by();
        if self.scaling_at() == ScalingAt::Margins { scale / divisor } else { 1.0 }
    }

    /// Returns each output's bias: the mean of its trees plus the start of margins.
    fn contribution_biases(&self) -> Vec<f64> {
        let compiled = self.sections();
        let mut biases: Vec<f64> =
            compiled.get(BASE_MARGINS).iter().copied().map(f64::from).collect();
        if self.sum_precision() == Precision::Double {
            biases.fill(0.0);
        }
        for (output, summary) in compiled.get(OUTPUTS).iter().zip(compiled.get(TREE_SUMMARIES)) {
            biases[*output as usize] += summary.mean;
        }
        let scale = self.contribution_scale();
        biases.iter_mut().for_each(|bias| *bias *= scale);
        let (_, _, own) = self.scaling_by();
        if self.scaling_at() == ScalingAt::Margins {
            biases.iter_mut().zip(own).for_each(|(bias, own)| *bias += own);
        }
        biases
    }
}

const COVERS: &str = "Explanations need the covers (XGBoost), counts (LightGBM) or leaf weights (CatBoost) of the training; ONNX files never have them.";

/// Writes rows of an output's interaction matrix and the matching columns. `sums` are by pair:
/// contributions on the diagonal, twice the interactions elsewhere. `rest` accumulates the diagonal,
/// which the last part writes together with the bias.
fn write_lines(
    lines: Range<usize>,
    mut sums: impl Iterator<Item = f64>,
    bias: f64,
    rest: &mut [f64],
    out: &mut [f32],
    cancel: Cancel<'_>,
) -> Result<()> {
    let (num_features, end) = (rest.len(), lines.end);
    let width = num_features + 1;
    if lines.start == 0 {
        rest.fill(0.0);
    }
    for line in lines {
        cancel.check()?;
        for column in 0..line {
            let value = 0.5 * verified::sure(sums.next(), "a pair has a sum");
            rest[line] -= value;
            rest[column] -= value;
            out[line * width + column] = value as f32;
            out[column * width + line] = value as f32;
        }
        rest[line] += verified::sure(sums.next(), "a feature has a sum");
        out[line * width + num_features] = 0.0;
        out[num_features * width + line] = 0.0;
    }
    if end == num_features {
        let diagonal = out.iter_mut().step_by(width + 1);
        diagonal.zip(rest.iter().chain([&bias])).for_each(|(out, rest)| *out = *rest as f32);
    }
    Ok(())
}
