//! The outcomes of categorical splits, looked up once per row.
//!
//! A processor cannot predict whether a step will read a key or a set. So each feature with categorical
//! splits has a table with, for every code, the outcomes of all its splits, a bit each, 1 for right. A
//! row copies its code's line to slots after its keys, and an [`OutcomeNode`] finds its bit there with
//! the arithmetic of a key's comparison. Splits with the same condition share a bit. Models whose
//! tables would be too large, or lines too long for the gain, have no outcomes; their walks read sets.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use crate::compiled::records::leaf_slot;
use crate::compiled::records::{CATEGORICAL, OutcomeNode, OutcomeTable, WideNode};
use crate::compiled::sections::{OUTCOME_NODES, OUTCOME_TABLES, OUTCOMES, Writer};
use crate::ensemble::{CODES, NODES_PER_CHECK, end_of_set};
use crate::limits::to_u32;
use crate::lower::tiles::conditions::used_words;
use crate::lower::trees::Trees;
use crate::memory::push;
use crate::verified::sure;
use crate::{Cancel, Result};

/// Words of all tables allowed for any model.
const MAX_WORDS: usize = 4096;
/// Further words allowed per wide node, which itself has four.
const MAX_WORDS_PER_NODE: usize = 16;
/// Maximum words of a row's outcomes per step of its walk: copying them is faster than one
/// misprediction.
const MAX_WORDS_PER_STEP: usize = 16;

#[derive(Default)]
pub(crate) struct Outcomes {
    pub(crate) tables: Vec<OutcomeTable>,
    pub(crate) words: Vec<u32>,
    /// One per wide node, or empty.
    pub(crate) nodes: Vec<OutcomeNode>,
}

impl Outcomes {
    /// Passes the sections to the writer.
    pub(crate) fn put<'w>(&'w self, writer: &mut Writer<'w>) {
        writer.put(OUTCOME_TABLES, &self.tables);
        writer.put(OUTCOMES, &self.words);
        writer.put(OUTCOME_NODES, &self.nodes);
    }

    /// Creates the outcomes of trees that a row walks in `steps` steps.
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
        self.words.try_reserve(conditions.words())?;
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
        self.nodes.try_reserve(nodes.len())?;
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
                // Shifts the bit to the top, where it alone decides whether the word is below the key.
                OutcomeNode { key: 1 << 31, slot, right_offset, factor: 1 << (31 - bit % 32) }
            }));
        }
        Ok(())
    }
}

/// Returns whether tables are small compared to nodes, and lines short compared to walks.
fn pay(conditions: &CategoricalConditions<'_>, num_nodes: usize, steps: u64) -> bool {
    let most = MAX_WORDS_PER_NODE.saturating_mul(num_nodes).saturating_add(MAX_WORDS);
    conditions.words() <= most
        && conditions.words_of_row() as u64 <= steps.saturating_mul(MAX_WORDS_PER_STEP as u64)
}

/// A categorical split's condition: its set, and whether missing values go right.
pub(crate) type CategoricalCondition<'a> = (&'a [u32], bool);

#[derive(Default)]
pub(crate) struct CategoricalConditions<'a> {
    pub(crate) by_feature: BTreeMap<u32, OfFeature<'a>>,
    /// Each categorical split's condition among its feature's, in node order.
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
        // The odd slot is the one in which missing values are above all thresholds.
        let missing_right = !node.slot.is_multiple_of(2);
        let of_feature = self.by_feature.entry(node.slot / 2).or_default();
        push(&mut self.of_nodes, of_feature.index_of((words, missing_right))?)?;
        Ok(())
    }

    /// Returns the words of a row's outcomes.
    pub(crate) fn words_of_row(&self) -> usize {
        self.by_feature.values().map(OfFeature::width).sum()
    }

    /// Returns the words of all tables.
    pub(crate) fn words(&self) -> usize {
        let words = |of: &OfFeature<'_>| of.width().saturating_mul(of.lines());
        self.by_feature.values().map(words).fold(0, usize::saturating_add)
    }
}

/// The distinct conditions on a feature.
#[derive(Default)]
pub(crate) struct OfFeature<'a> {
    indices: HashMap<CategoricalCondition<'a>, u32>,
    conditions: Vec<CategoricalCondition<'a>>,
    /// The largest code in any set plus one.
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
                push(&mut self.conditions, condition)?;
                Ok(next)
            }
        }
    }

    /// Returns the words of a line.
    pub(crate) fn width(&self) -> usize {
        self.conditions.len().div_ceil(32)
    }

    /// Returns the number of lines: one per code, for values in no set, and for missing values.
    fn lines(&self) -> usize {
        self.codes + 2
    }

    /// Appends the table's lines.
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

#[cfg(test)]
mod tests {
    // Walks read outcomes, wrong tables are refused, and tables with too many codes are not created.
    use crate::Cancel;
    use crate::compiled::CompiledModel;
    use crate::compiled::aligned::AlignedBytes;
    use crate::compiled::records::{GroupKind, LANES, OutcomeNode, OutcomeTable};
    use crate::compiled::sections::{
        GROUPS, Header, OUTCOME_NODES, OUTCOME_TABLES, OUTCOMES, SETS, seal,
    };
    use crate::compiled::tests::tampered;
    use crate::ensemble::{Ensemble, Node, Split, SplitCondition, Tree};
    use crate::eval::Scratch;
    use crate::lower::compile;
    use crate::random::{Shape, model, narrowed, rows};

    fn categorical_model(seed: u64, trees: usize) -> Ensemble {
        model(seed, Shape { categorical: 1, ..Shape::of(5, 1, trees, 6) })
    }

    fn compiled(model: &Ensemble) -> AlignedBytes {
        compile(model, &[], Cancel::never()).unwrap()
    }

    #[test]
    fn walks_read_outcomes() {
        let model = categorical_model(3, 20);
        let right = CompiledModel::open(compiled(&model)).unwrap();
        let wrong =
            tampered(compiled(&model), OUTCOMES, |words| words.iter_mut().for_each(|w| *w = !*w));
        let wrong = CompiledModel::open(wrong).unwrap();
        let mut differ = 0;
        for row in narrowed(&right, &rows(4, &model, 50)) {
            let (mut leaves, mut others) = ([0; 20], [0; 20]);
            right.leaves(&mut Scratch::new(&right), &row, &mut leaves).unwrap();
            wrong.leaves(&mut Scratch::new(&wrong), &row, &mut others).unwrap();
            differ += usize::from(leaves != others);
        }
        assert!(differ > 40, "{differ}");
    }

    #[test]
    fn outcomes_in_wrong_places_are_refused() {
        let model = categorical_model(5, 20);
        let refused = |compiled| CompiledModel::open(compiled).is_err();
        let table = |change: fn(&mut OutcomeTable)| {
            tampered(compiled(&model), OUTCOME_TABLES, |tables| change(tables.last_mut().unwrap()))
        };
        assert!(!refused(table(|_| ())));
        let wrong: [fn(&mut OutcomeTable); 8] = [
            |table| table.feature = 5,
            |table| table.codes += 1,
            |table| table.codes = u32::MAX,
            |table| table.first -= 1,
            |table| table.slot += 1,
            |table| table.slot = 0,
            |table| table.width += 1,
            |table| (table.codes, table.width) = (u32::MAX, u32::MAX),
        ];
        for (index, change) in wrong.into_iter().enumerate() {
            assert!(refused(table(change)), "change {index}");
        }
        let last =
            CompiledModel::open(compiled(&model)).unwrap().sections().outcome_slots().unwrap() - 1;
        let node = |is_leaf: bool, change: &dyn Fn(&mut OutcomeNode)| {
            tampered(compiled(&model), OUTCOME_NODES, |nodes| {
                let of_kind =
                    |node: &&mut OutcomeNode| (node.right_offset == 0) == is_leaf && node.key > 0;
                change(nodes.iter_mut().find(of_kind).unwrap());
            })
        };
        assert!(!refused(node(false, &|node| node.slot = last as u32)));
        assert!(refused(node(false, &|node| node.slot = last as u32 + 1)));
        assert!(refused(node(true, &|node| node.factor = 0)));
        assert!(refused(node(true, &|node| node.slot = last as u32)));
        let nodes = |compiled: &mut AlignedBytes, section: usize| {
            let mut header: Header = *bytemuck::from_bytes(&compiled[..size_of::<Header>()]);
            header.sections[section].length = 0;
            compiled.bytes_mut()[..size_of::<Header>()]
                .copy_from_slice(bytemuck::bytes_of(&header));
            seal(compiled.bytes_mut());
        };
        for section in [OUTCOME_NODES.index, OUTCOMES.index, OUTCOME_TABLES.index] {
            let mut compiled = compiled(&model);
            nodes(&mut compiled, section);
            assert!(refused(compiled), "section {section}");
        }
    }

    #[test]
    fn one_set_of_many_codes_leaves_an_image_without_outcomes() {
        let mut model = categorical_model(7, 3);
        let has = |model: &Ensemble| {
            let compiled = CompiledModel::open(compiled(model)).unwrap();
            assert!(!compiled.sections().get(SETS).is_empty());
            compiled.sections().outcome_slots().is_some()
        };
        assert!(has(&model));
        model.trees[0].category_sets[0].words = vec![1 << 31; 1 << 18];
        assert!(!has(&model));
    }

    #[test]
    fn short_runs_of_other_trees_are_walked_with_categorical_ones() {
        let is_categorical = |node: &Node| {
            matches!(node, Node::Split(Split { condition: SplitCondition::InSet { .. }, .. }))
        };
        let mut with_sets = categorical_model(9, 20).trees.into_iter();
        let mut with_sets = with_sets.by_ref().filter(|tree| tree.nodes.iter().any(is_categorical));
        let mut model = model(9, Shape::of(5, 1, 2 + 2 * LANES, 4));
        let kinds = |model: &Ensemble| {
            let compiled = CompiledModel::open(compiled(model)).unwrap();
            let groups = compiled.sections().get(GROUPS);
            groups.iter().map(|group| (group.kind, group.count as usize)).collect::<Vec<_>>()
        };
        assert!(kinds(&model).iter().all(|(kind, _)| *kind == GroupKind::Compact));
        let mut replace = |model: &mut Ensemble, tree: usize| {
            let own: &mut Tree = &mut model.trees[tree];
            *own = with_sets.next().unwrap();
        };
        // Expected: 3 trees, a categorical one, 15, a categorical one, 14; then the 15 and 14 form a
        // run of 30.
        replace(&mut model, 3);
        replace(&mut model, 19);
        let all = [(GroupKind::Categorical, LANES), (GroupKind::Categorical, LANES)];
        assert_eq!(kinds(&model), [&all[..], &[(GroupKind::Categorical, 2)]].concat());
        model.trees.swap(19, 2);
        let compact = [(GroupKind::Compact, LANES), (GroupKind::Compact, 14)];
        assert_eq!(kinds(&model), [&[(GroupKind::Categorical, 4)], &compact[..]].concat());
    }
}
