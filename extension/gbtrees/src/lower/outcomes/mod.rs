//! Outcomes to categorical splits, looked up once per row.
//!
//! A processor cannot predict whether a step will ask for a key or for a set. So each feature with
//! categorical splits has a table: for every code the outcomes of all of its splits, a bit each,
//! 1 for right. A row copies the line of its code behind its keys, into slots of their own, and an
//! [`OutcomeNode`] finds its bit there by the arithmetic that compares a key. Splits that ask the
//! same share a bit. A compiled model has no outcomes where tables would be too large or lines too long for
//! what they save; its walks ask for sets.

#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::compiled::key::leaf_slot;
use crate::compiled::records::{CATEGORICAL, OutcomeNode, OutcomeTable, WideNode};
use crate::ensemble::{CODES, NODES_PER_CHECK, end_of_set};
use crate::limits::{reserve, to_u32};
use crate::lower::tiles::conditions::used_words;
use crate::lower::trees::Trees;
use crate::verified::sure;
use crate::{Cancel, Result};

/// Words that all tables may have, whatever the model.
const MAX_WORDS: usize = 4096;
/// Words that they may have besides per wide node, which has four itself.
const MAX_WORDS_PER_NODE: usize = 16;
/// Most words of a row's outcomes per step of its walk: to copy these takes less time than to predict
/// one step wrongly.
const MAX_WORDS_PER_STEP: usize = 16;

#[derive(Default)]
pub(crate) struct Outcomes {
    pub(crate) tables: Vec<OutcomeTable>,
    pub(crate) words: Vec<u32>,
    /// One per wide node, or none.
    pub(crate) nodes: Vec<OutcomeNode>,
}

impl Outcomes {
    /// The outcomes of trees that a row walks in so many steps.
    pub(crate) fn of(
        trees: &Trees,
        num_features: usize,
        steps: u64,
        cancel: Cancel<'_>,
    ) -> Result<Self> {
        let conditions = CategoricalConditions::of(trees, cancel)?;
        let mut outcomes = Outcomes::default();
        if !conditions.by_feature.is_empty() && pay(&conditions, trees.wide_nodes.len(), steps) {
            outcomes.add_tables(&conditions, num_features, cancel)?;
            outcomes.add_nodes(&conditions, &trees.wide_nodes, cancel)?;
        }
        Ok(outcomes)
    }

    fn add_tables(
        &mut self,
        conditions: &CategoricalConditions<'_>,
        num_features: usize,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        reserve(&mut self.words, conditions.words())?;
        let mut slot = leaf_slot(num_features) + 1;
        for (feature, of_feature) in &conditions.by_feature {
            self.tables.push(OutcomeTable {
                feature: *feature,
                codes: to_u32(of_feature.codes)?,
                first: to_u32(self.words.len())?,
                width: to_u32(of_feature.width())?,
                slot: to_u32(slot)?,
            });
            of_feature.write(&mut self.words, cancel)?;
            slot += of_feature.width();
        }
        Ok(())
    }

    fn add_nodes(
        &mut self,
        conditions: &CategoricalConditions<'_>,
        nodes: &[WideNode],
        cancel: Cancel<'_>,
    ) -> Result<()> {
        reserve(&mut self.nodes, nodes.len())?;
        let mut bits = conditions.of_nodes.iter();
        for part in nodes.chunks(NODES_PER_CHECK) {
            cancel.check()?;
            self.nodes.extend(part.iter().map(|node| {
                let WideNode { key, slot, right_offset, kind } = *node;
                if kind != CATEGORICAL {
                    return OutcomeNode { key, slot, right_offset, factor: 1 };
                }
                let bit = *sure(bits.next(), "a categorical split has a condition");
                let table = self.tables.binary_search_by_key(&(slot / 2), |table| table.feature);
                let table = sure(table.ok(), "a feature with categorical splits has a table");
                let slot = self.tables[table].slot + bit / 32;
                // Moves the bit to the top, where it alone says whether the word is below this key.
                OutcomeNode { key: 1 << 31, slot, right_offset, factor: 1 << (31 - bit % 32) }
            }));
        }
        Ok(())
    }
}

/// Whether tables are small beside the nodes, and lines short beside the walk.
fn pay(conditions: &CategoricalConditions<'_>, num_nodes: usize, steps: u64) -> bool {
    let most = MAX_WORDS_PER_NODE.saturating_mul(num_nodes).saturating_add(MAX_WORDS);
    conditions.words() <= most
        && conditions.words_of_row() as u64 <= steps.saturating_mul(MAX_WORDS_PER_STEP as u64)
}

/// What categorical splits ask: whether a code is in a set, and whether a missing value goes right.
pub(crate) type CategoricalCondition<'a> = (&'a [u32], bool);

#[derive(Default)]
pub(crate) struct CategoricalConditions<'a> {
    pub(crate) by_feature: BTreeMap<u32, OfFeature<'a>>,
    /// Of each categorical split, in the order of the nodes, its condition among its feature's.
    pub(crate) of_nodes: Vec<u32>,
}

impl<'a> CategoricalConditions<'a> {
    pub(crate) fn of(trees: &'a Trees, cancel: Cancel<'_>) -> Result<Self> {
        let mut conditions = CategoricalConditions::default();
        for part in trees.wide_nodes.chunks(NODES_PER_CHECK) {
            cancel.check()?;
            for node in part.iter().filter(|node| node.kind == CATEGORICAL) {
                conditions.add(node, trees, cancel)?;
            }
        }
        Ok(conditions)
    }

    fn add(&mut self, node: &WideNode, trees: &'a Trees, cancel: Cancel<'_>) -> Result<()> {
        let words = used_words(trees.words(node.key));
        if words.len() >= NODES_PER_CHECK {
            cancel.check()?;
        }
        // The slot of a feature in which missing is above all thresholds is the odd one.
        let missing_right = !node.slot.is_multiple_of(2);
        let of_feature = self.by_feature.entry(node.slot / 2).or_default();
        reserve(&mut self.of_nodes, 1)?;
        self.of_nodes.push(of_feature.index_of((words, missing_right))?);
        Ok(())
    }

    /// Words of a row's outcomes.
    pub(crate) fn words_of_row(&self) -> usize {
        self.by_feature.values().map(OfFeature::width).sum()
    }

    /// Words of all tables.
    pub(crate) fn words(&self) -> usize {
        let words = |of: &OfFeature<'_>| of.width().saturating_mul(of.lines());
        self.by_feature.values().map(words).fold(0, usize::saturating_add)
    }
}

/// The conditions about a feature, each once.
#[derive(Default)]
pub(crate) struct OfFeature<'a> {
    indices: HashMap<CategoricalCondition<'a>, u32>,
    conditions: Vec<CategoricalCondition<'a>>,
    /// One more than the largest code of any set.
    pub(crate) codes: usize,
}

impl<'a> OfFeature<'a> {
    fn index_of(&mut self, condition: CategoricalCondition<'a>) -> Result<u32> {
        let next = to_u32(self.conditions.len())?;
        match self.indices.entry(condition) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(entry) => {
                entry.insert(next);
                let (words, _) = condition;
                self.codes = self.codes.max(end_of_set(words)).min(CODES);
                reserve(&mut self.conditions, 1)?;
                self.conditions.push(condition);
                Ok(next)
            }
        }
    }

    /// Words of a line.
    pub(crate) fn width(&self) -> usize {
        self.conditions.len().div_ceil(32)
    }

    /// One per code, one for what is in no set, one for missing values.
    fn lines(&self) -> usize {
        self.codes + 2
    }

    /// Appends the lines of the table.
    pub(crate) fn write(&self, into: &mut Vec<u32>, cancel: Cancel<'_>) -> Result<()> {
        let (first, width) = (into.len(), self.width());
        into.resize(first + self.lines() * width, 0);
        let table = &mut into[first..];
        let mut set = |line: usize, condition: usize| {
            table[line * width + condition / 32] |= 1 << (condition % 32);
        };
        for (condition, (words, missing_right)) in self.conditions.iter().enumerate() {
            if condition.is_multiple_of(64) || words.len() >= NODES_PER_CHECK / 32 {
                cancel.check()?;
            }
            for (index, word) in words.iter().take(CODES / 32).enumerate() {
                let codes = (0..32).filter(|bit| word >> bit & 1 == 1);
                codes.for_each(|bit| set(32 * index + bit, condition));
            }
            if *missing_right {
                set(self.lines() - 1, condition);
            }
        }
        Ok(())
    }
}
