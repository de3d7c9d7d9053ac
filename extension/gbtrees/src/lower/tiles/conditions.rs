//! The conditions of a forest's tiles, and the category sets that they test.

use std::collections::HashMap;

use crate::compiled::records::{monotone_key, number_of_key};
use crate::compiled::tiles::{CodeTable, TABLE_CODES};
use crate::ensemble::{NODES_PER_CHECK, end_of_set};
use crate::limits::to_u32;
use crate::lower::canonical::{Forest, LoweredCondition, LoweredSplit, LoweredTree};
use crate::{Cancel, Result};

/// A node's condition. Conditions are ordered by column, then by threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Condition {
    pub(super) feature: u32,
    kind: ConditionKind,
    /// The monotone key of the threshold, or the index of the set in [`Sets`].
    pub(super) threshold_key_or_set: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ConditionKind {
    BelowMissingLeft,
    BelowMissingRight,
    InSetMissingLeft,
    InSetMissingRight,
}

impl Condition {
    pub(super) fn tests_codes(self) -> bool {
        matches!(self.kind, ConditionKind::InSetMissingLeft | ConditionKind::InSetMissingRight)
    }

    pub(super) fn threshold(self) -> f32 {
        number_of_key(self.threshold_key_or_set)
    }

    pub(super) fn missing_right(self) -> bool {
        matches!(self.kind, ConditionKind::BelowMissingRight | ConditionKind::InSetMissingRight)
    }

    /// Returns the single condition equal to joining both by AND or OR, if there is one: of a column's
    /// two thresholds the higher implies the lower.
    pub(crate) fn joined(self, other: Condition, by_and: bool) -> Option<Condition> {
        let alike = self.feature == other.feature && self.kind == other.kind;
        if self == other {
            Some(self)
        } else if !alike || self.tests_codes() {
            None
        } else if by_and {
            Some(self.max(other))
        } else {
            Some(self.min(other))
        }
    }

    /// Returns whether the kinds allow one column to evaluate both.
    pub(super) fn may_share_column(self, other: Condition) -> bool {
        self.feature == other.feature
            && (self.kind == other.kind || self.tests_codes() && other.tests_codes())
    }
}

/// The distinct category sets of a forest.
#[derive(Default)]
pub(crate) struct Sets<'a> {
    indices: HashMap<&'a [u32], u32>,
    sets: Vec<&'a [u32]>,
    /// Index of each set in the compiled model.
    pub(crate) in_image: Vec<u32>,
}

impl<'a> Sets<'a> {
    /// Collects the sets of a forest, which the compiled model stores tree by tree.
    pub(crate) fn of(forest: &'a Forest<'a>, cancel: Cancel<'_>) -> Result<Self> {
        let mut all = Sets::default();
        let sets = forest.sources().flat_map(|trees| &trees[0].sets);
        for (index, set) in sets.enumerate() {
            if index.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            let words = used_words(set);
            let index_of_set = to_u32(all.sets.len())?;
            if let std::collections::hash_map::Entry::Vacant(entry) = all.indices.entry(words) {
                entry.insert(index_of_set);
                all.sets.push(words);
                all.in_image.push(to_u32(index)?);
            }
        }
        Ok(all)
    }

    fn words(&self, condition: Condition) -> &'a [u32] {
        self.sets[condition.threshold_key_or_set as usize]
    }

    /// Returns a condition's record in [`LARGE_SETS`](crate::compiled::sections::LARGE_SETS).
    pub(crate) fn large(&self, condition: Condition) -> u32 {
        let set = self.in_image[condition.threshold_key_or_set as usize];
        2 * set + u32::from(condition.missing_right())
    }

    pub(crate) fn table(&self, condition: Condition) -> CodeTable {
        let mut table = CodeTable([0; 64]);
        let bytes = self.words(condition).iter().flat_map(|word| word.to_le_bytes());
        let places = table.0.iter_mut().take(CodeTable::NOT_IN_SET.into());
        places.zip(bytes).for_each(|(place, byte)| *place = byte);
        if let (true, Some(missing)) = (condition.missing_right(), table.0.last_mut()) {
            *missing = 0xff;
        }
        table
    }

    pub(super) fn fits_table(&self, condition: Condition) -> bool {
        end_of_set(self.words(condition)) <= TABLE_CODES as usize
    }
}

/// Returns the words up to the last non-zero one.
pub(crate) fn used_words(words: &[u32]) -> &[u32] {
    let empty = words.iter().rev().take_while(|word| **word == 0).count();
    &words[..words.len() - empty]
}

/// Returns a node's condition; `None` for a leaf.
pub(crate) fn condition_of(tree: &LoweredTree<'_>, id: u32, sets: &Sets<'_>) -> Option<Condition> {
    let LoweredSplit { feature, condition, default_left, .. } =
        *tree.nodes()[id as usize].split()?;
    let side = usize::from(default_left);
    let (kind, threshold_key_or_set) = match condition {
        LoweredCondition::Below(threshold) => {
            let kinds = [ConditionKind::BelowMissingRight, ConditionKind::BelowMissingLeft];
            (kinds[side], monotone_key(threshold))
        }
        LoweredCondition::InSet(set) => {
            let kinds = [ConditionKind::InSetMissingRight, ConditionKind::InSetMissingLeft];
            (kinds[side], sets.indices[used_words(tree.sets[set as usize])])
        }
    };
    Some(Condition { feature, kind, threshold_key_or_set })
}
