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
//! edge the sum is multiplied by what the edge changed of `(a - r) / g`, and the changes add up. At a leaf
//! `(a - r) / g` and the product's `g` cancel, so only splits divide, and leaves of one split share the rest.

#![allow(unsafe_code, reason = "the same is compiled for the instructions that the processor has")]

use super::lanes::Lanes;
#[cfg(target_arch = "x86_64")]
use super::lanes::Ymm;
use super::nodes::{Child, Explained, Step};
use super::quadrature::{POINTS, Rule};
use crate::eval::Kernel;

/// The least product of shares. What is below it contributes nothing that an f32 would show, and
/// divides.
const LEAST: f64 = 1e-100;

type Numbers = [f64; POINTS];

/// What the path to a node says of a feature; all features begin as one that is not on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnPath {
    is_there: bool,
    taken: bool,
    share: f64,
    /// `a - r`.
    difference: f64,
    /// `1 / g`.
    inverse: Numbers,
}

impl OnPath {
    pub(super) const NOT: OnPath = OnPath {
        is_there: false,
        taken: true,
        share: 1.0,
        difference: 0.0,
        inverse: [1.0; POINTS],
    };

    /// `(a - r) / g`.
    ///
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn excess<L: Lanes>(&self) -> L {
        // SAFETY: the caller's promise.
        unsafe { L::load(&self.inverse).times(L::splat(self.difference)) }
    }

    /// `r`, `a` and their difference after another split.
    #[inline(always)]
    fn after(&self, child: &Child) -> (f64, bool, f64) {
        let share = (self.share * child.share).max(LEAST);
        let taken = self.taken & child.taken;
        (share, taken, f64::from(u8::from(taken)) - share)
    }
}

/// Where contributions of one output are added.
pub(super) struct Sums<'a> {
    /// Per feature.
    pub(super) contributions: &'a mut [f64],
    pub(super) pairs: Pairs<'a>,
}

/// Where interactions of one output are added: successive rows of the matrix, or none.
pub(super) struct Pairs<'a> {
    /// Row-major, with a column per feature and another.
    pub(super) sums: &'a mut [f64],
    pub(super) columns: usize,
    /// The row that they begin with. Of a whole matrix a pair has its value above the diagonal alone.
    pub(super) first_row: usize,
}

impl Pairs<'_> {
    pub(super) fn none() -> Self {
        Pairs { sums: &mut [], columns: 1, first_row: 0 }
    }

    #[inline(always)]
    fn add(&mut self, one: usize, other: usize, sum: f64) {
        let (low, high) = (one.min(other), one.max(other));
        if self.sums.len() == self.columns * self.columns {
            self.sums[low * self.columns + high] += sum;
            return;
        }
        for (row, column) in [(low, high), (high, low)] {
            let at = row.wrapping_sub(self.first_row).wrapping_mul(self.columns);
            // The pairs of other rows are added when it is their turn.
            if row >= self.first_row && at < self.sums.len() {
                self.sums[at + column] += sum;
            }
        }
    }
}

/// Work between two looks for interrupts, in steps of some nanoseconds.
const WORK_PER_CHECK: usize = 1 << 16;

/// What a walk needs beside the tree; the same for all trees of a row.
pub(super) struct Walk<'a> {
    pub(super) level: Level,
    pub(super) on_path: &'a mut [OnPath],
    /// The features of the path, in the order of their first splits.
    pub(super) order: &'a mut Vec<u32>,
    pub(super) work: &'a mut usize,
    pub(super) check_interrupts: &'a mut dyn FnMut(),
}

/// Which instructions a walk has: results are the same, as nothing is contracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Level {
    /// That of a kernel's instructions.
    pub(super) fn of(kernel: Kernel) -> Level {
        match kernel.name() {
            #[cfg(target_arch = "x86_64")]
            "avx512" | "avx512bw" | "avx2" if is_x86_feature_detected!("avx2") => Level::Avx2,
            _ => Level::Portable,
        }
    }
}

impl Walk<'_> {
    /// Adds the contributions of a tree; returns the mean of its leaves, weighed by their shares.
    pub(super) fn tree(&mut self, tree: &impl Explained, rule: &Rule, sums: &mut Sums<'_>) -> f64 {
        let mut mean = 0.0;
        let weights = rule.weights.as_chunks::<POINTS>().0;
        for (points, weights) in rule.points.as_chunks().0.iter().zip(weights) {
            let level = self.level;
            let has_pairs = !sums.pairs.sums.is_empty();
            let mut below = Below { tree, points, splits: 0, walk: self, sums };
            let start = (tree.root(), weights);
            mean = match (level, has_pairs) {
                (Level::Portable, false) => below.root::<Portable, false>(start),
                (Level::Portable, true) => below.root::<Portable, true>(start),
                #[cfg(target_arch = "x86_64")]
                (Level::Avx2, false) => below.root::<Avx2, false>(start),
                #[cfg(target_arch = "x86_64")]
                (Level::Avx2, true) => below.root::<Avx2, true>(start),
            };
            let splits = below.splits;
            self.count(splits % NODES_PER_COUNT);
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

/// Splits of one tree between two counts.
const NODES_PER_COUNT: usize = 1 << 12;

struct Below<'a, 'w, 's, T> {
    tree: &'a T,
    points: &'a Numbers,
    /// That have been visited.
    splits: usize,
    walk: &'a mut Walk<'w>,
    sums: &'a mut Sums<'s>,
}

/// A split that a walk has come to.
#[derive(Clone, Copy)]
struct At {
    feature: usize,
    children: [Child; 2],
}

/// The sums over the leaves below a node.
#[derive(Clone, Copy)]
struct Leaves<L> {
    weighted: L,
    mean: f64,
}

/// The instructions that [`Below::split`] is compiled with.
trait Instructions {
    type Lanes: Lanes;

    /// # Safety
    /// The processor has them.
    unsafe fn split<T: Explained, const PAIRS: bool>(
        below: &mut Below<'_, '_, '_, T>,
        at: &At,
        product: Self::Lanes,
    ) -> Leaves<Self::Lanes>;
}

struct Portable;

impl Instructions for Portable {
    type Lanes = Numbers;

    #[inline(never)]
    unsafe fn split<T: Explained, const PAIRS: bool>(
        below: &mut Below<'_, '_, '_, T>,
        at: &At,
        product: Numbers,
    ) -> Leaves<Numbers> {
        // SAFETY: there are no needs.
        unsafe { below.split::<Self, PAIRS>(at, product) }
    }
}

#[cfg(target_arch = "x86_64")]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx2 {
    type Lanes = Ymm;

    #[inline(always)]
    unsafe fn split<T: Explained, const PAIRS: bool>(
        below: &mut Below<'_, '_, '_, T>,
        at: &At,
        product: Ymm,
    ) -> Leaves<Ymm> {
        #[target_feature(enable = "avx2")]
        #[inline(never)]
        unsafe fn compiled<T: Explained, const PAIRS: bool>(
            below: &mut Below<'_, '_, '_, T>,
            at: &At,
            product: Ymm,
        ) -> Leaves<Ymm> {
            // SAFETY: the caller's promise.
            unsafe { below.split::<Avx2, PAIRS>(at, product) }
        }
        // SAFETY: the caller's promise.
        unsafe { compiled::<T, PAIRS>(below, at, product) }
    }
}

impl<T: Explained> Below<'_, '_, '_, T> {
    /// Walks from a root with the weights; returns the mean.
    fn root<I: Instructions, const PAIRS: bool>(
        &mut self,
        (root, weights): (usize, &Numbers),
    ) -> f64 {
        match self.tree.step(root) {
            Step::Leaf(value) => value,
            Step::Split { feature, children } => {
                let at = At { feature, children };
                // SAFETY: there is no such level where the processor lacks the instructions.
                unsafe { I::split::<T, PAIRS>(self, &at, I::Lanes::load(weights)) }.mean
            }
        }
    }

    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn split<I: Instructions, const PAIRS: bool>(
        &mut self,
        at: &At,
        product: I::Lanes,
    ) -> Leaves<I::Lanes> {
        // SAFETY: the caller's promise.
        unsafe {
            let feature = at.feature;
            let mut all = Leaves { weighted: I::Lanes::splat(0.0), mean: 0.0 };
            self.splits += 1;
            if self.splits.is_multiple_of(NODES_PER_COUNT) {
                self.walk.count(NODES_PER_COUNT);
            }
            let before = self.walk.on_path[feature];
            if PAIRS && !before.is_there {
                self.walk.order.push(feature as u32);
            }
            // The product without the feature.
            let others = product.times(I::Lanes::load(&before.inverse));
            let points = I::Lanes::load(self.points);
            // The leaves' `v g` is a line over the points, which starts and rises so.
            let (mut start, mut rise) = (0.0, 0.0);
            let mut change = all.weighted;
            // Where they lie: as one they would be read before they are written.
            for child in &at.children {
                let (share, taken, difference) = before.after(child);
                match self.tree.step(child.node) {
                    Step::Leaf(value) => {
                        all.mean += child.share * value;
                        start += share * value;
                        rise += difference * value;
                    }
                    Step::Split { feature: next, children } => {
                        let own = I::Lanes::splat(difference);
                        let g = I::Lanes::splat(share).plus(own.times(points));
                        let inverse = I::Lanes::splat(1.0).over(g);
                        self.walk.on_path[feature] = OnPath {
                            is_there: true,
                            taken,
                            share,
                            difference,
                            inverse: inverse.array(),
                        };
                        let next = At { feature: next, children };
                        let below = I::split::<T, PAIRS>(self, &next, others.times(g));
                        all.mean += child.share * below.mean;
                        change = change.plus(below.weighted.times(inverse.times(own)));
                        all.weighted = all.weighted.plus(below.weighted);
                    }
                }
            }
            let rise = I::Lanes::splat(rise);
            let line = I::Lanes::splat(start).plus(rise.times(points));
            all.weighted = all.weighted.plus(others.times(line));
            change = change.plus(others.times(rise)).minus(all.weighted.times(before.excess()));
            self.sums.contributions[feature] += change.sum();
            self.walk.on_path[feature] = before;
            if PAIRS {
                self.pairs(feature, change);
                if !before.is_there {
                    self.walk.order.pop();
                }
            }
            all
        }
    }

    /// Adds what the edges of a split change of the interactions of its feature with all others on the path.
    ///
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn pairs<L: Lanes>(&mut self, feature: usize, change: L) {
        self.walk.count(self.walk.order.len());
        for other in &*self.walk.order {
            let other = *other as usize;
            if other != feature {
                // SAFETY: the caller's promise.
                let sum = unsafe { change.times(self.walk.on_path[other].excess()).sum() };
                self.sums.pairs.add(feature, other, 0.5 * sum);
            }
        }
    }
}
