//! Compiles trees: from nodes by file id to nodes in walking order.
//!
//! Trees that `walked_as_categorical` selects have wide nodes; others have compact nodes if these can
//! hold their links and slots. Successive trees of a kind form the groups of interleaved traversal.
//! The trees that come from one tree of the model share its nodes, and the values of a leaf lie one
//! after another. Equal leaves of a tree share values: those of a classifier's forest are mostly of one
//! class, so that few lines of the cache hold them all.

use std::collections::HashMap;

use bytemuck::cast_slice;
use xxhash_rust::xxh3::xxh3_64;

use crate::compiled::records::{
    CATEGORICAL, CompactNode, Group, GroupKind, LANES, LinearLeaf, LinearTerm, SetSpan, WideNode,
    words_of,
};
use crate::compiled::records::{default_slot, leaf_slot, monotone_key};
use crate::compiled::sections::{
    COMPACT_IDS, COMPACT_NODES, GROUPS, LEAF_VALUES, LEAF_VALUES_SINGLE, LINEAR_LEAVES,
    LINEAR_TERMS, ROOTS, SET_WORDS, SETS, WIDE_IDS, WIDE_NODES, Writer,
};
use crate::ensemble::{NODES_PER_CHECK, Precision};
use crate::limits::to_u32;
use crate::lower::canonical::{Forest, LoweredCondition, LoweredNode, LoweredSplit, LoweredTree};
use crate::lower::order;
use crate::lower::order::Position;
use crate::lower::points::left_share;
use crate::memory::{collect, extend, push, with_capacity};
use crate::{Cancel, Result, ensemble, error};

#[derive(Default)]
pub(crate) struct Trees {
    pub(crate) roots: Vec<u32>,
    pub(crate) groups: Vec<Group>,
    pub(crate) compact_nodes: Vec<CompactNode>,
    pub(crate) compact_ids: Vec<u32>,
    /// The share of rows that went left, per compact node.
    pub(crate) compact_shares: Vec<f32>,
    pub(crate) wide_nodes: Vec<WideNode>,
    pub(crate) wide_ids: Vec<u32>,
    pub(crate) wide_shares: Vec<f32>,
    /// The leaves' values, unless keys are their bits.
    pub(crate) leaf_values: Vec<f64>,
    /// The same, if sums are f32.
    leaf_values_single: Vec<f32>,
    /// The keys of a tree's leaves, by a hash of their values.
    known_leaves: HashMap<u64, u32>,
    /// One per leaf value, if the model has linear leaves.
    pub(crate) linear_leaves: Vec<LinearLeaf>,
    pub(crate) linear_terms: Vec<LinearTerm>,
    pub(crate) sets: Vec<SetSpan>,
    pub(crate) set_words: Vec<u32>,
}

impl Trees {
    /// Passes the sections to the writer.
    pub(crate) fn put<'w>(&'w self, writer: &mut Writer<'w>) {
        writer.put(ROOTS, &self.roots);
        writer.put(GROUPS, &self.groups);
        writer.put(COMPACT_NODES, &self.compact_nodes);
        writer.put(COMPACT_IDS, &self.compact_ids);
        writer.put(WIDE_NODES, &self.wide_nodes);
        writer.put(WIDE_IDS, &self.wide_ids);
        match &self.leaf_values_single[..] {
            [] => writer.put(LEAF_VALUES, &self.leaf_values),
            singles => writer.put(LEAF_VALUES_SINGLE, singles),
        }
        writer.put(LINEAR_LEAVES, &self.linear_leaves);
        writer.put(LINEAR_TERMS, &self.linear_terms);
        writer.put(SETS, &self.sets);
        writer.put(SET_WORDS, &self.set_words);
    }

    /// Returns the kind of a tree's nodes.
    pub(crate) fn kind_of(&self, tree: &LoweredTree<'_>) -> GroupKind {
        let after = self.groups.partition_point(|group| group.first <= tree.source);
        self.groups[after - 1].kind
    }

    /// Returns the words of a set.
    pub(crate) fn words(&self, set: u32) -> &[u32] {
        words_of(&self.sets, &self.set_words, set)
    }

    pub(crate) fn collect(forest: &Forest<'_>, cancel: Cancel<'_>) -> Result<Self> {
        let mut all = Trees::default();
        let categorical = walked_as_categorical(forest, cancel)?;
        for (index, (trees, categorical)) in forest.sources().zip(categorical).enumerate() {
            all.add(trees, categorical, forest, cancel)
                .map_err(|wrong| wrong.at(error::Place::Tree(index)))?;
            cancel.check()?;
        }
        if forest.sum_precision() == Precision::Single {
            all.leaf_values_single = collect(all.leaf_values.iter().map(|value| *value as f32))?;
        }
        Ok(all)
    }

    /// Adds the nodes of trees that come from one of the model.
    fn add(
        &mut self,
        trees: &[LoweredTree<'_>],
        categorical: bool,
        forest: &Forest<'_>,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let nodes = self.compile(trees, forest, cancel)?;
        let first = self.roots.len();
        let kind =
            if categorical { GroupKind::Categorical } else { numerical_kind(&nodes, cancel)? };
        if kind == GroupKind::Compact {
            self.roots.push(to_u32(self.compact_nodes.len())?);
            self.compact_nodes.try_reserve(nodes.len())?;
            self.compact_ids.try_reserve(nodes.len())?;
            self.compact_shares.try_reserve(nodes.len())?;
            for part in nodes.chunks(NODES_PER_CHECK) {
                cancel.check()?;
                self.compact_nodes.extend(part.iter().map(|Compiled { node, .. }| CompactNode {
                    key: node.key,
                    slot: node.slot as u16,
                    right_offset: node.right_offset as u16,
                }));
                self.compact_ids.extend(part.iter().map(|compiled| compiled.id));
                self.compact_shares.extend(part.iter().map(|compiled| compiled.share));
            }
        } else {
            self.roots.push(to_u32(self.wide_nodes.len())?);
            self.wide_nodes.try_reserve(nodes.len())?;
            self.wide_ids.try_reserve(nodes.len())?;
            self.wide_shares.try_reserve(nodes.len())?;
            for part in nodes.chunks(NODES_PER_CHECK) {
                cancel.check()?;
                self.wide_nodes.extend(part.iter().map(|compiled| compiled.node));
                self.wide_ids.extend(part.iter().map(|compiled| compiled.id));
                self.wide_shares.extend(part.iter().map(|compiled| compiled.share));
            }
        }
        self.join_group(to_u32(first)?, trees[0].depth(), kind);
        Ok(())
    }

    /// Adds a tree to the last group, if it is of its kind and has room, or to a new one.
    fn join_group(&mut self, tree: u32, depth: u32, kind: GroupKind) {
        match self.groups.last_mut() {
            Some(group) if group.kind == kind && group.count < LANES as u32 => {
                group.count += 1;
                group.depth = group.depth.max(depth);
            }
            _ => self.groups.push(Group { first: tree, count: 1, depth, kind }),
        }
    }

    /// Returns a leaf's key: the bits of its value, or the index of the first of its values.
    fn leaf_key(&mut self, values: &[f64], forest: &Forest<'_>) -> Result<u32> {
        if let ([value], Precision::Single, false) =
            (values, forest.sum_precision(), forest.has_vectors())
        {
            return Ok((*value as f32).to_bits());
        }
        let next = to_u32(self.leaf_values.len())?;
        if values.len() > 1 && !forest.has_linear_leaves() {
            self.known_leaves.try_reserve(1)?;
            let bytes: &[u8] = cast_slice(values);
            let known = *self.known_leaves.entry(xxh3_64(bytes)).or_insert(next);
            let others = self.leaf_values[known as usize..].get(..values.len());
            if others.is_some_and(|others| cast_slice::<f64, u8>(others) == bytes) {
                return Ok(known);
            }
        }
        extend(&mut self.leaf_values, values.iter().copied())?;
        Ok(next)
    }

    /// Adds the linear model of the leaf whose value was added.
    fn add_linear_leaf(&mut self, value: f64, leaf: Option<&ensemble::LinearLeaf>) -> Result<()> {
        let first = to_u32(self.linear_terms.len())?;
        let terms = leaf.map_or(&[][..], |leaf| &leaf.terms);
        self.linear_terms.try_reserve(terms.len())?;
        self.linear_terms.extend(terms.iter().map(|(feature, coefficient)| LinearTerm {
            coefficient: *coefficient,
            feature: *feature,
            reserved: 0,
        }));
        let constant = leaf.map_or(value, |leaf| leaf.constant);
        push(&mut self.linear_leaves, LinearLeaf { constant, first, terms: to_u32(terms.len())? })?;
        Ok(())
    }

    /// Returns the nodes of trees that share them, in memory order.
    fn compile(
        &mut self,
        trees: &[LoweredTree<'_>],
        forest: &Forest<'_>,
        cancel: Cancel<'_>,
    ) -> Result<Vec<Compiled>> {
        let tree = &trees[0];
        let first_set = to_u32(self.sets.len())?;
        self.sets.try_reserve(tree.sets.len())?;
        for (index, words) in tree.sets.iter().enumerate() {
            if index.is_multiple_of(NODES_PER_CHECK) || words.len() >= NODES_PER_CHECK {
                cancel.check()?;
            }
            let start = to_u32(self.set_words.len())?;
            self.sets.push(SetSpan { start, count: to_u32(words.len())? });
            self.set_words.try_reserve(words.len())?;
            self.set_words.extend_from_slice(words);
        }
        let positions = order::positions(tree, cancel)?;
        let mut compiled: Vec<Compiled> = Vec::new();
        compiled.try_reserve(positions.len())?;
        let slot = to_u32(leaf_slot(forest.num_features()))?;
        let filler = WideNode { key: 0, slot, right_offset: 0, kind: 0 };
        let mut values = with_capacity(trees.len())?;
        self.known_leaves.clear();
        for (at, position) in positions.into_iter().enumerate() {
            if at.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            let Position::Node { id, right } = position else {
                compiled.push(Compiled { node: filler, id: 0, share: 0.0 });
                continue;
            };
            let right_offset = right.saturating_sub(to_u32(at)?);
            let (node, share) = match tree.nodes()[id as usize] {
                LoweredNode::Leaf { .. } => {
                    values.clear();
                    values.extend(trees.iter().filter_map(|tree| tree.leaf_value(id)));
                    let key = self.leaf_key(&values, forest)?;
                    let node = WideNode { key, ..filler };
                    let number = id - tree.first_leaf;
                    if forest.has_linear_leaves() {
                        for value in &values {
                            self.add_linear_leaf(*value, forest.linear_leaf(tree, number))?;
                        }
                    }
                    compiled.push(Compiled { node, id: number, share: 0.0 });
                    continue;
                }
                LoweredNode::Split(LoweredSplit {
                    feature,
                    condition,
                    default_left,
                    left,
                    right,
                    cover,
                }) => {
                    let slot = to_u32(default_slot(feature as usize, default_left))?;
                    let share = left_share(tree, cover, [left, right]) as f32;
                    let (key, kind) = match condition {
                        LoweredCondition::Below(threshold) => (monotone_key(threshold), 0),
                        LoweredCondition::InSet(set) => (first_set + set, CATEGORICAL),
                    };
                    (WideNode { key, slot, right_offset, kind }, share)
                }
                LoweredNode::Deleted => {
                    bail!(TreeShape, "node in use is a deleted one");
                }
            };
            compiled.push(Compiled { node, id, share });
        }
        Ok(compiled)
    }
}

/// A node in memory order.
struct Compiled {
    node: WideNode,
    /// Id in the file.
    id: u32,
    /// Share of its rows that went left, for a split.
    share: f32,
}

/// Returns the kind of a tree with only numerical splits.
fn numerical_kind(nodes: &[Compiled], cancel: Cancel<'_>) -> Result<GroupKind> {
    let fits = |number: u32| u16::try_from(number).is_ok();
    let compact = cancel.all(nodes.chunks(NODES_PER_CHECK), |part| {
        part.iter().all(|Compiled { node, .. }| fits(node.slot) && fits(node.right_offset))
    })?;
    Ok(if compact { GroupKind::Compact } else { GroupKind::Wide })
}

/// Returns which trees of the model are walked like categorical ones.
pub(crate) fn walked_as_categorical(forest: &Forest<'_>, cancel: Cancel<'_>) -> Result<Vec<bool>> {
    let trees = forest.sources().map(|trees| has_categorical_split(&trees[0], cancel));
    let mut categorical = trees.collect::<Result<Vec<bool>>>()?;
    if categorical.contains(&true) {
        for run in categorical.chunk_by_mut(|a, b| a == b) {
            if run.len() < LANES {
                run.fill(true);
            }
        }
    }
    Ok(categorical)
}

fn has_categorical_split(tree: &LoweredTree<'_>, cancel: Cancel<'_>) -> Result<bool> {
    let numerical = cancel.all(tree.nodes().chunks(NODES_PER_CHECK), |part| {
        !part.iter().any(|node| {
            matches!(
                node,
                LoweredNode::Split(LoweredSplit { condition: LoweredCondition::InSet(_), .. })
            )
        })
    })?;
    Ok(!numerical)
}
