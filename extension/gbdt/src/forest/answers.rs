//! Answers to categorical splits, looked up once per row.
//!
//! A processor cannot predict whether a step will ask for a key or for a set. So each feature with
//! categorical splits has a table: for every code the answers of all of its splits, a bit each,
//! 1 for right. A row copies the line of its code behind its keys, into slots of their own, and an
//! [`AnswerNode`] finds its bit there by the arithmetic that compares a key. Splits that ask the
//! same share a bit. An image has no answers where tables would be too large or lines too long for
//! what they save; its walks ask for sets.

mod questions;
#[cfg(test)]
mod tests;

use questions::Questions;

use super::key::leaf_slot;
use super::records::{AnswerNode, AnswerTable, CATEGORICAL, WideNode};
use super::reserve::reserve;
use super::text::to_u32;
use super::trees::Trees;
use crate::Result;
use crate::model::NODES_PER_CHECK;
use crate::verified::sure;

/// Words that all tables may have, whatever the model.
const MAX_WORDS: usize = 4096;
/// Words that they may have besides per wide node, which has four itself.
const MAX_WORDS_PER_NODE: usize = 16;
/// Most words of a row's answers per step of its walk: to copy these takes less time than to predict
/// one step wrongly.
const MAX_WORDS_PER_STEP: usize = 16;

#[derive(Default)]
pub(super) struct Answers {
    pub(super) tables: Vec<AnswerTable>,
    pub(super) words: Vec<u32>,
    /// One per wide node, or none.
    pub(super) nodes: Vec<AnswerNode>,
}

impl Answers {
    /// The answers of trees that a row walks in so many steps.
    pub(super) fn of(
        trees: &Trees,
        num_features: usize,
        steps: u64,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Self> {
        let questions = Questions::of(trees, check_interrupts)?;
        let mut answers = Answers::default();
        if !questions.by_feature.is_empty() && pay(&questions, trees.wide_nodes.len(), steps) {
            answers.add_tables(&questions, num_features, check_interrupts)?;
            answers.add_nodes(&questions, &trees.wide_nodes, check_interrupts)?;
        }
        Ok(answers)
    }

    fn add_tables(
        &mut self,
        questions: &Questions<'_>,
        num_features: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        reserve(&mut self.words, questions.words())?;
        let mut slot = leaf_slot(num_features) + 1;
        for (feature, of_feature) in &questions.by_feature {
            self.tables.push(AnswerTable {
                feature: *feature,
                codes: to_u32(of_feature.codes)?,
                first: to_u32(self.words.len())?,
                width: to_u32(of_feature.width())?,
                slot: to_u32(slot)?,
            });
            of_feature.write(&mut self.words, check_interrupts);
            slot += of_feature.width();
        }
        Ok(())
    }

    fn add_nodes(
        &mut self,
        questions: &Questions<'_>,
        nodes: &[WideNode],
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        reserve(&mut self.nodes, nodes.len())?;
        let mut bits = questions.of_nodes.iter();
        for part in nodes.chunks(NODES_PER_CHECK) {
            check_interrupts();
            self.nodes.extend(part.iter().map(|node| {
                let WideNode { key, slot, right_offset, kind } = *node;
                if kind != CATEGORICAL {
                    return AnswerNode { key, slot, right_offset, factor: 1 };
                }
                let bit = *sure(bits.next(), "a categorical split has a question");
                let table = self.tables.binary_search_by_key(&(slot / 2), |table| table.feature);
                let table = sure(table.ok(), "a feature with categorical splits has a table");
                let slot = self.tables[table].slot + bit / 32;
                // Moves the bit to the top, where it alone says whether the word is below this key.
                AnswerNode { key: 1 << 31, slot, right_offset, factor: 1 << (31 - bit % 32) }
            }));
        }
        Ok(())
    }
}

/// Whether tables are small beside the nodes, and lines short beside the walk.
fn pay(questions: &Questions<'_>, num_nodes: usize, steps: u64) -> bool {
    let most = MAX_WORDS_PER_NODE.saturating_mul(num_nodes).saturating_add(MAX_WORDS);
    questions.words() <= most
        && questions.words_of_row() as u64 <= steps.saturating_mul(MAX_WORDS_PER_STEP as u64)
}
