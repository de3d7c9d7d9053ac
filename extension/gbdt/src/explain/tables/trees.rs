//! The trees of an image, node by node, in the form that tables are made from.

use crate::eval::interleaved::NodeSections;
use crate::explain::share;
use crate::forest::records::{CATEGORICAL, GroupKind};
use crate::forest::sections::{
    COMPACT_COVERS, GROUPS, LEAF_VALUES, OUTPUTS, ROOTS, Sections, WIDE_COVERS,
};

/// What a split asks of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Question {
    /// Whether the key in a slot is below this one.
    Below { slot: u32, key: u32 },
    /// Whether the code in a slot's feature is not in a set.
    NotIn { slot: u32, set: u32 },
}

impl Question {
    pub(super) fn slot(self) -> u32 {
        match self {
            Question::Below { slot, .. } | Question::NotIn { slot, .. } => slot,
        }
    }

    pub(super) fn feature(self) -> u32 {
        self.slot() / 2
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Leaf(f64),
    /// A table has all leaves that were below.
    Covered,
    Split {
        question: Question,
        /// Where the answer is yes, and where it is no.
        children: [u32; 2],
        shares: [f64; 2],
    },
}

/// A tree: children come behind their parents, the root is first.
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Of the leaves, weighed by their shares.
    pub(super) mean: f64,
    pub(super) output: usize,
}

/// Calls `visit` with every tree. Of a damaged image a tree may lack what is below its damage.
pub(super) fn each(image: Sections<'_>, visit: &mut dyn FnMut(Tree)) {
    let nodes = NodeSections::of(image);
    let (roots, outputs) = (image.get(ROOTS), image.get(OUTPUTS));
    let leaf_values = image.get(LEAF_VALUES);
    let value = |key: u32| match leaf_values {
        [] => f64::from(f32::from_bits(key)),
        values => values.get(key as usize).copied().unwrap_or(0.0),
    };
    for group in image.get(GROUPS) {
        let trees = (group.first..group.first + group.count).map(|tree| tree as usize);
        let covers = match group.kind {
            GroupKind::Compact => image.get(COMPACT_COVERS),
            GroupKind::Wide | GroupKind::Categorical => image.get(WIDE_COVERS),
        };
        for tree in trees {
            let (Some(root), Some(output)) = (roots.get(tree), outputs.get(tree)) else { continue };
            let read = |node: u32| {
                let (key, slot, right, kind) = match group.kind {
                    GroupKind::Compact => {
                        let node = nodes.compact.get(node as usize)?;
                        (node.key, node.slot.into(), node.right_offset.into(), 0)
                    }
                    GroupKind::Wide | GroupKind::Categorical => {
                        let node = nodes.wide.get(node as usize)?;
                        (node.key, node.slot, node.right_offset, node.kind)
                    }
                };
                if right == 0 {
                    return Some(Node::Leaf(value(key)));
                }
                let is_set = kind == CATEGORICAL && group.kind == GroupKind::Categorical;
                let question = if is_set {
                    Question::NotIn { slot, set: key }
                } else {
                    Question::Below { slot, key }
                };
                let children = [node + right + 1, node + right];
                let cover = |node: u32| covers.get(node as usize).copied().unwrap_or(0.0);
                let shares = children.map(|child| share(cover(child), cover(node)));
                Some(Node::Split { question, children, shares })
            };
            let most = nodes.compact.len().max(nodes.wide.len());
            let nodes = copied(*root, group.depth, most, &read);
            let mean = mean_of(&nodes);
            visit(Tree { nodes, mean, output: *output as usize });
        }
    }
}

/// The nodes from a root on, with links among themselves: as many as an image has, and no more.
fn copied(root: u32, depth: u32, most: usize, read: &dyn Fn(u32) -> Option<Node>) -> Vec<Node> {
    let mut nodes = vec![read(root).unwrap_or(Node::Leaf(0.0))];
    // A level at a time; a damaged image may have more than a tree can.
    let mut level = 0..1;
    for _ in 0..depth {
        let end = nodes.len();
        for parent in level {
            let Some(Node::Split { children, .. }) = nodes.get(parent).copied() else { continue };
            if nodes.len() > most {
                nodes[parent] = Node::Leaf(0.0);
                continue;
            }
            let first = nodes.len() as u32;
            nodes.extend(children.map(|child| read(child).unwrap_or(Node::Leaf(0.0))));
            if let Some(Node::Split { children, .. }) = nodes.get_mut(parent) {
                *children = [first, first + 1];
            }
        }
        level = end..nodes.len();
    }
    // Below the depth that its group states, a tree has leaves alone.
    for node in &mut nodes[level] {
        if matches!(node, Node::Split { .. }) {
            *node = Node::Leaf(0.0);
        }
    }
    nodes
}

fn mean_of(nodes: &[Node]) -> f64 {
    let mut means = vec![0.0; nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        means[at] = match node {
            Node::Leaf(value) => *value,
            Node::Covered => 0.0,
            Node::Split { children, shares, .. } => {
                let mean = |child: &u32| means.get(*child as usize).copied().unwrap_or(0.0);
                children.iter().zip(shares).map(|(child, share)| share * mean(child)).sum()
            }
        };
    }
    means.first().copied().unwrap_or(0.0)
}

/// What the trees of an image take at most.
pub(super) fn max_bytes(image: Sections<'_>) -> usize {
    let nodes = NodeSections::of(image);
    (nodes.compact.len() + nodes.wide.len()) * size_of::<Node>()
}
