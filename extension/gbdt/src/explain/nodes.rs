//! The trees of an image as explanations walk them: node by node, both sides of every split.

use crate::eval::interleaved::{Decide, Keys, KeysAndSets, NodeSections};
use crate::eval::row_keys::RowKeys;
use crate::forest::records::{Group, GroupKind, InterleavedNode};
use crate::forest::sections::{
    COMPACT_COVERS, GROUPS, LEAF_VALUES, OUTPUTS, ROOTS, Sections, WIDE_COVERS,
};

use super::share;
use crate::verified;

/// A tree of an image and a row's decisions in it.
pub(super) struct TreeNodes<'a, N, D> {
    nodes: &'a [N],
    /// How many nodes of the other kind come before these.
    first: usize,
    covers: &'a [f32],
    decide: &'a D,
    leaf_values: &'a [f64],
    root: usize,
    /// Of the deepest tree of its group.
    depth: u32,
}

/// What a node is.
pub(super) enum Step {
    Leaf(f64),
    Split {
        feature: usize,
        /// The left child, then the right one.
        children: [Child; 2],
    },
}

#[derive(Clone, Copy)]
pub(super) struct Child {
    pub(super) node: usize,
    /// Of the rows of the split.
    pub(super) share: f64,
    /// Whether the row goes there.
    pub(super) taken: bool,
}

/// A tree and a row's decisions in it, however its nodes lie.
pub(super) trait Explained {
    /// What is at a node of the tree.
    fn step(&self, node: usize) -> Step;

    /// Where a node is among all nodes of the image, compact ones first; or of the tree if it is a copy.
    fn place(&self, node: usize) -> usize;

    fn root(&self) -> usize;

    /// No path has more splits.
    fn depth(&self) -> u32;
}

impl<N: InterleavedNode, D: Decide<N>> Explained for TreeNodes<'_, N, D> {
    #[inline(always)]
    #[allow(unsafe_code, reason = "decides as evaluation does")]
    fn step(&self, node: usize) -> Step {
        // SAFETY: `forest::verify` found roots and both children of every split to be nodes.
        let record = unsafe { verified::at(self.nodes, node, "links lead to nodes") };
        if record.right_offset() == 0 {
            let key = record.key();
            return Step::Leaf(match self.leaf_values {
                [] => f64::from(f32::from_bits(key)),
                values => values[key as usize],
            });
        }
        // SAFETY: the node is one of the image that the keys were set for, whose slots `forest::verify`
        // has found to be a feature's; there is one lane.
        let left = unsafe { self.decide.left(record, 0) };
        // SAFETY: as above, and one cover per node, if there are any, as `ContributionScratch::new` asks.
        let cover = |node| unsafe { *verified::at(self.covers, node, "a node has a cover") };
        let (right_node, parent) = (node + record.right_offset() as usize, cover(node));
        let child = |node, taken| Child { node, share: share(cover(node), parent), taken };
        let children = [child(right_node + 1, left), child(right_node, !left)];
        Step::Split { feature: record.slot() / 2, children }
    }

    fn place(&self, node: usize) -> usize {
        self.first + node
    }

    fn root(&self) -> usize {
        self.root
    }

    fn depth(&self) -> u32 {
        self.depth
    }
}

/// What is done with each tree.
pub(super) trait Visit {
    /// A tree, and the output that it adds to.
    fn tree(&mut self, tree: &impl Explained, output: usize);
}

/// Shows every tree in order, with the decisions of a row that the keys have been set to.
pub(super) fn each_tree(
    image: Sections<'_>,
    keys: &RowKeys,
    features: &[f32],
    visit: &mut impl Visit,
) {
    let nodes = NodeSections::of(image);
    let (roots, outputs) = (image.get(ROOTS), image.get(OUTPUTS));
    let leaf_values = image.get(LEAF_VALUES);
    let keys = Keys { keys: keys.as_slice(), width: 0 };
    let num_features = keys.keys.len() / 2;
    let with_sets = KeysAndSets { keys, features, num_features, nodes: &nodes };
    for &Group { first, count, depth, kind } in image.get(GROUPS) {
        let trees = first as usize..(first + count) as usize;
        for (root, output) in roots[trees.clone()].iter().zip(&outputs[trees]) {
            let (root, output) = (*root as usize, *output as usize);
            macro_rules! show {
                ($nodes:expr, $first:expr, $covers:expr, $decide:expr) => {
                    visit.tree(
                        &TreeNodes {
                            nodes: $nodes,
                            first: $first,
                            covers: image.get($covers),
                            decide: $decide,
                            leaf_values,
                            root,
                            depth,
                        },
                        output,
                    )
                };
            }
            match kind {
                GroupKind::Compact => show!(nodes.compact, 0, COMPACT_COVERS, &keys),
                GroupKind::Wide => show!(nodes.wide, nodes.compact.len(), WIDE_COVERS, &keys),
                GroupKind::Categorical => {
                    show!(nodes.wide, nodes.compact.len(), WIDE_COVERS, &with_sets)
                }
            }
        }
    }
}
