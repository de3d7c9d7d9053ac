//! Interactions of rows, along their paths or by tables.

use super::ContributionKind;
use super::scratch::{ContributionScratch, filled};
use super::tables::{BATCH_ROWS, Of};
use crate::forest::{Image, StableBytes};
use crate::{Result, verified};

impl<B: StableBytes> Image<B> {
    /// The interactions of rows, in the order of XGBoost's `pred_interactions`: for each row and output
    /// `num_features + 1` rows of as many columns, symmetric. Off the diagonal is half of what two
    /// features contribute together; rows add up to the contributions; the last element is the bias.
    /// `out.len() == n * num_outputs * (num_features + 1) * (num_features + 1)`; all else is as for
    /// [`Image::contributions`]. Beside `out` this takes 32 MB at most: of a wide model some rows of the
    /// matrix are computed at a time, each time along all paths.
    ///
    /// # Errors
    /// As for [`Image::contributions`]; [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory).
    pub fn interactions(
        &self,
        scratch: &mut ContributionScratch,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        let num_features = self.num_features();
        let width = num_features + 1;
        let per_row = self.num_outputs().saturating_mul(width.saturating_mul(width));
        self.has_rows(rows.len(), out.len(), per_row)?;
        scratch.is_of(self)?;
        let band = self.band_rows() * width;
        if scratch.interactions.len() != band {
            scratch.interactions = filled(band, 0.0)?;
        }
        if self.has_interaction_tables(scratch, rows.len(), check_interrupts) {
            return self.interactions_by_tables(scratch, rows, out, check_interrupts);
        }
        for (row, out) in rows.chunks_exact(num_features).zip(out.chunks_exact_mut(per_row)) {
            for (output, out) in out.chunks_exact_mut(width * width).enumerate() {
                for (number, out) in out.chunks_mut(band).enumerate() {
                    let first_row = number * self.band_rows();
                    scratch.interactions.fill(0.0);
                    check_interrupts();
                    let (kind, rows) = (ContributionKind::Exact, Some((output, first_row)));
                    self.row(scratch, kind, row, rows, check_interrupts);
                    self.finish_contributions(&mut scratch.contributions);
                    let own = &scratch.contributions[output * width..][..width];
                    let pairs = Band { first_row, width, sums: &scratch.interactions };
                    pairs.spread(own, self.contribution_scale(), out, check_interrupts);
                }
            }
        }
        Ok(())
    }

    /// How many rows of an output's matrix are computed together: all of them unless the model is wide.
    pub(super) fn band_rows(&self) -> usize {
        let width = self.num_features() + 1;
        (BAND / width).clamp(1, width)
    }

    fn interactions_by_tables(
        &self,
        scratch: &mut ContributionScratch,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        let pairs = verified::known(scratch.pair_tables.it.take(), "tables of pairs were made")?;
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
            self.contributions_by_tables(scratch, rows, &mut own, check_interrupts)?;
            self.add_tables(scratch, &pairs, Of::Pairs, rows, out, check_interrupts);
            for (own, out) in own.chunks_exact(width).zip(out.chunks_exact_mut(width * width)) {
                mirror(own, scale, out);
                check_interrupts();
            }
        }
        scratch.own = own;
        scratch.pair_tables.it = Some(pairs);
        Ok(())
    }
}

/// Most numbers of the rows of a matrix that are computed together: 32 MB.
const BAND: usize = 4 << 20;

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

/// The sums of pairs of successive rows of an output's matrix: see [`Pairs`](super::paths::Pairs).
struct Band<'a> {
    first_row: usize,
    width: usize,
    sums: &'a [f64],
}

impl Band<'_> {
    fn pair(&self, row: usize, column: usize) -> f64 {
        let is_whole = self.sums.len() == self.width * self.width;
        let (row, column) =
            if is_whole { (row.min(column), row.max(column)) } else { (row, column) };
        self.sums[(row - self.first_row) * self.width + column]
    }

    /// Writes the rows of the matrix, of an output with these contributions.
    fn spread(
        &self,
        contributions: &[f64],
        scale: f64,
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) {
        for (row, out) in (self.first_row..).zip(out.chunks_exact_mut(self.width)) {
            check_interrupts();
            let mut rest = contributions[row];
            for (column, out) in out.iter_mut().enumerate() {
                let value = if column == row { 0.0 } else { scale * self.pair(row, column) };
                rest -= value;
                *out = value as f32;
            }
            out[row] = rest as f32;
        }
    }
}
