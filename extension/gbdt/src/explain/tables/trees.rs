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

/// Calls `visit` with every tree.
pub(super) fn each(image: Sections<'_>, visit: &mut dyn FnMut(Tree)) {
    let nodes = NodeSections::of(image);
    let (roots, outputs) = (image.get(ROOTS), image.get(OUTPUTS));
    let leaf_values = image.get(LEAF_VALUES);
    let value = |key: u32| match leaf_values {
        [] => f64::from(f32::from_bits(key)),
        values => values[key as usize],
    };
    for group in image.get(GROUPS) {
        let trees = (group.first..group.first + group.count).map(|tree| tree as usize);
        let covers = match group.kind {
            GroupKind::Compact => image.get(COMPACT_COVERS),
            GroupKind::Wide | GroupKind::Categorical => image.get(WIDE_COVERS),
        };
        for tree in trees {
            let read = |node: u32| {
                let (key, slot, right, kind) = match group.kind {
                    GroupKind::Compact => {
                        let node = nodes.compact[node as usize];
                        (node.key, node.slot.into(), node.right_offset.into(), 0)
                    }
                    GroupKind::Wide | GroupKind::Categorical => {
                        let node = nodes.wide[node as usize];
                        (node.key, node.slot, node.right_offset, node.kind)
                    }
                };
                if right == 0 {
                    return Node::Leaf(value(key));
                }
                let is_set = kind == CATEGORICAL && group.kind == GroupKind::Categorical;
                let question = if is_set {
                    Question::NotIn { slot, set: key }
                } else {
                    Question::Below { slot, key }
                };
                let children = [node + right + 1, node + right];
                let cover = |node: u32| covers[node as usize];
                let shares = children.map(|child| share(cover(child), cover(node)));
                Node::Split { question, children, shares }
            };
            let nodes = copied(roots[tree], &read);
            let mean = mean_of(&nodes);
            visit(Tree { nodes, mean, output: outputs[tree] as usize });
        }
    }
}

/// The nodes from a root on, a level at a time, with links among themselves.
fn copied(root: u32, read: &dyn Fn(u32) -> Node) -> Vec<Node> {
    let mut nodes = vec![read(root)];
    let mut at = 0;
    while at < nodes.len() {
        let first = nodes.len() as u32;
        if let Node::Split { children, .. } = &mut nodes[at] {
            let of_image = std::mem::replace(children, [first, first + 1]);
            nodes.extend(of_image.map(read));
        }
        at += 1;
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
                let mean = |child: &u32| means[*child as usize];
                children.iter().zip(shares).map(|(child, share)| share * mean(child)).sum()
            }
        };
    }
    means[0]
}

/// What the trees of an image take at most.
pub(super) fn max_bytes(image: Sections<'_>) -> usize {
    let nodes = NodeSections::of(image);
    (nodes.compact.len() + nodes.wide.len()) * size_of::<Node>()
}
