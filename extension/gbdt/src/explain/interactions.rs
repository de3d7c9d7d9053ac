//! Interactions of rows, along their paths or by tables.

use super::ContributionKind;
use super::scratch::{ContributionScratch, filled};
use super::tables::{BATCH_ROWS, Of};
use crate::Result;
use crate::forest::{Image, StableBytes};

impl<B: StableBytes> Image<B> {
    /// The interactions of rows, in the order of XGBoost's `pred_interactions`: for each row and output
    /// `num_features + 1` rows of as many columns, symmetric. Off the diagonal is half of what two
    /// features contribute together; rows add up to the contributions; the last element is the bias.
    /// `out.len() == n * num_outputs * (num_features + 1) * (num_features + 1)`; all else is as for
    /// [`Image::contributions`].
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    pub fn interactions(
        &self,
        scratch: &mut ContributionScratch,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        let num_features = self.num_features();
        let width = num_features + 1;
        if scratch.interactions.len() != width * width {
            scratch.interactions = filled(width * width, 0.0)?;
        }
        let per_row = self.num_outputs() * width * width;
        debug_assert_eq!(rows.len() / num_features, out.len() / per_row, "number of rows");
        if self.has_interaction_tables(scratch, rows.len(), check_interrupts) {
            self.interactions_by_tables(scratch, rows, out, check_interrupts);
            return Ok(());
        }
        for (row, out) in rows.chunks_exact(num_features).zip(out.chunks_exact_mut(per_row)) {
            for (output, out) in out.chunks_exact_mut(width * width).enumerate() {
                for part in scratch.interactions.chunks_mut(1 << 20) {
                    part.fill(0.0);
                    check_interrupts();
                }
                let kind = ContributionKind::Exact;
                self.row(scratch, kind, row, Some(output), check_interrupts);
                self.finish_contributions(&mut scratch.contributions);
                let own = scratch.contributions.chunks_exact(width).nth(output);
                let scale = self.contribution_scale();
                let pairs = &scratch.interactions;
                spread(own.unwrap_or_default(), pairs, scale, out, check_interrupts);
            }
        }
        Ok(())
    }

    fn interactions_by_tables(
        &self,
        scratch: &mut ContributionScratch,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) {
        let Some(pairs) = scratch.pair_tables.it.take() else { return };
        let (num_features, scale) = (self.num_features(), self.contribution_scale() as f32);
        let width = num_features + 1;
        let mut own = std::mem::take(&mut scratch.own);
        // The matrices of a batch are large: fewer rows stay in a cache.
        let batch = BATCH_ROWS.min(ROWS_OF_MATRICES.max(MATRICES / (width * width)));
        let batches = rows
            .chunks(batch * num_features)
            .zip(out.chunks_mut(batch * self.num_outputs() * width * width));
        for (rows, out) in batches {
            own.resize(out.len() / width, 0.0);
            self.contributions_by_tables(scratch, rows, &mut own, check_interrupts);
            self.add_tables(scratch, &pairs, Of::Pairs, rows, out, check_interrupts);
            for (own, out) in own.chunks_exact(width).zip(out.chunks_exact_mut(width * width)) {
                mirror(own, scale, out);
            }
        }
        scratch.own = own;
        scratch.pair_tables.it = Some(pairs);
    }
}

/// Numbers of the matrices of a batch, and rows that one has at least.
const MATRICES: usize = 1 << 19;
const ROWS_OF_MATRICES: usize = 256;

/// Completes the matrix of an output, of which there are pairs above the diagonal, by its contributions.
fn mirror(own: &[f32], scale: f32, out: &mut [f32]) {
    let width = own.len();
    for row in 0..width {
        let mut rest = own[row];
        for column in 0..row {
            rest -= out[row * width + column];
        }
        for column in row + 1..width {
            let value = out[row * width + column] * scale;
            out[row * width + column] = value;
            out[column * width + row] = value;
            rest -= value;
        }
        out[row * width + row] = rest;
    }
}

/// Writes the matrix of an output's interactions: `contributions.len()` rows and columns.
fn spread(
    contributions: &[f64],
    pairs: &[f64],
    scale: f64,
    out: &mut [f32],
    check_interrupts: &mut dyn FnMut(),
) {
    let width = contributions.len();
    let pair = |row: usize, column: usize| {
        let at = row.min(column) * width + row.max(column);
        scale * pairs.get(at).copied().unwrap_or(0.0)
    };
    for (row, (own, out)) in contributions.iter().zip(out.chunks_exact_mut(width)).enumerate() {
        check_interrupts();
        let mut rest = *own;
        for (column, out) in out.iter_mut().enumerate() {
            let value = if column == row { 0.0 } else { pair(row, column) };
            rest -= value;
            *out = value as f32;
        }
        if let Some(diagonal) = out.get_mut(row) {
            *diagonal = rest as f32;
        }
    }
}
