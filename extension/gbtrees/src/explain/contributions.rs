//! Contributions and interactions of rows, by the compiled compiled model.
//!
//! A model's scaling, its scale, divisor and biases, is applied where its margins have it, so that the
//! contributions of a row and the bias add up to what [`CompiledModel::margins`] returns.

use std::ops::Range;

use crate::compiled::aligned::StableBytes;
use crate::compiled::sections::{BASE_MARGINS, COEFFICIENTS, GROUPS, OUTPUTS, TREE_SUMMARIES};
use crate::compiled::{CompiledModel, ScalingAt};
use crate::ensemble::Precision;
use crate::explain::ContributionScratch;
use crate::explain::walk::pair;
use crate::{Cancel, Error, ErrorKind, Limits, Result, verified};

/// Most rows that are explained together.
const MAX_ROWS: usize = 2048;
/// What their keys and sums may take, if they are more than a block: as much as stays in a cache.
const BATCH_BYTES: usize = 2 << 20;
/// What the sums of several outputs, or of several rows of a matrix, may take.
const PART_BYTES: usize = 32 << 20;

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Contributions,
    Interactions,
}

/// A part of what is computed: of some outputs the contributions, or of one some rows of the matrix of
/// interactions, up to the diagonal, which has contributions.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) outputs: Range<usize>,
    pub(super) matrix: Option<Range<usize>>,
    /// Sums of a row and output: by feature, or by pair of them from the first one on.
    pub(super) places: Range<usize>,
}

impl What {
    /// Numbers of a row and output.
    fn width(self, num_features: usize) -> usize {
        match self {
            What::Contributions => num_features + 1,
            What::Interactions => (num_features + 1) * (num_features + 1),
        }
    }

    /// The parts of so many outputs and features, for so many rows.
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
    /// The contributions of rows, in the order of XGBoost's `pred_contribs`: for each row and output one
    /// per feature, then the bias, which has the base margin in it.
    /// `rows.len() == n * num_features`, as [`CompiledModel::narrow`] makes them, NaN for what is missing;
    /// `out.len() == n * num_outputs * (num_features + 1)`.
    ///
    /// They are Shapley values of the path-dependent game: XGBoost's `pred_contribs`, LightGBM's
    /// `pred_contrib`, CatBoost's `ShapValues`; sums of f64, rounded once to f32, of trees' f32. Those of a
    /// row and output add up to [`CompiledModel::margins`], to the roundings. A row's are the same bits with
    /// any kernel and in any call. `cancel` is called every few milliseconds; it may unwind.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Unsupported`] if the model has no covers, or trees deeper than
    /// `Limits::default()` allows; [`crate::ErrorKind::RowLength`] if the lengths are not these;
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

    /// The interactions of rows, in the order of XGBoost's `pred_interactions`: for each row and output
    /// `num_features + 1` rows of as many columns, symmetric. Off the diagonal is half of what two
    /// features contribute together; rows add up to the contributions; the last element is the bias.
    /// `out.len() == n * num_outputs * (num_features + 1) * (num_features + 1)`; all else is as for
    /// [`CompiledModel::contributions`].
    ///
    /// # Errors
    /// As for [`CompiledModel::contributions`]; [`crate::ErrorKind::Unsupported`] if splits test target
    /// statistics: what two combinations with a category in common do together, CatBoost leaves out
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
            // Of each row what is left of its contributions.
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

    /// The contributions of a linear model: each product, and the intercept with the base margin. A matrix of
    /// interactions has nothing else, on its diagonal.
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
        // From one number of the diagonal to the next.
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
            let message = "a model with linear leaves has no contributions, as in LightGBM";
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

    /// What the sums of leaves are multiplied by in margins.
    fn contribution_scale(&self) -> f64 {
        let (scale, divisor, _) = self.scaling_by();
        if self.scaling_at() == ScalingAt::Margins { scale / divisor } else { 1.0 }
    }

    /// What all rows have, by output: the means of its trees, and what margins begin with.
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

/// Writes some lines of the matrix of an output's interactions, and their columns, from the sums of pairs: on
/// the diagonal these are contributions, and off it twice the interactions. `rest` is what is left of each
/// contribution so far; the last lines write the diagonal, and the bias.
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
