//! Makes the entries of leaves.

use super::{Changes, LeafChanges};
use crate::eval::interleaved::NodeSections;
use crate::eval::row_keys::RowKeys;
use crate::explain::nodes::{Explained, Step, Visit, each_tree};
use crate::explain::tables::{Line, WIDTH};
use crate::forest::records::{GroupKind, InterleavedNode};
use crate::forest::sections::{CODINGS, GROUPS, LEAF_NUMBERS, ROOTS, Sections, TILE_GROUPS};
use crate::forest::tiles::{MAX_LEAVES, TILE_LEVELS, TileForm, TileGroup};

impl LeafChanges {
    /// Those of an image of so many features and outputs; None if they would take more bytes.
    pub(in crate::explain) fn build(
        image: Sections<'_>,
        [num_features, num_outputs]: [usize; 2],
        max_bytes: usize,
        check_interrupts: &mut dyn FnMut(),
    ) -> Option<Self> {
        let nodes = NodeSections::of(image);
        let (num_nodes, leaves) =
            (nodes.compact.len() + nodes.wide.len(), leaves(nodes.compact) + leaves(nodes.wide));
        // Means are there meanwhile.
        let mut bytes = num_nodes * (size_of::<u32>() + size_of::<f64>());
        let changes = if num_features <= WIDTH {
            bytes += (leaves + 1) * size_of::<Line>();
            Changes::Lines(vec![Line([0.0; WIDTH])])
        } else {
            bytes += (leaves + 2) * size_of::<u32>();
            Changes::Lists(vec![0, 0], Vec::new())
        };
        let mut build = Build {
            all: LeafChanges {
                entries: Vec::new(),
                first_wide: nodes.compact.len(),
                changes,
                tiles: Vec::new(),
                trees: vec![Vec::new(); num_outputs],
                means: vec![0.0; num_outputs],
            },
            max_changes: max_bytes.checked_sub(bytes)? / size_of::<(u32, f32)>(),
            is_full: false,
            node_means: vec![0.0; num_nodes],
            path: Vec::new(),
            sums: vec![0.0; num_features],
            num_trees: 0,
            check_interrupts,
        };
        build.all.entries.resize(num_nodes, 0);
        match &mut build.all.changes {
            Changes::Lines(lines) => lines.reserve_exact(leaves),
            Changes::Lists(starts, _) => starts.reserve_exact(leaves),
        }
        each_tree(image, &RowKeys::new(num_features), &[], &mut build);
        let Build { mut all, is_full, .. } = build;
        if let Changes::Lists(_, changes) = &mut all.changes {
            changes.shrink_to_fit();
        }
        if is_full {
            return None;
        }
        all.order_by_tiles(image, max_bytes - bytes);
        Some(all)
    }

    /// Puts lines into the order of tiles' leaves, if tiles hold all trees and there are so many bytes.
    fn order_by_tiles(&mut self, image: Sections<'_>, max_bytes: usize) {
        let Changes::Lines(lines) = &self.changes else { return };
        let (groups, roots) = (image.get(TILE_GROUPS), image.get(ROOTS));
        let leaves: usize = groups.iter().map(|group| (group.count as usize) << group.levels).sum();
        let bytes = (leaves + 1).saturating_mul(size_of::<Line>());
        let whole = groups.iter().all(|group| group.below == 0 && group.levels <= TILE_LEVELS);
        if !whole || leaves == 0 || bytes > max_bytes {
            return;
        }
        let nodes = NodeSections::of(image);
        let kinds: Vec<GroupKind> = image
            .get(GROUPS)
            .iter()
            .flat_map(|group| std::iter::repeat_n(group.kind, group.count as usize))
            .collect();
        let mut ordered = Vec::with_capacity(leaves + 1);
        ordered.push(Line([0.0; WIDTH]));
        let mut tiles = vec![0; roots.len()];
        // Several paths may lead to one leaf, all of one tree.
        let mut entries = vec![0; self.entries.len()];
        for (index, group) in groups.iter().enumerate() {
            for tree in group.first..group.first + group.count {
                let tree = tree as usize;
                let (Some(root), Some(kind)) = (roots.get(tree), kinds.get(tree)) else { return };
                let Some(tile) = tiles.get_mut(tree) else { return };
                *tile = ordered.len() as u32;
                let codes = leaf_numbers(image, index, tree);
                for end in match kind {
                    GroupKind::Compact => ends(nodes.compact, *root, group, codes),
                    GroupKind::Wide | GroupKind::Categorical => {
                        ends(nodes.wide, *root, group, codes)
                    }
                } {
                    let wide = !matches!(kind, GroupKind::Compact);
                    let place = end + if wide { self.first_wide } else { 0 };
                    let entry = self.entries.get(place).copied().unwrap_or(0);
                    if let Some(new) = entries.get_mut(place) {
                        *new = ordered.len() as u32;
                    }
                    ordered.push(lines.get(entry as usize).copied().unwrap_or(Line([0.0; WIDTH])));
                }
            }
        }
        self.changes = Changes::Lines(ordered);
        (self.tiles, self.entries) = (tiles, entries);
    }
}

/// By code the number of the leaf that it means, of a tree of a group by their indices; nothing if the group is
/// not recoded.
fn leaf_numbers(image: Sections<'_>, group: usize, tree: usize) -> &[u16] {
    let (groups, codings) = (image.get(TILE_GROUPS), image.get(CODINGS));
    let Some((group, coding)) = groups.get(group).zip(codings.get(group)) else { return &[] };
    let lane = tree.saturating_sub(group.first as usize);
    let first = coding.leaf_numbers as usize + (lane << group.levels);
    image.get(LEAF_NUMBERS).get(first..first + (1 << group.levels)).unwrap_or_default()
}

/// By path through the tile of a tree the node at its end.
fn ends<N: InterleavedNode>(
    nodes: &[N],
    root: u32,
    group: &TileGroup,
    leaf_numbers: &[u16],
) -> Vec<usize> {
    if group.form != TileForm::Coded {
        return (0..1 << group.levels).map(|path| end(nodes, root, group.levels, path)).collect();
    }
    let leaves = leaves_in_order(nodes, root);
    let leaf = |number: &u16| leaves.get(usize::from(*number)).copied().unwrap_or(0);
    leaf_numbers.iter().map(leaf).collect()
}

/// The leaves of a tree from left to right, as many as codes may mean. A damaged image may lead to a node
/// twice, and to more.
fn leaves_in_order<N: InterleavedNode>(nodes: &[N], root: u32) -> Vec<usize> {
    let (mut leaves, mut splits) = (Vec::new(), 0);
    let mut open = vec![root as usize];
    while let Some(at) = open.pop() {
        match nodes.get(at).map(InterleavedNode::right_offset) {
            None | Some(0) => leaves.push(at),
            Some(_) if splits >= MAX_LEAVES => break,
            Some(offset) => {
                splits += 1;
                let right = at + offset as usize;
                open.extend([right, right + 1]);
            }
        }
    }
    leaves
}

/// The node at the end of a path of so many steps, the first in the highest bit, 1 for right.
fn end<N: InterleavedNode>(nodes: &[N], root: u32, levels: u32, path: usize) -> usize {
    let mut at = root as usize;
    for level in (0..levels).rev() {
        match nodes.get(at).map(InterleavedNode::right_offset) {
            None | Some(0) => break,
            Some(offset) => at += offset as usize + usize::from(path >> level & 1 == 0),
        }
    }
    at
}

fn leaves<N: InterleavedNode>(nodes: &[N]) -> usize {
    nodes.iter().filter(|node| node.right_offset() == 0).count()
}

struct Build<'a> {
    all: LeafChanges,
    max_changes: usize,
    is_full: bool,
    node_means: Vec<f64>,
    /// The features of the splits above a node, with what each side changed.
    path: Vec<(u32, f64)>,
    /// Per feature; zeros between two leaves.
    sums: Vec<f64>,
    num_trees: u32,
    check_interrupts: &'a mut dyn FnMut(),
}

impl Visit for Build<'_> {
    fn tree(&mut self, tree: &impl Explained, output: usize) {
        let tree_number = self.num_trees;
        self.num_trees += 1;
        if self.is_full {
            return;
        }
        let mean = self.mean(tree, tree.root(), tree.depth(), &mut tree.num_nodes());
        self.leaves(tree, tree.root(), tree.depth(), &mut tree.num_nodes());
        if let Some(sum) = self.all.means.get_mut(output) {
            *sum += mean;
        }
        if let Some(trees) = self.all.trees.get_mut(output) {
            trees.push(tree_number);
        }
        (self.check_interrupts)();
    }
}

impl Build<'_> {
    /// The mean of the leaves below a node, which is kept. A damaged image may lead to a node twice, and
    /// never to more than there are.
    fn mean(
        &mut self,
        tree: &impl Explained,
        node: usize,
        depth: u32,
        nodes_left: &mut usize,
    ) -> f64 {
        let mean = match tree.step(node) {
            Step::Leaf(value) => value,
            Step::Split { .. } if depth == 0 || *nodes_left == 0 => 0.0,
            Step::Split { children: [left, right], .. } => {
                *nodes_left -= 1;
                left.share * self.mean(tree, left.node, depth - 1, nodes_left)
                    + right.share * self.mean(tree, right.node, depth - 1, nodes_left)
            }
        };
        if let Some(known) = self.node_means.get_mut(tree.place(node)) {
            *known = mean;
        }
        mean
    }

    fn leaves(&mut self, tree: &impl Explained, node: usize, depth: u32, nodes_left: &mut usize) {
        match tree.step(node) {
            Step::Leaf(_) => self.leaf(tree.place(node)),
            Step::Split { .. } if depth == 0 || *nodes_left == 0 => {}
            Step::Split { feature, children } => {
                *nodes_left -= 1;
                for child in children {
                    let mean = |node| self.node_means.get(node).copied().unwrap_or(0.0);
                    let change = mean(tree.place(child.node)) - mean(tree.place(node));
                    self.path.push((feature as u32, change));
                    self.leaves(tree, child.node, depth - 1, nodes_left);
                    self.path.pop();
                }
            }
        }
    }

    /// Makes the entry of a leaf.
    fn leaf(&mut self, place: usize) {
        for (feature, change) in &self.path {
            if let Some(sum) = self.sums.get_mut(*feature as usize) {
                *sum += change;
            }
        }
        let sums = &mut self.sums;
        let summed = self.path.iter().filter_map(|(feature, _)| {
            let sum = std::mem::take(sums.get_mut(*feature as usize)?);
            (sum != 0.0).then_some((*feature, sum as f32))
        });
        let number = match &mut self.all.changes {
            Changes::Lines(lines) => {
                let mut line = Line([0.0; WIDTH]);
                for (feature, sum) in summed {
                    line.0[feature as usize % WIDTH] = sum;
                }
                lines.push(line);
                lines.len() - 1
            }
            Changes::Lists(starts, changes) => {
                changes.extend(summed);
                self.is_full |= changes.len() > self.max_changes;
                starts.push(changes.len() as u32);
                starts.len() - 2
            }
        };
        if let Some(entry) = self.all.entries.get_mut(place) {
            *entry = number as u32;
        }
    }
}
