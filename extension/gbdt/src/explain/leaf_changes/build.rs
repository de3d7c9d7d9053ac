//! Makes the entries of leaves.

use super::{Changes, LeafChanges};
use crate::eval::interleaved::NodeSections;
use crate::eval::row_keys::RowKeys;
use crate::explain::nodes::{Explained, Step, Visit, each_tree};
use crate::explain::tables::{Line, WIDTH};
use crate::forest::records::{GroupKind, InterleavedNode};
use crate::forest::sections::{CODINGS, GROUPS, LEAF_NUMBERS, ROOTS, Sections, TILE_GROUPS};
use crate::forest::tiles::{TILE_LEVELS, TileForm, TileGroup};
use crate::model::NODES_PER_CHECK;

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
        let Build { mut all, is_full, check_interrupts, .. } = build;
        if let Changes::Lists(_, changes) = &mut all.changes {
            changes.shrink_to_fit();
        }
        if is_full {
            return None;
        }
        all.order_by_tiles(image, max_bytes - bytes, check_interrupts);
        Some(all)
    }

    /// Puts lines into the order of tiles' leaves, if tiles hold all trees and there are so many bytes.
    fn order_by_tiles(
        &mut self,
        image: Sections<'_>,
        max_bytes: usize,
        check_interrupts: &mut dyn FnMut(),
    ) {
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
            check_interrupts();
            for tree in group.first..group.first + group.count {
                let tree = tree as usize;
                tiles[tree] = ordered.len() as u32;
                let (root, numbers) = (roots[tree], leaf_numbers(image, index, tree));
                let (first, ends) = match kinds[tree] {
                    GroupKind::Compact => (0, ends(nodes.compact, root, group, numbers)),
                    GroupKind::Wide | GroupKind::Categorical => {
                        (self.first_wide, ends(nodes.wide, root, group, numbers))
                    }
                };
                for end in ends {
                    let place = first + end;
                    entries[place] = ordered.len() as u32;
                    ordered.push(lines[self.entries[place] as usize]);
                }
            }
        }
        self.changes = Changes::Lines(ordered);
        (self.tiles, self.entries) = (tiles, entries);
    }
}

/// Leaves, each with its path, between two looks for interrupts.
const LEAVES_PER_CHECK: usize = 1 << 10;

/// By code the number of the leaf that it means, of a tree of a group by their indices; nothing if the group is
/// not recoded.
fn leaf_numbers(image: Sections<'_>, group: usize, tree: usize) -> &[u16] {
    let own = &image.get(TILE_GROUPS)[group];
    if own.form != TileForm::Coded {
        return &[];
    }
    let lane = tree - own.first as usize;
    let first = image.get(CODINGS)[group].leaf_numbers as usize + (lane << own.levels);
    &image.get(LEAF_NUMBERS)[first..first + (1 << own.levels)]
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
    leaf_numbers.iter().map(|number| leaves[usize::from(*number)]).collect()
}

/// The leaves of a tree from left to right.
fn leaves_in_order<N: InterleavedNode>(nodes: &[N], root: u32) -> Vec<usize> {
    let mut leaves = Vec::new();
    let mut open = vec![root as usize];
    while let Some(at) = open.pop() {
        match nodes[at].right_offset() {
            0 => leaves.push(at),
            offset => open.extend([at + offset as usize, at + offset as usize + 1]),
        }
    }
    leaves
}

/// The node at the end of a path of so many steps, the first in the highest bit, 1 for right.
fn end<N: InterleavedNode>(nodes: &[N], root: u32, levels: u32, path: usize) -> usize {
    let mut at = root as usize;
    for level in (0..levels).rev() {
        match nodes[at].right_offset() {
            0 => break,
            offset => at += offset as usize + usize::from(path >> level & 1 == 0),
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
        let mean = self.mean(tree, tree.root());
        self.leaves(tree, tree.root());
        self.all.means[output] += mean;
        self.all.trees[output].push(tree_number);
        (self.check_interrupts)();
    }
}

impl Build<'_> {
    /// The mean of the leaves below a node, which is kept.
    fn mean(&mut self, tree: &impl Explained, node: usize) -> f64 {
        let mean = match tree.step(node) {
            Step::Leaf(value) => value,
            Step::Split { children: [left, right], .. } => {
                left.share * self.mean(tree, left.node) + right.share * self.mean(tree, right.node)
            }
        };
        let place = tree.place(node);
        self.node_means[place] = mean;
        // Each node is visited once.
        if place.is_multiple_of(NODES_PER_CHECK) {
            (self.check_interrupts)();
        }
        mean
    }

    fn leaves(&mut self, tree: &impl Explained, node: usize) {
        match tree.step(node) {
            Step::Leaf(_) => self.leaf(tree.place(node)),
            Step::Split { feature, children } => {
                for child in children {
                    let mean = |node| self.node_means[tree.place(node)];
                    let change = mean(child.node) - mean(node);
                    self.path.push((feature as u32, change));
                    self.leaves(tree, child.node);
                    self.path.pop();
                }
            }
        }
    }

    /// Makes the entry of a leaf.
    fn leaf(&mut self, place: usize) {
        if place.is_multiple_of(LEAVES_PER_CHECK) {
            (self.check_interrupts)();
        }
        for (feature, change) in &self.path {
            self.sums[*feature as usize] += change;
        }
        let sums = &mut self.sums;
        let summed = self.path.iter().filter_map(|(feature, _)| {
            let sum = std::mem::take(&mut sums[*feature as usize]);
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
        self.all.entries[place] = number as u32;
    }
}
