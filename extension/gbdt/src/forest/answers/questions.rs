//! What the categorical splits of a forest ask, each question once.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::Result;
use crate::eval::CODES;
use crate::forest::records::{CATEGORICAL, WideNode};
use crate::forest::reserve::reserve;
use crate::forest::text::to_u32;
use crate::forest::tiles::used_words;
use crate::forest::trees::Trees;
use crate::model::{NODES_PER_CHECK, end_of_set};

/// What categorical splits ask: whether a code is in a set, and whether a missing value goes right.
pub(super) type Question<'a> = (&'a [u32], bool);

#[derive(Default)]
pub(super) struct Questions<'a> {
    pub(super) by_feature: BTreeMap<u32, OfFeature<'a>>,
    /// Of each categorical split, in the order of the nodes, its question among its feature's.
    pub(super) of_nodes: Vec<u32>,
}

impl<'a> Questions<'a> {
    pub(super) fn of(trees: &'a Trees, check_interrupts: &mut dyn FnMut()) -> Result<Self> {
        let mut questions = Questions::default();
        for part in trees.wide_nodes.chunks(NODES_PER_CHECK) {
            check_interrupts();
            for node in part.iter().filter(|node| node.kind == CATEGORICAL) {
                questions.add(node, trees, check_interrupts)?;
            }
        }
        Ok(questions)
    }

    fn add(
        &mut self,
        node: &WideNode,
        trees: &'a Trees,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<()> {
        let words = used_words(trees.words(node.key));
        if words.len() >= NODES_PER_CHECK {
            check_interrupts();
        }
        // The slot of a feature in which missing is above all thresholds is the odd one.
        let missing_right = !node.slot.is_multiple_of(2);
        let of_feature = self.by_feature.entry(node.slot / 2).or_default();
        reserve(&mut self.of_nodes, 1)?;
        self.of_nodes.push(of_feature.index_of((words, missing_right))?);
        Ok(())
    }

    /// Words of a row's answers.
    pub(super) fn words_of_row(&self) -> usize {
        self.by_feature.values().map(OfFeature::width).sum()
    }

    /// Words of all tables.
    pub(super) fn words(&self) -> usize {
        let words = |of: &OfFeature<'_>| of.width().saturating_mul(of.lines());
        self.by_feature.values().map(words).fold(0, usize::saturating_add)
    }
}

/// The questions about a feature, each once.
#[derive(Default)]
pub(super) struct OfFeature<'a> {
    indices: HashMap<Question<'a>, u32>,
    questions: Vec<Question<'a>>,
    /// One more than the largest code of any set.
    pub(super) codes: usize,
}

impl<'a> OfFeature<'a> {
    fn index_of(&mut self, question: Question<'a>) -> Result<u32> {
        let next = to_u32(self.questions.len())?;
        match self.indices.entry(question) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(entry) => {
                entry.insert(next);
                let (words, _) = question;
                self.codes = self.codes.max(end_of_set(words)).min(CODES);
                reserve(&mut self.questions, 1)?;
                self.questions.push(question);
                Ok(next)
            }
        }
    }

    /// Words of a line.
    pub(super) fn width(&self) -> usize {
        self.questions.len().div_ceil(32)
    }

    /// One per code, one for what is in no set, one for missing values.
    fn lines(&self) -> usize {
        self.codes + 2
    }

    /// Appends the lines of the table.
    pub(super) fn write(&self, into: &mut Vec<u32>, check_interrupts: &mut dyn FnMut()) {
        let (first, width) = (into.len(), self.width());
        into.resize(first + self.lines() * width, 0);
        let table = &mut into[first..];
        let mut set = |line: usize, question: usize| {
            table[line * width + question / 32] |= 1 << (question % 32);
        };
        for (question, (words, missing_right)) in self.questions.iter().enumerate() {
            if question.is_multiple_of(64) || words.len() >= NODES_PER_CHECK / 32 {
                check_interrupts();
            }
            for (index, word) in words.iter().take(CODES / 32).enumerate() {
                let codes = (0..32).filter(|bit| word >> bit & 1 == 1);
                codes.for_each(|bit| set(32 * index + bit, question));
            }
            if *missing_right {
                set(self.lines() - 1, question);
            }
        }
    }
}
