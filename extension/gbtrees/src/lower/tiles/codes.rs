//! Codes: any tree of few leaves as a perfect tree, however deep it is.
//!
//! A tree of L leaves becomes a tile of ceil(log2 L) levels. The leaves are numbered from left to right, and
//! the boundary between leaf `b - 1` and leaf `b` belongs to the one split that parts them. A node of the
//! tile asks on which side of a boundary a row's leaf is, and so halves a range of leaves; each half needs to
//! fit the levels below, which leaves a choice of boundaries.
//!
//! Whether a row's leaf is at least `b` is `P1 op (P2 op (... P))`: P is the condition of the boundary's
//! split, the others are those of the splits above it, the root first, and each `op` is AND if the boundary
//! is right of that split's own, OR if it is left of it. Within a range of leaves only splits matter whose
//! boundaries lie inside of it: see [`Boundaries::chain`]. So the lower a node of the tile, the shorter its
//! chain; the best boundaries are found by dynamic programming over ranges, in levels above the lowest eight
//! by the shortest chain alone.

use crate::compiled::tiles::{MAX_LEAVES, TILE_LEVELS};
use crate::lower::canonical::Tree;
use crate::lower::order::children;
use crate::lower::tiles::conditions::{Condition, Sets, condition_of};
use crate::memory::{grow, refill};
use crate::verified::sure;
use crate::{Cancel, Result};

/// No boundary: a range of one leaf is not divided.
const NONE: u16 = 0;

/// The leaves of a tree from left to right, and the splits between them.
pub(crate) struct Boundaries {
    /// Ids of the leaves.
    pub(crate) leaves: Vec<u32>,
    /// By boundary the id of its split; boundary 0 is none.
    splits: Vec<u32>,
    /// By boundary that of the split above, 0 for the root.
    above: Vec<u16>,
}

impl Boundaries {
    /// Those of a tree of up to [`MAX_LEAVES`] leaves.
    pub(crate) fn of(tree: &Tree<'_>) -> Option<Self> {
        /// What is still to be visited: a subtree and the boundary above it, or a split between its children.
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

    fn link(&mut self, tree: &Tree<'_>) {
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

    /// The boundaries of the splits above a boundary's own, the nearest first.
    fn ancestors(&self, boundary: u16) -> impl Iterator<Item = u16> {
        let above = |boundary: u16| self.above[usize::from(boundary)];
        let next = move |boundary: &u16| Some(above(*boundary)).filter(|above| *above != NONE);
        std::iter::successors(next(&boundary), next)
    }

    /// Those of them that are inside of a range of leaves.
    fn ancestors_inside(
        &self,
        [low, high]: [usize; 2],
        boundary: usize,
    ) -> impl Iterator<Item = usize> {
        let inside = move |above: &usize| low < *above && *above < high;
        self.ancestors(boundary as u16).map(usize::from).filter(inside)
    }

    /// Whether the leaf of a row whose leaf is in `range` is at least `boundary`, as a chain.
    ///
    /// A row whose leaf is in the range and that comes to a split whose boundary is not inside of it goes
    /// where the boundary lies, so that such splits decide nothing.
    fn chain(&self, tree: &Tree<'_>, sets: &Sets<'_>, range: [u16; 2], boundary: u16) -> Chain {
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

/// `last op (... (second op first))`: conditions from the inside to the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) first: Condition,
    pub(crate) links: Vec<(Op, Condition)>,
}

impl Chain {
    pub(crate) fn conditions(&self) -> impl Iterator<Item = Condition> {
        std::iter::once(self.first).chain(self.links.iter().map(|(_, condition)| *condition))
    }

    /// Joins a condition around the chain. Conditions of a column among those that the same operation joins
    /// become one: the higher threshold implies the lower.
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

/// How a tree is recoded.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// Of the tile.
    pub(crate) levels: u32,
    /// By place in the tile, level by level with the root at 1: the boundary at which a node divides its
    /// range, or 0 where the range is one leaf.
    boundaries: Vec<u16>,
    /// Chains that are more than a condition, and their operations, of which some may be saved when chains
    /// are made.
    pub(crate) compounds: u32,
    pub(crate) ops: u32,
}

/// A node of a tile: its level, its path, and the chain that it asks for.
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

    /// Calls `visit` with the nodes of the tile that ask for anything.
    pub(crate) fn nodes(
        &self,
        tree: &Tree<'_>,
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

    /// By path through a tile of so many levels, at least the code's, the number of its leaf.
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

    /// Calls `visit` with the level, path, range of leaves and boundary of every node, ranges of one leaf
    /// included.
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

/// Costs by two ends of a range, one row per end, of which successive other ends lie together.
type Table = Vec<u16>;

/// How far the leaves of a range may be from the average of its level: enough for short chains, and few
/// enough for a search that takes a millisecond.
const SPREAD: usize = 16;

/// Finds codes; keeps its memory from tree to tree.
///
/// What has at most [`TILE_LEVELS`] levels is solved for least cost; above, ranges are divided where the
/// chain is shortest.
#[derive(Default)]
pub(crate) struct Coder {
    /// The first leaf of the range that is solved; the ends below count from there.
    first: usize,
    /// By lower end and boundary: the operations for splits left of the boundary.
    left_ops: Table,
    /// By upper end and boundary: those for splits right of it.
    right_ops: Table,
    /// By levels: the cost of a range below a boundary, and that boundary's operations, by lower end.
    lower: Vec<Table>,
    /// The same above a boundary, by upper end.
    upper: Vec<Table>,
    /// Leaves of the range that is solved, and levels.
    leaves: usize,
    levels: u32,
    width: usize,
}

impl Coder {
    /// The code of least cost.
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

    /// Writes the best boundaries of the range that was solved, whose root has this place.
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
                // Counted at the one end from which on it is inside; summed below.
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

    /// Fills the tables of all levels but the last, for a range of leaves.
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

    /// Finds the cost of a range with so many levels, and puts it where the level above reads it.
    fn put(&mut self, level: usize, [low, high]: [usize; 2]) {
        let cost = match high - low {
            1 => 0,
            _ => self.cost([low, high], level as u32),
        };
        let (below, above) = (low * self.width + high, high * self.width + low);
        self.lower[level][below] = cost.saturating_add(self.left_ops[below]);
        self.upper[level][above] = cost.saturating_add(self.right_ops[above]);
    }

    /// The least and the most leaves of a range with so many levels: the rest has to fit its own part of the
    /// tile, and none has far more than another.
    fn sizes(&self, levels: u32) -> [usize; 2] {
        let most = 1usize << levels;
        let rest = (1usize << self.levels) - most;
        let average = self.leaves >> (self.levels - levels);
        let least = self.leaves.saturating_sub(rest).max(average.saturating_sub(SPREAD)).max(1);
        [least, most.min(average + 1 + SPREAD)]
    }

    /// For each boundary that a range may be divided at, from the first on, the cost of the range below it
    /// and of that above.
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

    /// The operations of the chain of a boundary within a range.
    fn ops(&self, [low, high]: [usize; 2], boundary: usize) -> u32 {
        let left = self.left_ops[low * self.width + boundary];
        u32::from(left) + u32::from(self.right_ops[high * self.width + boundary])
    }

    /// The boundary of least cost at which a range with so many levels is divided; of equal ones that in the
    /// middle.
    fn best(&self, range: [usize; 2], levels: u32) -> usize {
        let (from, lower, upper) = self.choices(range, levels);
        let costs = lower.iter().zip(upper).map(|(lower, upper)| lower.saturating_add(*upper));
        let middle = range[0] + range[1];
        let best = costs.zip(from..).min_by_key(|(cost, at)| (*cost, (2 * at).abs_diff(middle)));
        sure(best, "a range that fits its levels is divided somewhere").1
    }
}

/// The boundary with the shortest chain at which a range with so many levels can be divided, of equal ones
/// that in the middle, and the operations of the chain.
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

/// Levels of the tile of so many leaves.
pub(crate) fn levels_of(leaves: usize) -> u32 {
    leaves.next_power_of_two().ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::canonical::Forest;
    use crate::lower::cuts::Cuts;
    use crate::random::{Shape, leaf_wise, model};

    /// Chains are no longer than a tree is high, and together about as many operations as there are nodes,
    /// also in the worst trees.
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
