//! Codes: any tree of few leaves as a perfect tree, however deep it is.
//!
//! A tree of L leaves becomes a tile of ceil(log2 L) levels. Leaves are numbered from left to right;
//! the boundary between leaf `b - 1` and leaf `b` belongs to the split that separates them. A node of
//! the tile tests on which side of a boundary a row's leaf is, which divides a range of leaves; each
//! half must fit the levels below, which leaves a choice of boundaries.
//!
//! Whether a row's leaf is at least `b` is `P1 op (P2 op (... P))`: P is the condition of the
//! boundary's split, the others are those of the splits above it, from the root, and each `op` is AND
//! if the boundary is right of that split's, OR if left. Within a range only splits with boundaries
//! inside matter: see [`Boundaries::chain`]. So chains get shorter with lower nodes. The best
//! boundaries are found by dynamic programming over ranges; above the lowest eight levels, by the
//! shortest chain alone.

use crate::compiled::tiles::{MAX_LEAVES, TILE_LEVELS};
use crate::lower::canonical::LoweredTree;
use crate::lower::order::children;
use crate::lower::tiles::conditions::{Condition, Sets, condition_of};
use crate::memory::{grow, refill};
use crate::verified::sure;
use crate::{Cancel, Result};

/// No boundary: a range of one leaf is not divided.
const NONE: u16 = 0;

/// A tree's leaves from left to right, and the splits between them.
pub(crate) struct Boundaries {
    /// Ids of the leaves.
    pub(crate) leaves: Vec<u32>,
    /// Split ids by boundary; boundary 0 is none.
    splits: Vec<u32>,
    /// The boundary of the split above, by boundary; 0 for the root.
    above: Vec<u16>,
}

impl Boundaries {
    /// Returns the boundaries of a tree of up to [`MAX_LEAVES`] leaves.
    pub(crate) fn of(tree: &LoweredTree<'_>) -> Option<Self> {
        /// A subtree to visit and the boundary above it, or a split between its children.
        enum Open {
            Subtree(u32),
            Boundary(u32),
        }
        let mut found = Boundaries { leaves: Vec::new(), splits: vec![0], above: Vec::new() };
        let mut open = vec![Open::Subtree(0)];
        while let Some(next) = open.pop() {
            match next {
                Open::Boundary(id) => found.splits.push(id),
                Open::Subtree(id) => match children(tree, id) {
                    Some([right, left]) => {
                        open.extend([
                            Open::Subtree(right),
                            Open::Boundary(id),
                            Open::Subtree(left),
                        ]);
                    }
                    None if found.leaves.len() < MAX_LEAVES => found.leaves.push(id),
                    None => return None,
                },
            }
        }
        found.link(tree);
        Some(found)
    }

    fn link(&mut self, tree: &LoweredTree<'_>) {
        self.above = vec![NONE; self.splits.len()];
        let mut boundary_of = vec![NONE; tree.nodes().len()];
        for (boundary, id) in self.splits.iter().enumerate().skip(1) {
            boundary_of[*id as usize] = boundary as u16;
        }
        for id in self.splits.iter().skip(1) {
            for child in children(tree, *id).into_iter().flatten() {
                let child = boundary_of[child as usize];
                if child != NONE {
                    self.above[usize::from(child)] = boundary_of[*id as usize];
                }
            }
        }
    }

    /// Returns the boundaries of the splits above a boundary's, nearest first.
    fn ancestors(&self, boundary: u16) -> impl Iterator<Item = u16> {
        let above = |boundary: u16| self.above[usize::from(boundary)];
        let next = move |boundary: &u16| Some(above(*boundary)).filter(|above| *above != NONE);
        std::iter::successors(next(&boundary), next)
    }

    /// Returns those ancestors inside of a range of leaves.
    fn ancestors_inside(
        &self,
        [low, high]: [usize; 2],
        boundary: usize,
    ) -> impl Iterator<Item = usize> {
        let inside = move |above: &usize| low < *above && *above < high;
        self.ancestors(boundary as u16).map(usize::from).filter(inside)
    }

    /// Returns the chain that tests whether a row's leaf, known to be in `range`, is at least
    /// `boundary`.
    ///
    /// At a split whose boundary is outside of the range, a row goes to the boundary's side, so such
    /// splits decide nothing.
    fn chain(
        &self,
        tree: &LoweredTree<'_>,
        sets: &Sets<'_>,
        range: [u16; 2],
        boundary: u16,
    ) -> Chain {
        let condition = |boundary: usize| {
            let condition = condition_of(tree, self.splits[boundary], sets);
            sure(condition, "a boundary is of a split")
        };
        let boundary = usize::from(boundary);
        let mut chain = Chain { first: condition(boundary), links: Vec::new() };
        for above in self.ancestors_inside(range.map(usize::from), boundary) {
            chain.join(if above < boundary { Op::And } else { Op::Or }, condition(above));
        }
        chain
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Op {
    And,
    Or,
}

/// `last op (... (second op first))`: conditions from the inside out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) first: Condition,
    pub(crate) links: Vec<(Op, Condition)>,
}

impl Chain {
    pub(crate) fn conditions(&self) -> impl Iterator<Item = Condition> {
        std::iter::once(self.first).chain(self.links.iter().map(|(_, condition)| *condition))
    }

    /// Joins a condition around the chain. A column's conditions joined by the same operation merge:
    /// the higher threshold implies the lower.
    fn join(&mut self, op: Op, condition: Condition) {
        let alike = self.links.iter().rev().take_while(|(other, _)| *other == op).count();
        let run = self.links.len() - alike;
        let all_alike = run == 0;
        let first = all_alike.then_some(&mut self.first);
        let alike = self.links[run..].iter_mut().map(|(_, condition)| condition);
        for own in first.into_iter().chain(alike) {
            if let Some(joined) = own.joined(condition, op == Op::And) {
                *own = joined;
                return;
            }
        }
        self.links.push((op, condition));
    }
}

/// The recoding of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// Levels of the tile.
    pub(crate) levels: u32,
    /// By position in the tile, level by level with the root at 1: the boundary that divides the node's
    /// range, or 0 for a single leaf.
    boundaries: Vec<u16>,
    /// Upper bounds of chains longer than a condition, and of their operations.
    pub(crate) compounds: u32,
    pub(crate) ops: u32,
}

/// A node of a tile: level, path, and the chain that it tests.
pub(crate) struct CodeNode {
    pub(crate) level: u32,
    pub(crate) path: usize,
    pub(crate) chain: Chain,
}

impl Code {
    fn put(&mut self, place: usize, boundary: usize, ops: u32) {
        self.boundaries[place] = boundary as u16;
        self.ops += ops;
        self.compounds += u32::from(ops > 0);
    }

    /// Calls `visit` with the nodes of the tile that test something.
    pub(crate) fn nodes(
        &self,
        tree: &LoweredTree<'_>,
        sets: &Sets<'_>,
        boundaries: &Boundaries,
        mut visit: impl FnMut(CodeNode),
    ) {
        self.ranges(boundaries, |level, path, range, boundary| {
            if boundary != NONE {
                visit(CodeNode {
                    level,
                    path,
                    chain: boundaries.chain(tree, sets, range, boundary),
                });
            }
        });
    }

    /// Returns leaf numbers by path through a tile of `levels` levels, at least the code's.
    pub(crate) fn leaves(&self, boundaries: &Boundaries, levels: u32) -> Vec<u16> {
        let mut leaves = vec![0; 1 << levels];
        self.ranges(boundaries, |level, path, range, boundary| {
            let below = levels - level;
            if boundary == NONE {
                leaves[path << below..(path + 1) << below].fill(range[0]);
            }
        });
        leaves
    }

    /// Calls `visit` with level, path, range and boundary of every node, including ranges of one leaf.
    fn ranges(&self, boundaries: &Boundaries, mut visit: impl FnMut(u32, usize, [u16; 2], u16)) {
        let mut open = vec![(0u32, 0usize, [0, boundaries.leaves.len() as u16])];
        while let Some((level, path, range)) = open.pop() {
            let boundary = match range[1] - range[0] {
                0 | 1 => NONE,
                _ => self.boundaries[(1 << level) + path],
            };
            visit(level, path, range, boundary);
            if boundary != NONE {
                open.push((level + 1, 2 * path, [range[0], boundary]));
                open.push((level + 1, 2 * path + 1, [boundary, range[1]]));
            }
        }
    }
}

/// Costs by the two ends of a range: a row per one end, indexed by the other.
type Table = Vec<u16>;

/// Maximum deviation of a range's leaves from its level's average: enough for short chains, and few
/// enough for a search within a millisecond.
const SPREAD: usize = 16;

/// Finds codes; buffers are reused from tree to tree.
///
/// Up to [`TILE_LEVELS`] levels are solved for least cost; above, ranges are divided at the shortest
/// chain.
#[derive(Default)]
pub(crate) struct Coder {
    /// The first leaf of the range being solved; ends below are relative to it.
    first: usize,
    /// Operations for splits left of the boundary, by lower end and boundary.
    left_ops: Table,
    /// Operations for splits right of the boundary, by upper end and boundary.
    right_ops: Table,
    /// By level: the cost of a range below a boundary, including its operations, by lower end.
    lower: Vec<Table>,
    /// The cost above a boundary, by upper end.
    upper: Vec<Table>,
    /// Leaves and levels of the range being solved.
    leaves: usize,
    levels: u32,
    width: usize,
}

impl Coder {
    /// Returns the code of least cost.
    pub(crate) fn code(&mut self, boundaries: &Boundaries, cancel: Cancel<'_>) -> Result<Code> {
        let leaves = boundaries.leaves.len();
        let levels = levels_of(leaves);
        let mut code = Code { levels, boundaries: vec![NONE; 1 << levels], compounds: 0, ops: 0 };
        let mut open = vec![(1usize, [0, leaves], levels)];
        while let Some((place, [low, high], levels)) = open.pop() {
            if levels <= TILE_LEVELS {
                self.solve(boundaries, [low, high], levels, cancel)?;
                self.take(&mut code, place);
            } else if high - low > 1 {
                let (ops, boundary) = shortest(boundaries, [low, high], levels);
                code.put(place, boundary, ops);
                open.push((2 * place, [low, boundary], levels - 1));
                open.push((2 * place + 1, [boundary, high], levels - 1));
                cancel.check()?;
            }
        }
        Ok(code)
    }

    /// Writes the best boundaries of the solved range, whose root is at `place`.
    fn take(&self, code: &mut Code, place: usize) {
        let mut open = vec![(place, [0, self.leaves], self.levels)];
        while let Some((place, [low, high], levels)) = open.pop() {
            if high - low < 2 {
                continue;
            }
            let boundary = self.best([low, high], levels);
            code.put(place, self.first + boundary, self.ops([low, high], boundary));
            open.push((2 * place, [low, boundary], levels - 1));
            open.push((2 * place + 1, [boundary, high], levels - 1));
        }
    }

    fn count_ops(&mut self, boundaries: &Boundaries) -> Result<()> {
        let size = self.width * self.width;
        for table in [&mut self.left_ops, &mut self.right_ops] {
            refill(table, size, 0)?;
        }
        let range = [self.first, self.first + self.leaves];
        for boundary in range[0] + 1..range[1] {
            for above in boundaries.ancestors_inside(range, boundary) {
                // Counted at the end from which on it is inside, and summed up below.
                let (table, end) = if above < boundary {
                    (&mut self.left_ops, above - self.first - 1)
                } else {
                    (&mut self.right_ops, above - self.first + 1)
                };
                table[end * self.width + boundary - self.first] += 1;
            }
        }
        for end in (1..=self.leaves).rev() {
            add_row(&mut self.left_ops, self.width, end, end - 1);
        }
        for end in 0..self.leaves {
            add_row(&mut self.right_ops, self.width, end, end + 1);
        }
        Ok(())
    }

    /// Fills the tables of all levels but the last for a range of leaves.
    fn solve(
        &mut self,
        boundaries: &Boundaries,
        [first, end]: [usize; 2],
        levels: u32,
        cancel: Cancel<'_>,
    ) -> Result<()> {
        (self.first, self.leaves, self.levels) = (first, end - first, levels);
        self.width = self.leaves + 1;
        self.count_ops(boundaries)?;
        let (size, count) = (self.width * self.width, levels as usize);
        if self.lower.len() < count {
            self.lower.resize_with(count, Vec::new);
            self.upper.resize_with(count, Vec::new);
        }
        for level in 0..count {
            for table in [&mut self.lower[level], &mut self.upper[level]] {
                grow(table, size, 0)?;
            }
            let [least, most] = self.sizes(level as u32);
            for size in least..=most.min(self.leaves) {
                for low in 0..=self.leaves - size {
                    self.put(level, [low, low + size]);
                }
            }
            cancel.check()?;
        }
        Ok(())
    }

    /// Computes the cost of a range, and stores it for the level above.
    fn put(&mut self, level: usize, [low, high]: [usize; 2]) {
        let cost = match high - low {
            1 => 0,
            _ => self.cost([low, high], level as u32),
        };
        let (below, above) = (low * self.width + high, high * self.width + low);
        self.lower[level][below] = cost.saturating_add(self.left_ops[below]);
        self.upper[level][above] = cost.saturating_add(self.right_ops[above]);
    }

    /// Returns the minimum and maximum leaves of a range with `levels` levels: the rest must fit its
    /// part of the tile, and sizes must not differ much.
    fn sizes(&self, levels: u32) -> [usize; 2] {
        let most = 1usize << levels;
        let rest = (1usize << self.levels) - most;
        let average = self.leaves >> (self.levels - levels);
        let least = self.leaves.saturating_sub(rest).max(average.saturating_sub(SPREAD)).max(1);
        [least, most.min(average + 1 + SPREAD)]
    }

    /// Returns, from the first boundary that may divide a range, the costs of the ranges below and
    /// above each boundary.
    fn choices(&self, [low, high]: [usize; 2], levels: u32) -> (usize, &[u16], &[u16]) {
        let below = levels as usize - 1;
        let [least, most] = self.sizes(levels - 1);
        let from = (low + least).max(high.saturating_sub(most));
        let to = (high - least).min(low + most);
        let [lower, upper] = [low, high].map(|end| end * self.width);
        (
            from,
            &self.lower[below][lower + from..=lower + to],
            &self.upper[below][upper + from..=upper + to],
        )
    }

    fn cost(&self, range: [usize; 2], levels: u32) -> u16 {
        let (_, lower, upper) = self.choices(range, levels);
        let costs = lower.iter().zip(upper).map(|(lower, upper)| lower.saturating_add(*upper));
        costs.fold(u16::MAX, u16::min)
    }

    /// Returns the operations of a boundary's chain within a range.
    fn ops(&self, [low, high]: [usize; 2], boundary: usize) -> u32 {
        let left = self.left_ops[low * self.width + boundary];
        u32::from(left) + u32::from(self.right_ops[high * self.width + boundary])
    }

    /// Returns the boundary of least cost that divides a range; the middle one of equals.
    fn best(&self, range: [usize; 2], levels: u32) -> usize {
        let (from, lower, upper) = self.choices(range, levels);
        let costs = lower.iter().zip(upper).map(|(lower, upper)| lower.saturating_add(*upper));
        let middle = range[0] + range[1];
        let best = costs.zip(from..).min_by_key(|(cost, at)| (*cost, (2 * at).abs_diff(middle)));
        sure(best, "a range that fits its levels is divided somewhere").1
    }
}

/// Returns the boundary with the shortest chain that can divide a range, the middle one of equals, and
/// the chain's operations.
fn shortest(boundaries: &Boundaries, [low, high]: [usize; 2], levels: u32) -> (u32, usize) {
    let (half, middle) = (1usize << (levels - 1), low + high);
    let from = (low + 1).max(high.saturating_sub(half));
    let ops = |boundary| boundaries.ancestors_inside([low, high], boundary).count() as u32;
    let found = (from..=(low + half).min(high.saturating_sub(1))).map(|at| (ops(at), at));
    let best = found.min_by_key(|(ops, at)| (*ops, (2 * at).abs_diff(middle)));
    sure(best, "a range that fits its levels is divided somewhere")
}

/// Adds a row of a table to another.
fn add_row(table: &mut [u16], width: usize, from: usize, to: usize) {
    let [from, to] = [from * width, to * width];
    let (head, tail) = table.split_at_mut(from.max(to));
    let (source, target) = if from < to {
        (&head[from..from + width], &mut tail[..width])
    } else {
        (&tail[..width], &mut head[to..to + width])
    };
    for (target, source) in target.iter_mut().zip(source) {
        *target = target.saturating_add(*source);
    }
}

/// Returns the levels of a tile with `leaves` leaves.
pub(crate) fn levels_of(leaves: usize) -> u32 {
    leaves.next_power_of_two().ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::canonical::Forest;
    use crate::lower::cuts::Cuts;
    use crate::random::{Shape, leaf_wise, model};

    /// Chains are no longer than the tree is high, and have in total about as many operations as nodes,
    /// even in the worst trees.
    #[test]
    fn chains_are_short() {
        let mut coder = Coder::default();
        for seed in 0..40 {
            let leaves = [31, 63, 255, 256, 700, 4096][seed as usize % 6];
            let model = leaf_wise(seed, model(seed, Shape::of(20, 1, 4, 8)), leaves);
            let forest = Forest::of(&model, &Cuts::default(), Cancel::never()).unwrap();
            for tree in forest.trees() {
                let boundaries = Boundaries::of(tree).unwrap();
                let code = coder.code(&boundaries, Cancel::never()).unwrap();
                let nodes = boundaries.leaves.len() as u32;
                let most = nodes * (code.levels + 1);
                assert!(code.ops <= most, "seed {seed}: {} operations, {nodes} leaves", code.ops);
                let mut numbers = code.leaves(&boundaries, code.levels);
                numbers.dedup();
                assert!(numbers.iter().copied().eq(0..nodes as u16), "seed {seed}");
            }
        }
    }
}
