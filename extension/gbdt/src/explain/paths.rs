//! Exact contributions and interactions of a row, along every path of a tree.
//!
//! For a leaf of value `v`, let `r` be the product of the shares of a feature's splits on the path, and
//! `a` 1 if the row takes the path at all of them, else 0. With `g(q) = a ? r + q (1 - r) : r (1 - q)`,
//!
//! ```text
//! contribution of i       += v     * integral of (a_i - r_i) / g_i * prod g
//! interaction of i and j  += v / 2 * integral of (a_i - r_i) / g_i * (a_j - r_j) / g_j * prod g
//! ```
//!
//! over q from 0 to 1 and all features of the path (Wettenstein et al., Quadrature-TreeSHAP, 2026). The
//! integrands are polynomials, so a rule of enough points is exact, all terms of a product are positive,
//! and no depth makes them cancel. A walk carries the weighted product at each point down, and the sums
//! over leaves up. A feature that is split on again changes its `r` and `a` half way down a path: at each
//! edge the sum is multiplied by what the edge changed of `(a - r) / g`, and the changes add up.

#![allow(clippy::needless_range_loop, reason = "loops over lanes become vectors")]

use super::nodes::{Child, Explained, Step};
use super::quadrature::Rule;

/// Points that are walked together.
pub(super) const POINTS: usize = 4;

/// The least product of shares. What is below it contributes nothing that an f32 would show, and
/// divides.
const LEAST: f64 = 1e-100;

type Lanes = [f64; POINTS];

/// What the path to a node says of a feature; all features begin as one that is not on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnPath {
    times: u32,
    taken: bool,
    share: f64,
    /// `1 / g`.
    inverse: Lanes,
    /// `(a - r) / g`.
    excess: Lanes,
}

impl OnPath {
    pub(super) const NOT: OnPath =
        OnPath { times: 0, taken: true, share: 1.0, inverse: [1.0; POINTS], excess: [0.0; POINTS] };

    /// After another split, and the factor of the product.
    #[inline(always)]
    fn after(&self, share: f64, taken: bool, points: &Lanes) -> (OnPath, Lanes) {
        let share = (self.share * share).max(LEAST);
        let taken = self.taken && taken;
        let (at_zero, slope) = if taken { (share, 1.0 - share) } else { (share, -share) };
        let numerator = if taken { 1.0 - share } else { -share };
        let mut next = OnPath { times: self.times + 1, taken, share, ..*self };
        let mut factor = [0.0; POINTS];
        for lane in 0..POINTS {
            let g = at_zero + slope * points[lane];
            next.inverse[lane] = 1.0 / g;
            next.excess[lane] = numerator * next.inverse[lane];
            factor[lane] = g * self.inverse[lane];
        }
        (next, factor)
    }
}

/// Where contributions of one output are added.
pub(super) struct Sums<'a> {
    /// Per feature.
    pub(super) contributions: &'a mut [f64],
    /// Per pair, row-major, with `contributions.len() + 1` columns; or empty. A pair has its value once,
    /// on either side of the diagonal.
    pub(super) interactions: &'a mut [f64],
}

/// Work between two looks for interrupts, in steps of some nanoseconds.
const WORK_PER_CHECK: usize = 1 << 16;

/// What a walk needs beside the tree; the same for all trees of a row.
pub(super) struct Walk<'a> {
    pub(super) on_path: &'a mut [OnPath],
    /// The features of the path, in the order of their first splits.
    pub(super) order: &'a mut Vec<u32>,
    pub(super) work: &'a mut usize,
    pub(super) check_interrupts: &'a mut dyn FnMut(),
}

impl Walk<'_> {
    /// Adds the contributions of a tree; returns the mean of its leaves, weighed by their shares.
    pub(super) fn tree(&mut self, tree: &impl Explained, rule: &Rule, sums: &mut Sums<'_>) -> f64 {
        let mut mean = 0.0;
        let weights = rule.weights.as_chunks::<POINTS>().0;
        for (points, weights) in rule.points.as_chunks().0.iter().zip(weights) {
            let nodes_left = tree.num_nodes();
            let mut below = Below { tree, points, nodes_left, walk: self, sums };
            mean = below.sum(tree.root(), tree.depth(), *weights).mean;
        }
        mean
    }

    #[inline(always)]
    pub(super) fn count(&mut self, work: usize) {
        *self.work += work;
        if *self.work >= WORK_PER_CHECK {
            *self.work = 0;
            (self.check_interrupts)();
        }
    }
}

struct Below<'a, 'w, 's, T> {
    tree: &'a T,
    points: &'a Lanes,
    /// A damaged image may lead to a node twice, and never to more than there are.
    nodes_left: usize,
    walk: &'a mut Walk<'w>,
    sums: &'a mut Sums<'s>,
}

/// The sums over the leaves below a node.
#[derive(Clone, Copy, Default)]
struct Leaves {
    weighted: Lanes,
    mean: f64,
}

impl<T: Explained> Below<'_, '_, '_, T> {
    /// The leaves below a node. A leaf takes no call.
    #[inline(always)]
    fn sum(&mut self, node: usize, depth: u32, mut product: Lanes) -> Leaves {
        match self.tree.step(node) {
            Step::Leaf(value) => {
                for lane in 0..POINTS {
                    product[lane] *= value;
                }
                Leaves { weighted: product, mean: value }
            }
            Step::Split { .. } if depth == 0 || self.nodes_left == 0 => Leaves::default(),
            Step::Split { feature, children } => self.split(feature, children, depth, product),
        }
    }

    #[inline(never)]
    fn split(
        &mut self,
        feature: usize,
        children: [Child; 2],
        depth: u32,
        product: Lanes,
    ) -> Leaves {
        self.nodes_left -= 1;
        self.walk.count(1);
        let Some(before) = self.walk.on_path.get(feature).copied() else {
            return Leaves::default();
        };
        if before.times == 0 {
            self.walk.order.push(feature as u32);
        }
        let (mut all, mut change) = (Leaves::default(), [0.0; POINTS]);
        for child in children {
            let (after, factor) = before.after(child.share, child.taken, self.points);
            let mut product = product;
            for lane in 0..POINTS {
                product[lane] *= factor[lane];
            }
            self.walk.on_path[feature] = after;
            let below = self.sum(child.node, depth - 1, product);
            all.mean += child.share * below.mean;
            for lane in 0..POINTS {
                all.weighted[lane] += below.weighted[lane];
                change[lane] += below.weighted[lane] * (after.excess[lane] - before.excess[lane]);
            }
        }
        if let Some(sum) = self.sums.contributions.get_mut(feature) {
            *sum += change[0] + change[1] + change[2] + change[3];
        }
        if !self.sums.interactions.is_empty() {
            self.pairs(feature, &change);
        }
        self.walk.on_path[feature] = before;
        if before.times == 0 {
            self.walk.order.pop();
        }
        all
    }

    /// Adds what the edges of a split change of the interactions of its feature with all others on the path.
    fn pairs(&mut self, feature: usize, change: &Lanes) {
        self.walk.count(self.walk.order.len());
        let columns = self.sums.contributions.len() + 1;
        for other in &*self.walk.order {
            let other = *other as usize;
            let Some(on_path) = self.walk.on_path.get(other).filter(|_| other != feature) else {
                continue;
            };
            let mut sum = 0.0;
            for lane in 0..POINTS {
                sum += change[lane] * on_path.excess[lane];
            }
            let (row, column) = (feature.min(other), feature.max(other));
            if let Some(pair) = self.sums.interactions.get_mut(row * columns + column) {
                *pair += 0.5 * sum;
            }
        }
    }
}
