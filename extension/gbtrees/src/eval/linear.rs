//! Linear models: a coefficient per feature and output instead of trees.
//!
//! An output's sum takes its intercept, then the products of features that are not missing, in order
//! and in f32 (`GBLinear::Pred` in XGBoost's src/gbm/gblinear.cc). There are no trees to add, so this
//! follows the start of a sum, whether base margins or the caller's.

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

    /// Adds a linear model to the sums of rows; does nothing for trees.
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
