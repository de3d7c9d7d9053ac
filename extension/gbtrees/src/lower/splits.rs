//! The splits of each tree for explanations.
//!
//! A split precedes those below it, left ones first, and refers to the split above it on the same
//! feature. With target statistics, features are those of [`crate::ensemble::ctr::Ctrs::players`].
//! Splits are at the end of a compiled model, apart from what predictions read, and absent if the file
//! has no covers.

use crate::compiled::records::{
    CATEGORICAL, GroupKind, LEFT_TWO_LEAVES, Leaves, RIGHT_TWO_LEAVES, SplitRecord, TreeSummary,
    WideNode,
};
use crate::compiled::sections::{SPLIT_FEATURES, SPLITS, TREE_SUMMARIES, Writer};
use crate::ensemble::NODES_PER_CHECK;
use crate::limits::to_u32;
use crate::lower::canonical::Forest;
use crate::lower::outcomes::Outcomes;
use crate::lower::points::{Summaries, has_covers};
use crate::lower::trees::Trees;
use crate::memory::filled;
use crate::{Cancel, Result};

/// Lower bound of products of shares.
const LEAST: f32 = 1e-30;

#[derive(Default)]
pub(crate) struct Splits {
    pub(crate) splits: Vec<SplitRecord>,
    /// The features of each tree's splits.
    pub(crate) features: Vec<u32>,
    pub(crate) summaries: Vec<TreeSummary>,
}

impl Splits {
    /// Passes the sections to the writer.
    pub(crate) fn put<'w>(&'w self, writer: &mut Writer<'w>) {
        writer.put(TREE_SUMMARIES, &self.summaries);
        writer.put(SPLIT_FEATURES, &self.features);
        writer.put(SPLITS, &self.splits);
    }

    pub(crate) fn collect(
        forest: &Forest<'_>,
        trees: &Trees,
        outcomes: &Outcomes,
        players: &[u32],
        cancel: Cancel<'_>,
    ) -> Result<Self> {
        let mut all = Splits::default();
        if !has_covers(forest, cancel)? {
            return Ok(all);
        }
        let mut summaries = Summaries::new(players)?;
        let mut paths = Paths::new(players)?;
        all.summaries.try_reserve(forest.trees().len())?;
        for (place, tree) in forest.sources().flat_map(|trees| trees.iter().enumerate()) {
            let summary = TreeSummary {
                first_split: to_u32(all.splits.len())?,
                first_feature: to_u32(all.features.len())?,
                ..summaries.of(tree, cancel)?
            };
            let (kind, mean) = (trees.kind_of(tree), summary.mean);
            let nodes = Nodes { trees, outcomes, kind, place, mean };
            all.splits.try_reserve(summary.splits as usize)?;
            let root = trees.roots[tree.source as usize];
            paths.add(&nodes, root, &mut all.splits, cancel)?;
            all.summaries.push(TreeSummary { features: to_u32(paths.features.len())?, ..summary });
            paths.end(&mut all.features)?;
            cancel.check()?;
        }
        Ok(all)
    }
}

/// A tree's nodes, by index among those of their kind.
struct Nodes<'a> {
    trees: &'a Trees,
    outcomes: &'a Outcomes,
    kind: GroupKind,
    /// The place of the tree's values among those of leaves.
    place: usize,
    mean: f64,
}

impl Nodes<'_> {
    fn wide(&self, node: u32) -> WideNode {
        if self.kind != GroupKind::Compact {
            return self.trees.wide_nodes[node as usize];
        }
        let node = self.trees.compact_nodes[node as usize];
        let (slot, right_offset) = (node.slot.into(), node.right_offset.into());
        WideNode { key: node.key, slot, right_offset, kind: 0 }
    }

    fn share(&self, node: u32) -> f32 {
        let shares = match self.kind {
            GroupKind::Compact => &self.trees.compact_shares,
            GroupKind::Wide | GroupKind::Categorical => &self.trees.wide_shares,
        };
        shares[node as usize]
    }

    /// Returns a leaf's value minus the tree's mean; `None` for a split.
    fn value(&self, node: u32) -> Option<f64> {
        let WideNode { key, right_offset, .. } = self.wide(node);
        let value = match &self.trees.leaf_values[..] {
            [] => f64::from(f32::from_bits(key)),
            _ if right_offset != 0 => 0.0,
            values => values[key as usize + self.place],
        };
        (right_offset == 0).then_some(value - self.mean)
    }

    /// Returns a split without its place among others.
    fn split(&self, node: u32) -> SplitRecord {
        let WideNode { key, slot, kind, .. } = self.wide(node);
        let is_categorical = self.kind == GroupKind::Categorical;
        if is_categorical && let Some(node) = self.outcomes.nodes.get(node as usize) {
            return SplitRecord::new(node.key, node.slot, node.factor);
        }
        let split = SplitRecord::new(key, slot, 1);
        if is_categorical && kind == CATEGORICAL { split.of_set() } else { split }
    }
}

/// State of a walk by feature.
struct Paths<'p> {
    /// Features by what splits test.
    players: &'p [u32],
    /// Places of features among the tree's.
    places: Vec<Option<u32>>,
    /// The tree's features.
    features: Vec<u32>,
    /// Indexed by place.
    on_path: Vec<OnPath>,
    open: Vec<Step>,
}

#[derive(Clone, Copy)]
struct OnPath {
    /// The product of the shares of its splits.
    product: f32,
    /// Its last split and side: see [`SplitRecord::above`].
    above: u32,
}

enum Step {
    /// A node, and the split of which it is the right child, if any.
    Arrive {
        node: u32,
        right_of: Option<usize>,
    },
    Set {
        place: usize,
        to: OnPath,
    },
}

impl<'p> Paths<'p> {
    fn new(players: &'p [u32]) -> Result<Self> {
        let (features, on_path, open) = (Vec::new(), Vec::new(), Vec::new());
        let places = filled(players.len(), None)?;
        Ok(Paths { players, places, features, on_path, open })
    }

    /// Adds the splits of a tree, indexed within it.
    fn add(
        &mut self,
        nodes: &Nodes<'_>,
        root: u32,
        splits: &mut Vec<SplitRecord>,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        let first = splits.len();
        if nodes.wide(root).right_offset != 0 {
            self.open.push(Step::Arrive { node: root, right_of: None });
        }
        while let Some(step) = self.open.pop() {
            let (node, right_of) = match step {
                Step::Arrive { node, right_of } => (node, right_of),
                Step::Set { place, to } => {
                    self.on_path[place] = to;
                    continue;
                }
            };
            let at = splits.len() - first;
            if at.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            if let Some(parent) = right_of {
                splits[first + parent].other = at as u32;
            }
            splits.push(self.split(nodes, node, at));
        }
        set_children(&mut splits[first..]);
        Ok(())
    }

    fn split(&mut self, nodes: &Nodes<'_>, node: u32, at: usize) -> SplitRecord {
        let WideNode { slot, right_offset, .. } = nodes.wide(node);
        let [left, right] = [node + right_offset + 1, node + right_offset];
        let feature = self.players[slot as usize / 2];
        let (share, place) = (nodes.share(node), self.place_of(feature));
        let before = self.on_path[place];
        // In turn: the left side, the right side, and restoring.
        self.open.push(Step::Set { place, to: before });
        let children = [(right, 1.0 - share, Some(at)), (left, share, None)];
        for (side, (node, share, right_of)) in (1u32..).zip(children) {
            if nodes.value(node).is_none() {
                let product = (before.product * share).max(LEAST);
                // The left side is 1, the right one 2.
                let above = 2 * at as u32 + 3 - side;
                self.open.push(Step::Arrive { node, right_of });
                self.open.push(Step::Set { place, to: OnPath { product, above } });
            }
        }
        let (leaves, value, other) = match (nodes.value(left), nodes.value(right)) {
            (None, None) => (Leaves::None, 0.0, 0),
            (Some(value), None) => (Leaves::Left, value, 0),
            (None, Some(value)) => (Leaves::Right, value, 0),
            (Some(left), Some(right)) => {
                let mean = right + f64::from(share) * (left - right);
                (Leaves::Both, left - right, (mean as f32).to_bits())
            }
        };
        let (above, product, value) = (before.above, before.product, value as f32);
        let split = nodes.split(node).on(place as u32, leaves);
        SplitRecord { other, above, share, product, value, ..split }
    }

    fn place_of(&mut self, feature: u32) -> usize {
        let place = &mut self.places[feature as usize];
        *place.get_or_insert_with(|| {
            self.features.push(feature);
            self.on_path.push(OnPath { product: 1.0, above: 0 });
            self.features.len() as u32 - 1
        }) as usize
    }

    /// Appends the tree's features to those of all trees.
    fn end(&mut self, features: &mut Vec<u32>) -> Result<()> {
        features.try_reserve(self.features.len())?;
        features.extend_from_slice(&self.features);
        for feature in self.features.drain(..) {
            self.places[feature as usize] = None;
        }
        self.on_path.clear();
        Ok(())
    }
}

/// Completes a tree's splits with data of those below them.
fn set_children(splits: &mut [SplitRecord]) {
    let count = splits.len() as u32;
    for at in 0..splits.len() {
        let (split, next) = (splits[at], at as u32 + 1);
        let (left, right) = match split.leaves() {
            Leaves::None => (Some(next), Some(split.other)),
            Leaves::Left => (None, Some(next)),
            Leaves::Right => (Some(next), None),
            Leaves::Both => continue,
        };
        let mut split = SplitRecord { other: right.unwrap_or(count), ..split };
        for (child, bit) in [(left, LEFT_TWO_LEAVES), (right, RIGHT_TWO_LEAVES)] {
            if child.is_some_and(|child| splits[child as usize].leaves() == Leaves::Both) {
                split = split.with(bit);
            }
        }
        splits[at] = split;
    }
}
