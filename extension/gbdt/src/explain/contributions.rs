//! Contributions of rows, by the compiled image.
//!
//! Sums are of f64 until the end, whatever the width of the model's own. A model's finish, its scale,
//! divisor and biases, is applied where its margins have it, so that the contributions of a row and the
//! bias add up to what [`Image::margins`] returns.

use super::approximate;
use super::nodes::{Explained, Visit, each_tree};
use super::paths::{Pairs, Sums, Walk};
use super::quadrature::{POINTS, rule};
use super::scratch::ContributionScratch;
use crate::Result;
use crate::eval::present_values;
use crate::forest::sections::BASE_MARGINS;
use crate::forest::{FinishAt, Image, StableBytes};
use crate::model::Precision;

/// How contributions are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContributionKind {
    /// Shapley values of the path-dependent game: XGBoost's `pred_contribs`, LightGBM's `pred_contrib`,
    /// CatBoost's `ShapValues`.
    Exact,
    /// After Saabas: XGBoost's `approx_contribs`.
    Approximate,
}

/// Contributions of one row, tree by tree.
pub(super) struct Row<'a> {
    pub(super) kind: ContributionKind,
    /// The one output that is explained, or all.
    pub(super) output: Option<usize>,
    pub(super) num_features: usize,
    pub(super) contributions: &'a mut [f64],
    pub(super) pairs: Pairs<'a>,
    pub(super) walk: Walk<'a>,
}

impl Visit for Row<'_> {
    fn tree(&mut self, tree: &impl Explained, output: usize) {
        if self.output.is_some_and(|explained| explained != output) {
            return;
        }
        let width = self.num_features + 1;
        let own = &mut self.contributions[output * width..][..width];
        let (contributions, bias) = own.split_at_mut(self.num_features);
        self.walk.count(1);
        bias[0] += match self.kind {
            ContributionKind::Exact => {
                // A path has at most so many features; a rule of half as many points is exact.
                let features = (tree.depth() as usize).min(self.num_features);
                let rule = rule(features.div_ceil(2 * POINTS).max(1));
                let Pairs { sums, columns, first_row } = &mut self.pairs;
                let pairs = Pairs { sums, columns: *columns, first_row: *first_row };
                self.walk.tree(tree, rule, &mut Sums { contributions, pairs })
            }
            ContributionKind::Approximate => {
                approximate::add(tree, contributions, &mut || self.walk.count(1))
            }
        };
    }
}

impl<B: StableBytes> Image<B> {
    /// The contributions of rows, in the order of XGBoost's `pred_contribs`: for each row and output one
    /// per feature, then the bias, which has the base margin in it.
    /// `rows.len() == n * num_features`, as [`Image::narrow`] makes them, NaN for what is missing;
    /// `out.len() == n * num_outputs * (num_features + 1)`.
    ///
    /// They are sums of f64, rounded once to f32; LightGBM and CatBoost return f64. Of a row and output
    /// they add up to [`Image::margins`], to `num_features + 1` roundings to f32 and those of the margin.
    /// `check_interrupts` is called every few milliseconds; it may unwind.
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`](crate::ErrorKind::RowLength) if the lengths are not these, or the buffers are
    /// another image's.
    pub fn contributions(
        &self,
        scratch: &mut ContributionScratch,
        kind: ContributionKind,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        let num_features = self.num_features();
        let per_row = self.num_outputs() * (num_features + 1);
        self.has_rows(rows.len(), out.len(), per_row)?;
        scratch.is_of(self)?;
        if self.has_tables(scratch, kind, rows.len(), check_interrupts) {
            return match kind {
                ContributionKind::Exact => {
                    self.contributions_by_tables(scratch, rows, out, check_interrupts)
                }
                ContributionKind::Approximate => {
                    self.contributions_by_leaf(scratch, rows, out, check_interrupts)
                }
            };
        }
        for (row, out) in rows.chunks_exact(num_features).zip(out.chunks_exact_mut(per_row)) {
            self.row(scratch, kind, row, None, check_interrupts);
            self.finish_contributions(&mut scratch.contributions);
            let sums = scratch.contributions.iter();
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = *sum as f32);
        }
        Ok(())
    }

    /// Sums the trees' contributions of a row, of all outputs or of one; of one with the pairs of as many rows
    /// of the matrix as there is room for, from the given one on.
    pub(super) fn row(
        &self,
        scratch: &mut ContributionScratch,
        kind: ContributionKind,
        row: &[f32],
        output: Option<(usize, usize)>,
        check_interrupts: &mut dyn FnMut(),
    ) {
        let image = self.sections();
        scratch.reset();
        let features = present_values(image, row, &mut scratch.present);
        scratch.keys.set(self.num_features(), features);
        let pairs = match output {
            None => Pairs::none(),
            Some((_, first_row)) => {
                let columns = self.num_features() + 1;
                Pairs { sums: &mut scratch.interactions, columns, first_row }
            }
        };
        let mut visit = Row {
            kind,
            output: output.map(|(output, _)| output),
            num_features: self.num_features(),
            contributions: &mut scratch.contributions,
            pairs,
            walk: Walk {
                level: scratch.level,
                on_path: &mut scratch.on_path,
                order: &mut scratch.order,
                work: &mut scratch.work,
                check_interrupts,
            },
        };
        each_tree(image, &scratch.keys, features, &mut visit);
        scratch.walking = false;
    }

    /// What the sums of leaves are multiplied by in margins.
    pub(super) fn contribution_scale(&self) -> f64 {
        let (scale, divisor, _) = self.finish_by();
        if self.finish_at() == FinishAt::Margins { scale / divisor } else { 1.0 }
    }

    /// The contributions that all rows have: the biases, by the means of the outputs' trees.
    pub(super) fn begin_with_means(&self, scratch: &mut ContributionScratch, means: &[f64]) {
        let num_features = self.num_features();
        scratch.contributions.fill(0.0);
        let biases = scratch.contributions.iter_mut().skip(num_features).step_by(num_features + 1);
        biases.zip(means).for_each(|(bias, mean)| *bias = *mean);
        self.finish_contributions(&mut scratch.contributions);
    }

    /// Makes the sums of a row's trees add up to its margins.
    pub(super) fn finish_contributions(&self, contributions: &mut [f64]) {
        let base = self.sections().get(BASE_MARGINS);
        let scale = self.contribution_scale();
        let (_, _, biases) = self.finish_by();
        let width = self.num_features() + 1;
        for (output, own) in contributions.chunks_exact_mut(width).enumerate() {
            if self.sum_precision() == Precision::Single {
                own[width - 1] += f64::from(base[output]);
            }
            own.iter_mut().for_each(|sum| *sum *= scale);
            if self.finish_at() == FinishAt::Margins && !biases.is_empty() {
                own[width - 1] += biases[output];
            }
        }
    }
}
