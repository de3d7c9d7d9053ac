//! What a block of rows answers: a mask for every literal, so that each is asked once for a whole model.
#![allow(unsafe_code, reason = "vector instructions")]

use super::{BLOCK, Batch, Keys, Mask, TableKernel, WORDS, both};
use crate::eval::interleaved::NodeSections;
use crate::explain::tables::Tables;
use crate::explain::tables::codes::Codes;
use crate::explain::tables::literals::Source;
use crate::explain::tables::trees::Question;
use crate::forest::key::monotone_key;

impl Tables {
    /// Answers every literal for a block of rows.
    pub(super) fn ask(
        &self,
        kernel: &TableKernel,
        batch: Batch<'_>,
        masks: &mut Vec<Mask>,
        check_interrupts: &mut dyn FnMut(),
    ) {
        let Batch { image, rows, num_features } = batch;
        let nodes = NodeSections::of(image);
        masks.clear();
        masks.push(Mask([u64::MAX; WORDS]));
        let mut values = [0.0; BLOCK];
        let mut of_feature = usize::MAX;
        for run in &self.literals.runs {
            check_interrupts();
            let feature = run.slot as usize / 2;
            if of_feature != feature {
                let own = values_of(feature, rows, num_features);
                values.iter_mut().zip(own).for_each(|(value, own)| *value = own);
                of_feature = feature;
            }
            let keys = keys_of(run.slot, &values);
            let asked = self.literals.keys.iter().skip(run.first).take(run.count);
            // SAFETY: there is no such kernel where the processor lacks the instructions.
            masks.extend(asked.map(|key| unsafe { (kernel.below)(&keys, ordered(*key)) }));
        }
        let mut codes = Codes::of(std::iter::empty());
        of_feature = usize::MAX;
        for source in self.literals.sources.iter().skip(masks.len()) {
            let mask = match *source {
                // Questions of keys are all in runs.
                Source::True | Source::Asked(Question::Below { .. }) => Mask([u64::MAX; WORDS]),
                Source::Both(one, other) => both(masks, [one, other]),
                Source::Asked(Question::NotIn { slot, set }) => {
                    let feature = slot as usize / 2;
                    if of_feature != feature {
                        check_interrupts();
                        codes = Codes::of(values_of(feature, rows, num_features));
                        of_feature = feature;
                    }
                    codes.not_in(nodes.words(set), slot.is_multiple_of(2))
                }
            };
            masks.push(mask);
        }
        check_interrupts();
    }
}

/// The values of a feature, one per row.
fn values_of(feature: usize, rows: &[f32], num_features: usize) -> impl Iterator<Item = f32> {
    rows.chunks_exact(num_features).map(move |row| row[feature])
}

/// The keys of a slot, by its feature's values.
fn keys_of(slot: u32, values: &[f32; BLOCK]) -> Keys {
    let mut keys = Keys([0; BLOCK]);
    let where_missing = if slot.is_multiple_of(2) { 0 } else { u32::MAX };
    for (key, value) in keys.0.iter_mut().zip(values) {
        let missing = u32::from(value.is_nan()).wrapping_neg();
        *key = ordered(monotone_key(*value) & !missing | where_missing & missing);
    }
    keys
}

/// A key as a signed number, in the same order.
#[inline(always)]
fn ordered(key: u32) -> i32 {
    (key ^ 0x8000_0000).cast_signed()
}
