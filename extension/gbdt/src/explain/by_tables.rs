//! Contributions of rows by tables: blocks of rows where there are many, else one row after another, and
//! what the tables leave along its paths.

use super::ContributionKind;
use super::contributions::{ContributionScratch, Row};
use super::nodes::Visit;
use super::paths::Walk;
use super::tables::{Answers, BATCH_ROWS, Batch, RestOfRow, Tables};
use crate::eval::interleaved::NodeSections;
use crate::eval::present_values;
use crate::forest::{Image, StableBytes};

/// With fewer rows, one after another costs less than a block, of which most is empty.
const MIN_BLOCK: usize = 48;

/// Rows after which tables pay.
const ROWS_BEFORE_TABLES: usize = 64;
const ROWS_BEFORE_MEANS: usize = 16;

impl<B: StableBytes> Image<B> {
    /// Makes the tables of that kind, if they are not there and have room. [`Image::contributions`] does so
    /// by itself once enough rows have been explained. The last digits of what tables give are others than
    /// without, so a caller makes them first if its results must not depend on how many rows came before.
    pub fn make_tables(
        &self,
        scratch: &mut ContributionScratch,
        kind: ContributionKind,
        check_interrupts: &mut dyn FnMut(),
    ) {
        // Both kinds share the room.
        let max_bytes = scratch.max_table_bytes.saturating_sub(scratch.table_bytes());
        let own = &mut scratch.kinds[kind as usize];
        if max_bytes > 0 && own.tables.is_none() && !own.has_no_room {
            let size = [self.num_features(), self.num_outputs()];
            let tables = Tables::build(self.sections(), kind, size, max_bytes, check_interrupts);
            own.has_no_room = tables.is_none();
            own.tables = tables.map(Box::new);
        }
    }

    /// Whether there are tables; makes them where so many numbers of rows more are worth it.
    pub(super) fn has_tables(
        &self,
        scratch: &mut ContributionScratch,
        kind: ContributionKind,
        numbers: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> bool {
        let own = &mut scratch.kinds[kind as usize];
        if own.tables.is_none() {
            // Approximate ones gain by the means of nodes alone.
            let rows_before = match kind {
                ContributionKind::Exact => ROWS_BEFORE_TABLES,
                ContributionKind::Approximate => ROWS_BEFORE_MEANS,
            };
            own.rows_walked += numbers / self.num_features();
            if own.rows_walked >= rows_before {
                self.make_tables(scratch, kind, check_interrupts);
            }
        }
        scratch.kinds[kind as usize].tables.is_some()
    }

    /// The contributions of rows, by tables and what they leave.
    pub(super) fn by_tables(
        &self,
        scratch: &mut ContributionScratch,
        kind: ContributionKind,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) {
        let Some(tables) = scratch.kinds[kind as usize].tables.take() else { return };
        let num_features = self.num_features();
        let (width, image) = (num_features + 1, self.sections());
        let per_row = self.num_outputs() * width;
        scratch.contributions.fill(0.0);
        let biases = scratch.contributions.iter_mut().skip(num_features).step_by(width);
        biases.zip(&tables.means).for_each(|(bias, mean)| *bias = *mean);
        self.finish_contributions(&mut scratch.contributions);
        let start: Vec<f32> = scratch.contributions.iter().map(|bias| *bias as f32).collect();
        let scale = self.contribution_scale() as f32;
        let batches =
            rows.chunks(BATCH_ROWS * num_features).zip(out.chunks_mut(BATCH_ROWS * per_row));
        for (rows, out) in batches {
            let mut present = std::mem::take(&mut scratch.present);
            let rows = present_values(image, rows, &mut present);
            let count = (rows.len() / num_features).min(out.len() / per_row);
            let (rows, out) = (&rows[..count * num_features], &mut out[..count * per_row]);
            out.fill(0.0);
            if count >= MIN_BLOCK {
                let batch = Batch { image, rows, num_features };
                let (kernel, blocks) = (scratch.kernel, &mut scratch.kinds[kind as usize].blocks);
                tables.add_rows(kernel, blocks, batch, out, check_interrupts);
            }
            for (row, out) in rows.chunks_exact(num_features).zip(out.chunks_exact_mut(per_row)) {
                if count < MIN_BLOCK || !tables.rest.is_empty() {
                    scratch.keys.set(num_features, row);
                    let (keys, nodes) = (scratch.keys.as_slice(), NodeSections::of(image));
                    let answers = Answers { keys, features: row, nodes };
                    if count < MIN_BLOCK {
                        tables.add_row(&mut scratch.row_buffers, &answers, num_features, out);
                    }
                }
                if !tables.rest.is_empty() {
                    self.add_rest(scratch, kind, &tables, row, out, check_interrupts);
                }
                for (out, start) in out.iter_mut().zip(&start) {
                    *out = *out * scale + start;
                }
            }
            scratch.present = present;
            check_interrupts();
        }
        scratch.kinds[kind as usize].tables = Some(tables);
    }

    /// Adds what tables leave of a row, to which the keys have been set.
    fn add_rest(
        &self,
        scratch: &mut ContributionScratch,
        kind: ContributionKind,
        tables: &Tables,
        row: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) {
        scratch.reset();
        let ContributionScratch { keys, on_path, order, rules, contributions, work, .. } = scratch;
        let nodes = NodeSections::of(self.sections());
        let answers = Answers { keys: keys.as_slice(), features: row, nodes };
        let width = self.num_features() + 1;
        if kind == ContributionKind::Approximate {
            for tree in &tables.rest {
                let own = contributions.get_mut(tree.output() * width..).unwrap_or_default();
                tree.add_changes(&answers, own);
            }
        } else {
            let mut visit = Row {
                kind,
                output: None,
                num_features: self.num_features(),
                contributions,
                interactions: &mut [],
                rules,
                walk: Walk { on_path, order, work, check_interrupts },
            };
            for tree in &tables.rest {
                visit.tree(&RestOfRow { tree, answers: &answers }, tree.output());
            }
        }
        scratch.walking = false;
        let sums = scratch.contributions.chunks_exact(width);
        for (out, sums) in out.chunks_exact_mut(width).zip(sums) {
            // The tables' means have the bias of all trees.
            for (out, sum) in out.iter_mut().zip(sums).take(width - 1) {
                *out += *sum as f32;
            }
        }
    }
}
