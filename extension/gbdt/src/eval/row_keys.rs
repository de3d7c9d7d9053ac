//! The keys of a row, by slot: see [`crate::forest::key`]; behind them its answers to categorical
//! splits, if the image has any: see [`crate::forest::answers`].

use crate::forest::key::{leaf_slot, monotone_key};
use crate::forest::records::AnswerTable;
use crate::forest::sections::{ANSWER_TABLES, ANSWERS, Sections};

/// Sets the two slots of each feature. Features that are absent are missing.
#[inline(always)]
pub(super) fn set_keys(slots: &mut [u32], features: &[f32]) {
    let (pairs, _) = slots.as_chunks_mut::<2>();
    for (pair, feature) in pairs.iter_mut().zip(features) {
        let key = monotone_key(*feature);
        // All ones if it is NaN. A choice would become a branch that missing values mispredict.
        let missing = u32::from(feature.is_nan()).wrapping_neg();
        *pair = [key & !missing, key | missing];
    }
    pairs.iter_mut().skip(features.len()).for_each(|pair| *pair = [0, u32::MAX]);
}

/// Copies the line of each table that has the answers of a row.
#[inline(always)]
fn set_answers(mut slots: &mut [u32], tables: &[AnswerTable], words: &[u32], features: &[f32]) {
    for table in tables {
        let value = features.get(table.feature as usize).copied().unwrap_or(f32::NAN);
        let (start, width) = (table.first as usize, table.width as usize);
        let start = start + line(table, value) * width;
        let Some((own, others)) = slots.split_at_mut_checked(width) else { return };
        match (own, words.get(start..start + width)) {
            // The usual case in models of a few trees: no call.
            ([own], Some([word])) => *own = *word,
            (own, Some(words)) => own.copy_from_slice(words),
            (_, None) => {}
        }
        slots = others;
    }
}

/// The line of a value in a table: see [`super::is_in_set`].
#[inline(always)]
fn line(table: &AnswerTable, value: f32) -> usize {
    let code = value as u32;
    let is_known = (value >= 0.0) & (code < table.codes);
    let other = table.codes as usize + usize::from(value.is_nan());
    if is_known { code as usize } else { other }
}

#[derive(Clone, Debug)]
pub(crate) struct RowKeys {
    /// Two a feature, then the one that leaves read, then words of answers.
    keys: Vec<u32>,
}

impl RowKeys {
    pub(crate) fn new(num_features: usize) -> Self {
        RowKeys { keys: vec![u32::MAX; leaf_slot(num_features) + 1] }
    }

    /// With room for answers.
    pub(crate) fn with_answers(image: Sections<'_>, num_features: usize) -> Self {
        RowKeys { keys: vec![u32::MAX; image.num_slots(num_features)] }
    }

    /// Takes a row, with its answers. Features that it lacks are missing, those that it has too many
    /// are ignored.
    #[inline]
    pub(crate) fn set_with_answers(
        &mut self,
        image: Sections<'_>,
        num_features: usize,
        features: &[f32],
    ) {
        let answers = self.set_slots(num_features, image.num_slots(num_features), features);
        set_answers(answers, image.get(ANSWER_TABLES), image.get(ANSWERS), features);
    }

    /// Takes a row's keys; returns the slots behind that of leaves.
    #[inline(always)]
    fn set_slots(&mut self, num_features: usize, num_slots: usize, features: &[f32]) -> &mut [u32] {
        if self.keys.len() != num_slots {
            // Made for another image.
            self.keys.clear();
            self.keys.resize(num_slots, u32::MAX);
        }
        let leaf_slot = leaf_slot(num_features);
        let Some((slots, others)) = self.keys.split_at_mut_checked(leaf_slot) else {
            return &mut [];
        };
        set_keys(slots, features);
        let Some((leaf, answers)) = others.split_first_mut() else { return &mut [] };
        // It may have been a word of another image.
        *leaf = u32::MAX;
        answers
    }

    /// The keys; as many as `leaf_slot` of the image that they were last set for, and one more; and
    /// its answers.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_code_has_lines_of_its_own() {
        let table = AnswerTable { feature: 0, codes: 3, first: 0, width: 1, slot: 3 };
        let lines = [0.0, -0.0, 0.9, 2.0, 2.99].map(|value| line(&table, value));
        assert_eq!(lines, [0, 0, 0, 2, 2]);
        for value in [3.0, -0.5, -1.0, 16_777_216.0, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(line(&table, value), 3, "{value}");
        }
        assert_eq!((line(&table, f32::NAN), line(&table, -f32::NAN)), (4, 4));
    }

    #[test]
    fn answers_are_copied_behind_the_keys() {
        let table =
            |feature, codes, first, width, slot| AnswerTable { feature, codes, first, width, slot };
        let tables = [table(1, 1, 0, 1, 5), table(0, 0, 3, 2, 6)];
        let words = [10, 11, 12, 20, 21, 22, 23];
        let mut slots = [0; 3];
        set_answers(&mut slots, &tables, &words, &[7.0, 0.0]);
        assert_eq!(slots, [10, 20, 21]);
        set_answers(&mut slots, &tables, &words, &[f32::NAN]);
        assert_eq!(slots, [12, 22, 23]);
    }

    #[test]
    fn a_row_of_another_length_fills_the_slots_with_missing_values() {
        let mut keys = RowKeys::new(2);
        keys.set_slots(2, 5, &[1.0]);
        assert_eq!(keys.as_slice(), [monotone_key(1.0), monotone_key(1.0), 0, u32::MAX, u32::MAX]);
        keys.set_slots(1, 3, &[f32::NAN, 7.0]);
        assert_eq!(keys.as_slice(), [0, u32::MAX, u32::MAX]);
    }
}
