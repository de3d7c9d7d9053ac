//! The order of a tree's nodes in memory.
//!
//! A walk waits for every cache line that it touches, so nodes visited in succession should share one.
//! A split's children are adjacent, the right one first, since one link serves both; such a pair is the
//! unit of placement. A tree's first line holds the root and three pairs, each further line four: a
//! pair and, among the pairs below, those with the most training rows. A walk of eight steps then
//! touches about four lines; level by level it would touch seven.

use std::collections::VecDeque;

use crate::ensemble::NODES_PER_CHECK;
use crate::lower::canonical::LoweredTree;
use crate::memory::{filled, grow, push};
use crate::verified::sure;
use crate::{Cancel, Result};

/// Nodes per cache line.
pub(crate) const LINE: usize = 8;
/// Pairs per cache line.
const PAIRS: usize = LINE / 2;

/// The content of a position of a tree in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Padding.
    Filler,
    /// The node `id`; a split's right child is at position `right`, its left child after it.
    Node { id: u32, right: u32 },
}

/// Returns the children of a split, the right one first.
pub(crate) fn children(tree: &LoweredTree<'_>, id: u32) -> Option<[u32; 2]> {
    tree.nodes()[id as usize].split().map(|split| [split.right, split.left])
}

/// Returns a node's sum of hessians of training rows.
fn cover(tree: &LoweredTree<'_>, id: u32) -> f32 {
    tree.nodes()[id as usize].cover()
}

/// Takes up to `count` connected pairs, named by their parents, from those below `open`, which then
/// holds the adjacent pairs.
fn block(tree: &LoweredTree<'_>, open: &mut Vec<u32>, count: usize) -> Vec<u32> {
    let mut parents = Vec::with_capacity(count);
    while parents.len() < count {
        let most = open
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| cover(tree, **a).total_cmp(&cover(tree, **b)))
            .map(|(index, _)| index);
        let Some(most) = most else { break };
        let parent = open.swap_remove(most);
        parents.push(parent);
        for child in sure(children(tree, parent), "only splits are open") {
            if children(tree, child).is_some() {
                open.push(child);
            }
        }
    }
    parents
}

/// Returns the content of each position. The root is first, children follow their parents, and the
/// number of positions is a multiple of [`LINE`].
pub(crate) fn positions(tree: &LoweredTree<'_>, cancel: Cancel<'_>) -> Result<Vec<Position>> {
    let at = filled(tree.nodes().len(), 0)?;
    let mut order = Order { tree, positions: Vec::new(), at, cancel };
    order.put(0)?;
    let mut open: Vec<u32> = children(tree, 0).map(|_| 0).into_iter().collect();
    let first = block(tree, &mut open, PAIRS - 1);
    order.put_pairs(&first)?;
    order.fill_line()?;
    let mut queue = VecDeque::from(open);
    // Whole subtrees smaller than a line, by their number of pairs minus one.
    let mut small: [Vec<Vec<u32>>; PAIRS - 1] = Default::default();
    let mut blocks = 0usize;
    while let Some(parent) = queue.pop_front() {
        blocks += 1;
        if blocks.is_multiple_of(NODES_PER_CHECK / LINE) {
            order.cancel.check()?;
        }
        let mut open = vec![parent];
        let parents = block(tree, &mut open, PAIRS);
        match small.get_mut(parents.len() - 1) {
            Some(same_size) => push(same_size, parents)?,
            None => order.put_pairs(&parents)?,
        }
        queue.try_reserve(open.len())?;
        queue.extend(open);
    }
    order.put_small(small)?;
    order.fill_line()?;
    Ok(order.positions)
}

struct Order<'a> {
    tree: &'a LoweredTree<'a>,
    positions: Vec<Position>,
    /// Positions by node id. A model has fewer nodes than u32 counts.
    at: Vec<u32>,
    cancel: Cancel<'a>,
}

impl Order<'_> {
    fn put(&mut self, id: u32) -> Result<()> {
        self.at[id as usize] = self.positions.len() as u32;
        push(&mut self.positions, Position::Node { id, right: 0 })
    }

    /// Places the pairs below splits, which are placed already or among them.
    fn put_pairs(&mut self, parents: &[u32]) -> Result<()> {
        for parent in parents {
            let next = self.positions.len();
            if next.is_multiple_of(NODES_PER_CHECK) {
                self.cancel.check()?;
            }
            let at = self.at[*parent as usize] as usize;
            self.positions[at] = Position::Node { id: *parent, right: next as u32 };
            let pair = sure(children(self.tree, *parent), "only splits have pairs below");
            pair.into_iter().try_for_each(|child| self.put(child))?;
        }
        Ok(())
    }

    fn fill_line(&mut self) -> Result<()> {
        let count = self.positions.len().next_multiple_of(LINE);
        grow(&mut self.positions, count, Position::Filler)
    }

    /// Places subtrees of one, two and three pairs without crossing lines, if possible.
    fn put_small(&mut self, small: [Vec<Vec<u32>>; PAIRS - 1]) -> Result<()> {
        let [ones, twos, threes] = small;
        let mut ones = ones.into_iter();
        for three in threes {
            self.put_pairs(&three)?;
            match ones.next() {
                Some(one) => self.put_pairs(&one)?,
                None => self.fill_line()?,
            }
        }
        twos.into_iter().chain(ones).try_for_each(|parents| self.put_pairs(&parents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::canonical::LoweredNode;
    use crate::lower::canonical::{Forest, LoweredCondition, LoweredSplit};
    use crate::lower::cuts::Cuts;
    use crate::random::{Shape, model};

    #[test]
    fn every_used_node_has_one_place_after_its_parent() {
        for seed in 0..if cfg!(miri) { 11 } else { 200 } {
            let shape = Shape { categorical: 2, ..Shape::of(3, 1, 1, seed as u32 % 11) };
            let model = model(seed, shape);
            let forest = Forest::of(&model, &Cuts::default(), Cancel::never()).unwrap();
            let tree = &forest.trees()[0];
            let positions = positions(tree, Cancel::never()).unwrap();
            assert_eq!(positions.len() % LINE, 0);
            let mut ids = Vec::new();
            for (at, position) in positions.iter().enumerate() {
                let Position::Node { id, right } = *position else { continue };
                ids.push(id);
                let Some(children) = children(tree, id) else { continue };
                let right = right as usize;
                assert!(right > at, "seed {seed}: node {id}");
                for (offset, child) in children.into_iter().enumerate() {
                    let found = positions[right + offset];
                    assert!(
                        matches!(found, Position::Node { id, .. } if id == child),
                        "seed {seed}"
                    );
                }
            }
            let used = tree.nodes().iter().filter(|node| **node != LoweredNode::Deleted).count();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), used, "seed {seed}");
            assert!(matches!(positions[0], Position::Node { id: 0, .. }));
        }
    }

    #[test]
    fn a_full_tree_of_eight_levels_is_walked_through_about_four_lines() {
        let mut nodes = vec![LoweredNode::Leaf { value: 0.0, cover: 1.0 }; 511];
        for (id, node) in nodes.iter_mut().enumerate().take(255) {
            let [left, right] = [2 * id as u32 + 1, 2 * id as u32 + 2];
            let cover = (256 >> (id + 1).ilog2()) as f32;
            let (feature, condition, default_left) = (0, LoweredCondition::Below(0.0), true);
            *node = LoweredNode::Split(LoweredSplit {
                feature,
                condition,
                default_left,
                left,
                right,
                cover,
            });
        }
        let (sets, first_leaf) = (Vec::new(), 0);
        let tree = LoweredTree { nodes, sets, depth: 8, output: 0, source: 0, first_leaf };
        let mut line_of = vec![0; 511];
        for (at, position) in positions(&tree, Cancel::never()).unwrap().iter().enumerate() {
            if let Position::Node { id, .. } = position {
                line_of[*id as usize] = at / LINE;
            }
        }
        let lines: usize = (255..511usize)
            .map(|leaf| {
                let path = std::iter::successors(Some(leaf), |id| (*id > 0).then(|| (id - 1) / 2));
                let mut lines: Vec<usize> = path.map(|id| line_of[id]).collect();
                lines.sort_unstable();
                lines.dedup();
                lines.len()
            })
            .sum();
        let mean = lines as f64 / 256.0;
        assert!(mean < 4.2, "{mean}");
    }
}
