//! Linear models: a coefficient per feature and output, in place of trees.
//!
//! An output's sum takes its intercept first, then the product of each feature that is not missing, in their
//! order and in f32 (`GBLinear::Pred` in src/gbm/gblinear.cc of XGBoost). What trees would have added is
//! nothing, so this follows wherever a sum begins, with the model's base margins or the caller's.

use crate::compiled::CompiledModel;
use crate::compiled::aligned::StableBytes;
use crate::compiled::sections::COEFFICIENTS;
use crate::{Error, ErrorKind, Result};

impl<B: StableBytes> CompiledModel<B> {
    /// Fails for a linear model.
    pub(crate) fn has_leaves(&self) -> Result<()> {
        if self.is_linear() {
            let message = "a linear model has no leaves";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(())
    }

    /// Adds the linear model to the sums of rows; of a model of trees, nothing.
    #[inline(always)]
    pub(super) fn add_linear(&self, rows: &[f32], sums: &mut [f32]) {
        let coefficients = self.sections().get(COEFFICIENTS);
        if !coefficients.is_empty() {
            let sizes = [self.num_features(), self.num_outputs()];
            add_to_rows(coefficients, sizes, rows, sums);
        }
    }
}

#[inline(never)]
fn add_to_rows(
    coefficients: &[f32],
    [features, outputs]: [usize; 2],
    rows: &[f32],
    sums: &mut [f32],
) {
    let (of_features, intercepts) = coefficients.split_at(features * outputs);
    for (row, sums) in rows.chunks_exact(features).zip(sums.chunks_exact_mut(outputs)) {
        sums.iter_mut().zip(intercepts).for_each(|(sum, intercept)| *sum += intercept);
        for (value, own) in row.iter().zip(of_features.chunks_exact(outputs)) {
            if !value.is_nan() {
                sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += value * own);
            }
        }
    }
}
