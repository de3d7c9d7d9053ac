//! The questions that the tiles of a model ask, and the columns that answer them.

use std::collections::HashMap;

use super::{
    CodeTable, Column, ColumnKind, LEAST_SEARCH_LEVELS, MAX_COLUMNS, MAX_RANKS, TABLE_CODES,
    TILE_LEVELS,
};
use crate::Result;
use crate::eval::{monotone_key, number_of_key};
use crate::forest::canonical::{Forest, Node, Tree};
use crate::forest::text::to_u32;
use crate::forest::trees::reserve;

/// What a node asks. Questions are ordered by column, and within it by threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Question {
    feature: u32,
    kind: QuestionKind,
    /// The monotone key of the threshold, or the number of the set.
    operand: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum QuestionKind {
    BelowElseLeft,
    BelowElseRight,
    InSetElseLeft,
    InSetElseRight,
}

impl Question {
    fn is_about_codes(self) -> bool {
        matches!(self.kind, QuestionKind::InSetElseLeft | QuestionKind::InSetElseRight)
    }

    fn missing_goes_right(self) -> bool {
        matches!(self.kind, QuestionKind::BelowElseRight | QuestionKind::InSetElseRight)
    }

    /// Whether one column can answer both, as far as their kinds go.
    fn has_column_of(self, other: Question) -> bool {
        self.feature == other.feature
            && (self.kind == other.kind || self.is_about_codes() && other.is_about_codes())
    }
}

/// The category sets of a forest, each once.
#[derive(Default)]
pub(super) struct Sets<'a> {
    numbers: HashMap<&'a [u32], u32>,
    sets: Vec<&'a [u32]>,
    /// Of each set, its index among the sets of the image.
    pub(super) in_image: Vec<u32>,
}

impl<'a> Sets<'a> {
    /// The sets of a forest, whose trees' sets lie in the image one after another.
    pub(super) fn of(forest: &'a Forest<'a>) -> Result<Self> {
        let mut all = Sets::default();
        let sets = forest.trees().iter().flat_map(|tree| &tree.sets);
        for (index, set) in sets.enumerate() {
            let words = used_words(set);
            let number = to_u32(all.sets.len())?;
            if let std::collections::hash_map::Entry::Vacant(entry) = all.numbers.entry(words) {
                entry.insert(number);
                all.sets.push(words);
                all.in_image.push(to_u32(index)?);
            }
        }
        Ok(all)
    }

    fn words(&self, question: Question) -> &'a [u32] {
        self.sets.get(question.operand as usize).copied().unwrap_or_default()
    }

    /// What a set of an index in the image is called in a question about large sets.
    pub(super) fn large(&self, question: Question) -> u32 {
        let set = self.in_image.get(question.operand as usize).copied().unwrap_or(0);
        2 * set + u32::from(question.missing_goes_right())
    }

    /// The table of a question about codes.
    pub(super) fn table(&self, question: Question) -> CodeTable {
        let mut table = CodeTable([0; 64]);
        let bytes = self.words(question).iter().flat_map(|word| word.to_le_bytes());
        let places = table.0.iter_mut().take(CodeTable::NOT_IN_SET.into());
        places.zip(bytes).for_each(|(place, byte)| *place = byte);
        if let (true, Some(missing)) = (question.missing_goes_right(), table.0.last_mut()) {
            *missing = 0xff;
        }
        table
    }

    fn fits_table(&self, question: Question) -> bool {
        let end = 32 * self.words(question).len() as u32;
        let last = self.words(question).last().map_or(0, |word| word.leading_zeros());
        end.saturating_sub(last) <= TABLE_CODES
    }
}

/// The words up to the last that is not empty.
fn used_words(words: &[u32]) -> &[u32] {
    let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    words.get(..used).unwrap_or_default()
}

/// The question of a node, unless it is a leaf.
pub(super) fn question(tree: &Tree<'_>, id: u32, sets: &Sets<'_>) -> Option<Question> {
    match *tree.nodes().get(id as usize)? {
        Node::Numerical { feature, threshold, default_left, .. } => {
            let kind = if default_left {
                QuestionKind::BelowElseLeft
            } else {
                QuestionKind::BelowElseRight
            };
            Some(Question { feature, kind, operand: monotone_key(threshold) })
        }
        Node::Categorical { feature, set, default_left, .. } => {
            let kind = if default_left {
                QuestionKind::InSetElseLeft
            } else {
                QuestionKind::InSetElseRight
            };
            let words = used_words(tree.sets.get(set as usize)?);
            Some(Question { feature, kind, operand: *sets.numbers.get(words)? })
        }
        Node::Leaf { .. } | Node::Deleted => None,
    }
}

/// The questions that a tree's tile asks, without order, some repeatedly.
pub(super) fn asked(tree: &Tree<'_>, sets: &Sets<'_>, into: &mut Vec<Question>) -> Result<()> {
    reserve(into, tree.nodes().len().min(1 << TILE_LEVELS))?;
    let mut open = vec![(0u32, 0u32)];
    while let Some((id, level)) = open.pop() {
        let Some(question) = question(tree, id, sets) else { continue };
        into.push(question);
        if level + 1 < TILE_LEVELS {
            let children = crate::forest::order::children(tree, id).into_iter().flatten();
            open.extend(children.map(|child| (child, level + 1)));
        }
    }
    Ok(())
}

/// The columns of a forest.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) records: Vec<Column>,
    pub(super) search_trees: Vec<f32>,
    /// All questions, in order.
    questions: Vec<Question>,
    /// Of each column the index of its first question.
    starts: Vec<usize>,
}

impl Columns {
    /// The columns that answer all questions of a forest, or nothing if they are too many.
    pub(super) fn of(
        forest: &Forest<'_>,
        sets: &Sets<'_>,
        check_interrupts: &mut dyn FnMut(),
    ) -> Result<Option<Self>> {
        let mut questions = Vec::new();
        // Repetitions go whenever they may be half of it all.
        let mut dense = 1 << 16;
        for tree in forest.trees() {
            asked(tree, sets, &mut questions)?;
            check_interrupts();
            if questions.len() > 2 * dense {
                sort_dedup(&mut questions);
                dense = dense.max(questions.len());
            }
        }
        sort_dedup(&mut questions);
        let mut columns = Columns::default();
        let same = |a: &Question, b: &Question| a.has_column_of(*b);
        let mut start = 0;
        for run in questions.chunk_by(same) {
            let codes = run.first().is_some_and(|first| first.is_about_codes());
            let most = if codes { run.len() } else { MAX_RANKS };
            for part in run.chunks(most) {
                columns.add(part, start, sets)?;
                start += part.len();
            }
            if columns.records.len() > MAX_COLUMNS {
                return Ok(None);
            }
        }
        columns.questions = questions;
        Ok(Some(columns))
    }

    fn add(&mut self, questions: &[Question], start: usize, sets: &Sets<'_>) -> Result<()> {
        let Some(first) = questions.first() else { return Ok(()) };
        let kind = match (first.is_about_codes(), first.missing_goes_right()) {
            (true, _) if questions.iter().all(|question| sets.fits_table(*question)) => {
                ColumnKind::Codes
            }
            (true, _) => ColumnKind::LargeCodes,
            (false, true) => ColumnKind::RankedRight,
            (false, false) => ColumnKind::RankedLeft,
        };
        let ranked = matches!(kind, ColumnKind::RankedLeft | ColumnKind::RankedRight);
        let tree = if ranked { to_u32(self.search_trees.len())? } else { 0 };
        let levels = if ranked { search_levels(questions.len()) } else { 0 };
        if ranked {
            let thresholds = questions.iter().map(|question| number_of_key(question.operand));
            self.search_trees.extend(search_tree(&thresholds.collect::<Vec<_>>(), levels));
        }
        self.records.push(Column { feature: first.feature, kind: kind as u32, tree, levels });
        self.starts.push(start);
        Ok(())
    }

    /// Which column answers a question, and the rank from which on its answer is right.
    pub(super) fn find(&self, question: Question) -> Option<(usize, u8)> {
        let index = self.questions.binary_search(&question).ok()?;
        let column = self.starts.partition_point(|start| *start <= index).checked_sub(1)?;
        let rank = index - self.starts.get(column)? + 1;
        Some((column, u8::try_from(rank).unwrap_or(u8::MAX)))
    }
}

fn sort_dedup(questions: &mut Vec<Question>) {
    questions.sort_unstable();
    questions.dedup();
}

/// Levels of the search tree over so many thresholds.
fn search_levels(thresholds: usize) -> u32 {
    (usize::BITS - thresholds.leading_zeros()).max(LEAST_SEARCH_LEVELS)
}

/// The thresholds as a perfect search tree, level by level with the root at 1. What it has more
/// places than thresholds is infinity.
fn search_tree(thresholds: &[f32], levels: u32) -> Vec<f32> {
    let mut tree = vec![f32::INFINITY; 1 << levels];
    for level in 0..levels {
        let step = 1usize << (levels - level);
        for path in 0..1usize << level {
            if let Some(place) = tree.get_mut((1 << level) + path) {
                let threshold = thresholds.get(path * step + step / 2 - 1);
                *place = threshold.copied().unwrap_or(f32::INFINITY);
            }
        }
    }
    tree
}
