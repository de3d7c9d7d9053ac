//! Explanations of rows by tables: blocks of rows where there are many, else one row after another, and
//! what the tables leave along its paths.

use super::ContributionKind;
use super::contributions::Row;
use super::nodes::Visit;
use super::paths::{Pairs, Walk};
use super::scratch::ContributionScratch;
use super::tables::{Answers, BATCH_ROWS, Batch, Of, RestOfRow, Tables};
use crate::eval::interleaved::NodeSections;
use crate::eval::present_values;
use crate::forest::{Image, StableBytes};
use crate::{Result, verified};

/// With fewer rows, one after another costs less than a block, of which most is empty.
const MIN_BLOCK: usize = 48;

impl<B: StableBytes> Image<B> {
    /// The contributions of rows, by tables and what they leave.
    pub(super) fn contributions_by_tables(
        &self,
        scratch: &mut ContributionScratch,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        let tables = verified::known(scratch.tables.it.take(), "tables were made")?;
        self.begin_with_means(scratch, &tables.means);
        let start: Vec<f32> = scratch.contributions.iter().map(|bias| *bias as f32).collect();
        let scale = self.contribution_scale() as f32;
        self.add_tables(scratch, &tables, Of::Features, rows, out, check_interrupts);
        for out in out.chunks_exact_mut(start.len()) {
            for (out, start) in out.iter_mut().zip(&start) {
                *out = *out * scale + start;
            }
        }
        scratch.tables.it = Some(tables);
        Ok(())
    }

    /// The sums of rows, by tables and what they leave, without the finish.
    pub(super) fn add_tables(
        &self,
        scratch: &mut ContributionScratch,
        tables: &Tables,
        of: Of,
        rows: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) {
        let (num_features, image) = (self.num_features(), self.sections());
        let width = num_features + 1;
        let per_row = self.num_outputs() * if of == Of::Pairs { width * width } else { width };
        let batches =
            rows.chunks(BATCH_ROWS * num_features).zip(out.chunks_mut(BATCH_ROWS * per_row));
        for (rows, out) in batches {
            let mut present = std::mem::take(&mut scratch.present);
            let rows = present_values(image, rows, &mut present);
            let count = rows.len() / num_features;
            out.fill(0.0);
            if count >= MIN_BLOCK {
                let batch = Batch { image, rows, num_features };
                let blocks = &mut scratch.blocks[of as usize];
                tables.add_rows(scratch.kernel, blocks, batch, out, check_interrupts);
            }
            if count < MIN_BLOCK || !tables.rest.is_empty() {
                for (row, out) in rows.chunks_exact(num_features).zip(out.chunks_exact_mut(per_row))
                {
                    scratch.keys.set(num_features, row);
                    let (keys, nodes) = (scratch.keys.as_slice(), NodeSections::of(image));
                    let answers = Answers { keys, features: row, nodes };
                    if count < MIN_BLOCK {
                        tables.add_row(&mut scratch.row_buffers, &answers, out);
                    }
                    if !tables.rest.is_empty() {
                        self.add_rest(scratch, tables, of, row, out, check_interrupts);
                    }
                }
            }
            scratch.present = present;
            check_interrupts();
        }
    }

    /// Adds what tables leave of a row, to which the keys have been set.
    fn add_rest(
        &self,
        scratch: &mut ContributionScratch,
        tables: &Tables,
        of: Of,
        row: &[f32],
        out: &mut [f32],
        check_interrupts: &mut dyn FnMut(),
    ) {
        let (num_features, outputs) = (self.num_features(), self.num_outputs());
        let nodes = NodeSections::of(self.sections());
        let per_output = out.len() / outputs;
        for (output, out) in out.chunks_exact_mut(per_output).enumerate() {
            scratch.reset();
            if of == Of::Pairs {
                scratch.interactions.fill(0.0);
            }
            let ContributionScratch {
                keys,
                on_path,
                order,
                contributions,
                interactions,
                work,
                level,
                ..
            } = scratch;
            let (level, columns) = (*level, num_features + 1);
            let pairs = match of {
                Of::Features => Pairs::none(),
                Of::Pairs => Pairs { sums: interactions, columns, first_row: 0 },
            };
            let answers = Answers { keys: keys.as_slice(), features: row, nodes };
            let mut visit = Row {
                kind: ContributionKind::Exact,
                output: Some(output),
                num_features,
                contributions,
                pairs,
                walk: Walk { level, on_path, order, work, check_interrupts },
            };
            for tree in &tables.rest {
                visit.tree(&RestOfRow { tree, answers: &answers }, tree.output());
            }
            scratch.walking = false;
            let sums = match of {
                Of::Pairs => &scratch.interactions[..],
                // The tables' means have the bias of all trees.
                Of::Features => {
                    &scratch.contributions[output * (num_features + 1)..][..num_features]
                }
            };
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out += *sum as f32);
        }
    }
}
