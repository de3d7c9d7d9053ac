//! Predictions and explanations, with reusable buffers.
//!
//! Rows are processed in blocks, so buffers stay small. Results have the bits of the model's library
//! for any type of rows and results.

use std::ops::Range;

use super::rows::{Number, Rows};
use super::{Compiled, Model};
use crate::ensemble::Precision;
use crate::eval::{BatchScratch, Kernel, Margin, Scratch, wrong_length};
use crate::explain::ContributionScratch;
use crate::memory::filled;
use crate::{Cancel, Error, ErrorKind, Result};

/// The kind of prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// The result of the library's `predict`: numbers, probabilities, or a class index.
    #[default]
    Value,
    /// Untransformed sums, like XGBoost's `output_margin=True` and LightGBM's `raw_score=True`.
    Margin,
    /// The class index that scikit-learn's `predict` chooses.
    Class,
}

/// Reusable buffers of a thread, which serve any model and grow as needed.
pub struct Buffers {
    batch: BatchScratch,
    row: Option<Scratch>,
    explain: Option<ContributionScratch>,
    features: Vec<f32>,
}

impl Default for Buffers {
    fn default() -> Self {
        let batch = BatchScratch::for_any(Kernel::default());
        Buffers { batch, row: None, explain: None, features: Vec::new() }
    }
}

/// Predicts rows of a model. It owns buffers, so each thread needs one; it can be sent between threads.
pub struct Predictor<'m> {
    model: &'m Model,
    buffers: Buffers,
}

/// Maximum rows per block of explanations.
const EXPLAINED: usize = 512;

impl<'m> Predictor<'m> {
    pub(super) fn new(model: &'m Model, buffers: Buffers) -> Self {
        Predictor { model, buffers }
    }

    /// Returns the buffers, for a predictor of this model or of another.
    pub fn into_buffers(self) -> Buffers {
        self.buffers
    }

    /// Predicts rows, with [`Model::width`] numbers each.
    ///
    /// # Errors
    /// [`ErrorKind::RowLength`] if the number of columns is not the model's number of features;
    /// [`ErrorKind::Unsupported`] for classes of a model without.
    pub fn predict<T: Number, M: Number>(
        &mut self,
        rows: &Rows<'_, T>,
        output: Output,
    ) -> Result<Vec<M>> {
        let mut out = zeros(rows.shape()[0], self.model.width(output))?;
        self.predict_into(rows, output, &mut out)?;
        Ok(out)
    }

    /// Like [`Predictor::predict`], into `out` with `out.len() == rows * width`.
    ///
    /// # Errors
    /// As for [`Predictor::predict`]; [`ErrorKind::RowLength`] for another length of `out`.
    pub fn predict_into<T: Number, M: Number>(
        &mut self,
        rows: &Rows<'_, T>,
        output: Output,
        out: &mut [M],
    ) -> Result<()> {
        let compiled = &self.model.compiled;
        if output == Output::Class && !compiled.has_classes() {
            return Err(Error::new(ErrorKind::Unsupported, "the model has no classes"));
        }
        self.check(rows, out.len(), self.model.width(output))?;
        match compiled.sum_precision() {
            Precision::Single => self.blocks::<T, f32, M>(rows, output, out),
            Precision::Double => self.blocks::<T, f64, M>(rows, output, out),
        }
    }

    /// Predicts with sums of type `S`, the model's.
    fn blocks<T: Number, S: Number + PartialOrd, M: Number>(
        &mut self,
        rows: &Rows<'_, T>,
        output: Output,
        out: &mut [M],
    ) -> Result<()> {
        let (outputs, width) = (self.model.num_outputs(), self.model.width(output));
        let mut margins: Vec<S> = Vec::new();
        for (rows, out) in self.blocks_of(rows, self.model.compiled.rows_per_call(), out, width) {
            let (rows, block) = rows;
            let compiled = &self.model.compiled;
            let Buffers { batch, features: buffer, .. } = &mut self.buffers;
            let features = features(rows, compiled, &block, buffer);
            margins.clear();
            margins.resize(block.len() * outputs, S::of(0.0));
            compiled.margins_batch(batch, features, &mut margins)?;
            let rows = margins.chunks_exact_mut(outputs).zip(out.chunks_exact_mut(width));
            for (margins, out) in rows {
                match output {
                    Output::Margin => {}
                    Output::Value => {
                        compiled.values(margins);
                    }
                    Output::Class => {
                        let class = compiled.class(margins);
                        let class = crate::verified::known(class, "a classifier has classes")?;
                        out.fill(M::of(class.into()));
                        continue;
                    }
                }
                out.iter_mut().zip(margins).for_each(|(out, value)| *out = M::of(value.double()));
            }
        }
        Ok(())
    }

    /// Returns each row's leaf in every tree by the library's number, like XGBoost's `pred_leaf`:
    /// [`Model::num_trees`] numbers per row.
    ///
    /// # Errors
    /// As for [`Predictor::predict`]; [`ErrorKind::Unsupported`] for a linear model.
    pub fn leaves<T: Number>(&mut self, rows: &Rows<'_, T>) -> Result<Vec<u32>> {
        let compiled = &self.model.compiled;
        compiled.has_leaves()?;
        let width = compiled.num_trees();
        let mut out = vec![0; rows.shape()[0] * width];
        self.check(rows, out.len(), width)?;
        let Buffers { row, features: buffer, .. } = &mut self.buffers;
        let row = row.get_or_insert_with(|| Scratch::for_any(Kernel::default()));
        for (index, out) in out.chunks_exact_mut(width.max(1)).enumerate() {
            let features = features(rows, compiled, &(index..index + 1), buffer);
            compiled.leaves(row, features, out)?;
        }
        Ok(out)
    }

    /// Computes SHAP values: per row and output one number per feature, then the bias, like XGBoost's
    /// `pred_contribs`, LightGBM's `pred_contrib` and CatBoost's `ShapValues`. They add up to the
    /// margin. `num_outputs * (num_features + 1)` numbers per row.
    ///
    /// # Errors
    /// As for [`Predictor::predict`]; [`ErrorKind::Unsupported`] if the file has no covers.
    pub fn contributions<T: Number>(&mut self, rows: &Rows<'_, T>) -> Result<Vec<f32>> {
        let width = self.model.num_outputs() * (self.model.num_features() + 1);
        let mut out = zeros(rows.shape()[0], width)?;
        self.contributions_into(rows, &mut out)?;
        Ok(out)
    }

    /// Like [`Predictor::contributions`], into `out` with `out.len() == rows * num_outputs *
    /// (num_features + 1)`.
    ///
    /// # Errors
    /// As for [`Predictor::contributions`]; [`ErrorKind::RowLength`] for another length of `out`.
    pub fn contributions_into<T: Number>(
        &mut self,
        rows: &Rows<'_, T>,
        out: &mut [f32],
    ) -> Result<()> {
        self.explained(rows, self.model.num_features() + 1, out, Compiled::contributions)
    }

    /// Computes interactions: per row and output a symmetric matrix of `num_features + 1` lines, like
    /// XGBoost's `pred_interactions`. Lines add up to the contributions.
    ///
    /// # Errors
    /// As for [`Predictor::contributions`]; [`ErrorKind::Unsupported`] for target statistics
    /// (CatBoost's CTR).
    pub fn interactions<T: Number>(&mut self, rows: &Rows<'_, T>) -> Result<Vec<f32>> {
        let width = self.model.num_outputs() * (self.model.num_features() + 1).pow(2);
        let mut out = zeros(rows.shape()[0], width)?;
        self.interactions_into(rows, &mut out)?;
        Ok(out)
    }

    /// Like [`Predictor::interactions`], into `out` with `out.len() == rows * num_outputs *
    /// (num_features + 1)^2`.
    ///
    /// # Errors
    /// As for [`Predictor::interactions`]; [`ErrorKind::RowLength`] for another length of `out`.
    pub fn interactions_into<T: Number>(
        &mut self,
        rows: &Rows<'_, T>,
        out: &mut [f32],
    ) -> Result<()> {
        self.explained(rows, (self.model.num_features() + 1).pow(2), out, Compiled::interactions)
    }

    fn explained<T: Number>(
        &mut self,
        rows: &Rows<'_, T>,
        per_output: usize,
        out: &mut [f32],
        explain: impl Fn(
            &Compiled,
            &mut ContributionScratch,
            &[f32],
            &mut [f32],
            Cancel<'_>,
        ) -> Result<()>,
    ) -> Result<()> {
        let width = self.model.num_outputs() * per_output;
        self.check(rows, out.len(), width)?;
        let mut scratch = self.buffers.explain.take().unwrap_or_default();
        for ((rows, block), out) in self.blocks_of(rows, EXPLAINED, out, width) {
            let compiled = &self.model.compiled;
            let features = features(rows, compiled, &block, &mut self.buffers.features);
            explain(compiled, &mut scratch, features, out, Cancel::never())?;
        }
        self.buffers.explain = Some(scratch);
        Ok(())
    }

    fn check<T: Number>(&self, rows: &Rows<'_, T>, out: usize, width: usize) -> Result<()> {
        let ([rows, columns], features) = (rows.shape(), self.model.num_features());
        let wanted = rows.saturating_mul(width);
        if columns == features && out == wanted {
            return Ok(());
        }
        Err(wrong_length([columns, features], [out, wanted]))
    }

    /// Splits the rows into blocks, with their parts of the result.
    fn blocks_of<'r, 'o, T, M>(
        &self,
        rows: &'r Rows<'r, T>,
        count: usize,
        out: &'o mut [M],
        width: usize,
    ) -> impl Iterator<Item = ((&'r Rows<'r, T>, Range<usize>), &'o mut [M])> + use<'r, 'o, T, M>
    where
        T: Number,
    {
        let all = rows.shape()[0];
        let starts = (0..all).step_by(count.max(1));
        let blocks = starts.map(move |start| (rows, start..all.min(start + count)));
        blocks.zip(out.chunks_mut(count * width))
    }
}

/// Converts rows to the engine's layout.
fn features<'f, T: Number>(
    rows: &Rows<'f, T>,
    compiled: &Compiled,
    block: &Range<usize>,
    buffer: &'f mut Vec<f32>,
) -> &'f [f32] {
    let block = [block.start, block.len()];
    if let Some(unchanged) = rows.unchanged(compiled, block) {
        return unchanged;
    }
    buffer.clear();
    rows.append_to(compiled, block, buffer);
    buffer
}

fn zeros<M: Margin>(rows: usize, width: usize) -> Result<Vec<M>> {
    filled(rows.saturating_mul(width), M::of(0.0))
}
