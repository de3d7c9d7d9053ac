//! Trees without the leaves that have tables.

use super::trees::{Node, Question, Tree};
use crate::eval::interleaved::NodeSections;
use crate::eval::is_in_set;
use crate::explain::nodes::{Child, Explained, Step};

pub(in crate::explain) struct RestTree {
    tree: Tree,
    depth: u32,
}

impl RestTree {
    pub(super) fn of(tree: Tree) -> Self {
        let mut depths = vec![0; tree.nodes.len()];
        let mut deepest = 0;
        for (at, node) in tree.nodes.iter().enumerate() {
            if let Node::Split { children, .. } = node {
                let depth = depths[at] + 1;
                deepest = deepest.max(depth);
                children.iter().for_each(|child| depths[*child as usize] = depth);
            }
        }
        RestTree { tree, depth: deepest }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.tree.nodes[..])
    }

    pub(in crate::explain) fn output(&self) -> usize {
        self.tree.output
    }
}

/// What a row answers.
pub(in crate::explain) struct Answers<'a> {
    pub(in crate::explain) keys: &'a [u32],
    pub(in crate::explain) features: &'a [f32],
    pub(in crate::explain) nodes: NodeSections<'a>,
}

impl Answers<'_> {
    #[inline(always)]
    pub(super) fn key(&self, slot: u32) -> u32 {
        self.keys[slot as usize]
    }

    #[inline(always)]
    pub(super) fn of(&self, question: Question) -> bool {
        match question {
            Question::Below { slot, key } => self.key(slot) < key,
            Question::NotIn { slot, set } => {
                let value = self.features[slot as usize / 2];
                if value.is_nan() {
                    return slot.is_multiple_of(2);
                }
                !is_in_set(self.nodes.words(set), value)
            }
        }
    }
}

/// A tree's rest and a row's answers.
pub(in crate::explain) struct RestOfRow<'a> {
    pub(in crate::explain) tree: &'a RestTree,
    pub(in crate::explain) answers: &'a Answers<'a>,
}

impl Explained for RestOfRow<'_> {
    #[inline(always)]
    fn step(&self, node: usize) -> Step {
        match &self.tree.tree.nodes[node] {
            Node::Covered => Step::Leaf(0.0),
            Node::Leaf(value) => Step::Leaf(*value),
            Node::Split { question, children, shares } => {
                let yes = self.answers.of(*question);
                let child = |at: usize, taken| Child {
                    node: children[at] as usize,
                    share: shares[at],
                    taken,
                };
                let children = [child(0, yes), child(1, !yes)];
                Step::Split { feature: question.feature() as usize, children }
            }
        }
    }

    fn place(&self, node: usize) -> usize {
        node
    }

    fn root(&self) -> usize {
        0
    }

    fn depth(&self) -> u32 {
        self.tree.depth
    }
}
