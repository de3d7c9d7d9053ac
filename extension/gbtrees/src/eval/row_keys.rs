//! The keys of a row by slot (see [`crate::compiled::records`]), followed by its outcomes of
//! categorical splits, if the compiled model has any (see [`crate::lower::outcomes`]).
#![allow(unsafe_code, reason = "copies outcomes that the compiled model's check has vouched for")]

use crate::compiled::records::OutcomeTable;
use crate::compiled::records::{leaf_slot, monotone_key};
use crate::compiled::sections::{OUTCOME_TABLES, OUTCOMES, Sections};
use crate::memory::allocated;
use crate::verified;

/// Sets the two slots of each feature: `slots.len() == 2 * features.len()`.
#[inline(always)]
pub(super) fn set_keys(slots: &mut [u32], features: &[f32]) {
    let (pairs, _) = slots.as_chunks_mut::<2>();
    for (pair, feature) in pairs.iter_mut().zip(features) {
        let key = monotone_key(*feature);
        // All ones if it is NaN; a choice would become a branch that missing values mispredict.
        let missing = u32::from(feature.is_nan()).wrapping_neg();
        *pair = [key & !missing, key | missing];
    }
}

/// Copies a row's line of outcomes from each table.
///
/// # Safety
/// Tables and words are a compiled model's, `features` its features, and `slots` those after the
/// leaves' slot.
#[inline(always)]
unsafe fn set_outcomes(
    mut slots: &mut [u32],
    tables: &[OutcomeTable],
    words: &[u32],
    features: &[f32],
) {
    for table in tables {
        // SAFETY: `compiled::verify::outcomes` has checked every table's feature.
        let value = unsafe {
            *verified::at(features, table.feature as usize, "a table of outcomes is of a feature")
        };
        let (start, width) = (table.first as usize, table.width as usize);
        let start = start + line(table, value) * width;
        // SAFETY: as above: all lines of a table exist, after the last table's.
        let words = unsafe { verified::range(words, start, width, "a line of outcomes is there") };
        verified::check(width <= slots.len(), "a row has slots for its outcomes");
        // SAFETY: as above: the tables' slots are consecutive, up to the row's last.
        let (own, others) = unsafe { slots.split_at_mut_unchecked(width) };
        match (own, words) {
            // The common case in models of a few trees: no call.
            ([own], [word]) => *own = *word,
            (own, words) => own.copy_from_slice(words),
        }
        slots = others;
    }
}

/// Returns a value's line in a table: see [`crate::ensemble::is_in_set`].
#[inline(always)]
fn line(table: &OutcomeTable, value: f32) -> usize {
    let code = value as u32;
    let is_known = (value >= 0.0) & (code < table.codes);
    let other = table.codes as usize + usize::from(value.is_nan());
    if is_known { code as usize } else { other }
}

#[derive(Clone, Debug)]
pub(crate) struct RowKeys {
    /// Two per feature, then the leaves' slot, then words of outcomes.
    keys: Vec<u32>,
}

impl RowKeys {
    pub(crate) fn new(num_features: usize) -> Self {
        RowKeys { keys: vec![u32::MAX; leaf_slot(num_features) + 1] }
    }

    pub(crate) fn bytes(&self) -> usize {
        allocated(&self.keys)
    }

    /// Creates keys with room for outcomes.
    pub(crate) fn with_outcomes(compiled: Sections<'_>, num_features: usize) -> Self {
        RowKeys { keys: vec![u32::MAX; compiled.num_slots(num_features)] }
    }

    /// Sets a row's keys and outcomes.
    ///
    /// # Safety
    /// `features.len() == num_features`, the compiled model's number.
    #[inline]
    pub(crate) unsafe fn set_with_outcomes(
        &mut self,
        compiled: Sections<'_>,
        num_features: usize,
        features: &[f32],
    ) {
        let outcomes = self.set_slots(num_features, compiled.num_slots(num_features), features);
        // SAFETY: features and slots have the compiled model's numbers.
        unsafe {
            set_outcomes(outcomes, compiled.get(OUTCOME_TABLES), compiled.get(OUTCOMES), features)
        };
    }

    /// Sets a row's keys; returns the slots after the leaves'.
    #[inline(always)]
    fn set_slots(&mut self, num_features: usize, num_slots: usize, features: &[f32]) -> &mut [u32] {
        if self.keys.len() != num_slots {
            // Created for another compiled model.
            self.keys.clear();
            self.keys.resize(num_slots, u32::MAX);
        }
        // There are more slots than that.
        let (slots, others) = self.keys.split_at_mut(leaf_slot(num_features));
        verified::check(slots.len() == 2 * features.len(), "a row has all features");
        set_keys(slots, features);
        let (leaf, outcomes) = others.split_at_mut(1);
        // Another compiled model may have used it for outcomes.
        leaf[0] = u32::MAX;
        outcomes
    }

    /// Returns the keys up to the leaves' slot of the last compiled model, and its outcomes.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_codes_have_separate_lines() {
        let table = OutcomeTable { feature: 0, codes: 3, first: 0, width: 1, slot: 3 };
        let lines = [0.0, -0.0, 0.9, 2.0, 2.99].map(|value| line(&table, value));
        assert_eq!(lines, [0, 0, 0, 2, 2]);
        for value in [3.0, -0.5, -1.0, 16_777_216.0, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(line(&table, value), 3, "{value}");
        }
        assert_eq!((line(&table, f32::NAN), line(&table, -f32::NAN)), (4, 4));
    }

    #[test]
    fn outcomes_are_copied_after_the_keys() {
        let table = |feature, codes, first, width, slot| OutcomeTable {
            feature,
            codes,
            first,
            width,
            slot,
        };
        let tables = [table(1, 1, 0, 1, 5), table(0, 0, 3, 2, 6)];
        let words = [10, 11, 12, 20, 21, 22, 23];
        let mut slots = [0; 3];
        // SAFETY: the tables are of two features, and have their words and slots.
        unsafe { set_outcomes(&mut slots, &tables, &words, &[7.0, 0.0]) };
        assert_eq!(slots, [10, 20, 21]);
        // SAFETY: as above.
        unsafe { set_outcomes(&mut slots, &tables, &words, &[f32::NAN; 2]) };
        assert_eq!(slots, [12, 22, 23]);
    }

    #[test]
    fn missing_values_have_reserved_keys() {
        let mut keys = RowKeys::new(2);
        keys.set_slots(2, 5, &[1.0, f32::NAN]);
        assert_eq!(keys.as_slice(), [monotone_key(1.0), monotone_key(1.0), 0, u32::MAX, u32::MAX]);
        keys.set_slots(1, 3, &[f32::NAN]);
        assert_eq!(keys.as_slice(), [0, u32::MAX, u32::MAX]);
    }
}
