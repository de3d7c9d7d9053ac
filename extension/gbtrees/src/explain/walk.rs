//! The walk of a tree with a block of rows, for contributions and pairwise interactions.
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
//! walk computes the derivative backwards. At each point it carries the product `C`, starting from the
//! point's weight, down, and the weighted mean `P` of the leaves below up. A split of share `rho`, on a
//! feature with the product `r` so far, has
//!
//! ```text
//! sigma = a ? (left ? 1 - rho : -rho) : 0         gamma = rho + sigma q / (r + q (1 - r))
//! C_left = gamma C    C_right = C - C_left        P = P_right + gamma (P_left - P_right)
//! contribution += sigma * sum over points of C r / (r + q (1 - r))^2 (P_left - P_right)
//! ```
//!
//! This needs no division and no special case for repeated features. f32 suffices, since differences of
//! numbers common to both sides are exact. A split's change times `(a - r) / g` of another feature on
//! its path is its change of their interaction: a path ends up with every product of two.
//!
//! Rows are in lanes. Each adds in tree order, for any number of lanes and rows. A split of two leaves
//! is computed within its parent, in registers, if there are enough.

#![allow(unsafe_code, reason = "the same is compiled for the instructions that the processor has")]
#![allow(clippy::needless_range_loop, reason = "loops over points and registers are unrolled")]

use crate::compiled::records::{
    LEFT_LEAF, LEFT_TWO_LEAVES, RIGHT_LEAF, RIGHT_TWO_LEAVES, SplitRecord, number_of_key,
};
use crate::ensemble::is_in_set;
use crate::eval::interleaved::NodeSections;
use crate::explain::lanes::{Lanes, PORTABLE, REGISTERS};
#[cfg(target_arch = "x86_64")]
use crate::explain::lanes::{Ymm, Zmm};
use crate::{Cancel, verified};

/// Maximum rows per block.
const MAX_ROWS: usize = 32;

/// A block of rows.
pub(super) struct Block<'a> {
    /// Keys by slot and row.
    pub(super) keys: &'a [u32],
    pub(super) nodes: NodeSections<'a>,
}

/// Work between two polls for cancellation: points of splits and of pairs.
const WORK_PER_CHECK: usize = 1 << 17;

/// Polls for cancellation.
pub(super) struct CancelChecks<'a> {
    pub(super) cancel: Cancel<'a>,
    pub(super) work: usize,
    pub(super) stops: bool,
}

impl CancelChecks<'_> {
    #[inline(always)]
    pub(super) fn count(&mut self, work: usize) {
        self.work += work;
        if self.work >= WORK_PER_CHECK {
            self.work = 0;
            self.stops |= self.cancel.check().is_err();
        }
    }
}

/// Returns the place of a pair of features; the diagonal holds contributions.
#[inline(always)]
pub(super) fn pair(one: usize, other: usize) -> usize {
    let (more, less) = (one.max(other), one.min(other));
    more * (more + 1) / 2 + less
}

pub(super) type Registers<L, const V: usize> = [L; V];
/// Numbers by register and point.
pub(super) type AtPoints<L, const N: usize, const V: usize> = [[L; N]; V];

/// A walk's state on one level.
#[repr(C)]
pub(super) struct Frame<L, const N: usize, const V: usize> {
    /// The product for the left child.
    pub(super) product: AtPoints<L, N, V>,
    /// The product for the right child, which is walked first; then the mean of the left one.
    pub(super) left: AtPoints<L, N, V>,
    right: AtPoints<L, N, V>,
    /// `(a - r) / g` of the split's feature for that child.
    excess: AtPoints<L, N, V>,
}

/// State of a feature while the walk is below one of its splits.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct OnPath<L: Lanes, const N: usize, const V: usize> {
    /// Rows that take the path.
    pub(super) taken: [L::Mask; V],
    /// For interactions, null if the feature is not on the path.
    pub(super) excess: *const AtPoints<L, N, V>,
}

/// The kind of a split's child.
enum Side {
    Leaf,
    /// A split of two leaves, computed within its parent.
    TwoLeaves,
    Split,
}

/// A split being processed.
struct Visit<'a, L: Lanes, const N: usize, const V: usize> {
    split: &'a SplitRecord,
    /// The feature's place.
    feature: usize,
    tau: &'a [f32; N],
    omega: &'a [f32; N],
    /// Rows that go left, and rows on the feature's path so far.
    left: [L::Mask; V],
    taken: [L::Mask; V],
    sigma: Registers<L, V>,
}

impl<L: Lanes, const N: usize, const V: usize> Visit<'_, L, N, V> {
    /// # Safety
    /// The processor has the instructions of `L`.
    #[inline(always)]
    unsafe fn gamma(&self, v: usize, q: usize) -> L {
        // SAFETY: the processor has the instructions of `L`.
        unsafe { L::splat(self.split.share).plus(L::splat(self.tau[q]).times(self.sigma[v])) }
    }

    /// Returns the products of the left and right child.
    ///
    /// # Safety
    /// The processor has the instructions of `L`.
    #[inline(always)]
    unsafe fn products(&self, v: usize, product: [L; N]) -> [[L; N]; 2] {
        let (mut left, mut right) = (product, product);
        for q in 0..N {
            // SAFETY: the processor has the instructions of `L`.
            unsafe {
                left[q] = self.gamma(v, q).times(product[q]);
                right[q] = product[q].minus(left[q]);
            }
        }
        [left, right]
    }

    /// Returns the rows on the feature's path on the left, and on the right.
    ///
    /// # Safety
    /// The processor has the instructions of `L`.
    #[inline(always)]
    unsafe fn taken_below(&self) -> [[L::Mask; V]; 2] {
        let (mut left, mut right) = (self.taken, self.taken);
        for v in 0..V {
            // SAFETY: the processor has the instructions of `L`.
            unsafe {
                left[v] = L::both(self.taken[v], self.left[v]);
                right[v] = L::but_not(self.taken[v], self.left[v]);
            }
        }
        [left, right]
    }
}

/// The inputs and outputs of a walk.
pub(super) struct Walk<'a, 'i, L: Lanes, const N: usize, const V: usize> {
    pub(super) splits: &'a [SplitRecord],
    /// `tau` and `omega` of each split.
    pub(super) factors: *const [[f32; N]; 2],
    pub(super) excess: *const [[f32; N]; 2],
    /// `-1 / (1 - q)`: `(a - r) / g` of a row off the path.
    pub(super) outside: [f32; N],
    pub(super) block: &'a Block<'a>,
    pub(super) on_path: *mut OnPath<L, N, V>,
    pub(super) sums: *mut Registers<L, V>,
    /// The end of the frames, and the number of features.
    pub(super) end: *const Frame<L, N, V>,
    pub(super) features: usize,
    /// Features on the current path.
    pub(super) order: &'a mut Vec<u32>,
    /// Outcomes of a category split by row.
    pub(super) outcomes: [u32; MAX_ROWS],
    pub(super) checks: &'a mut CancelChecks<'i>,
}

/// An instruction set that [`Walk::split`] is compiled for.
pub(super) trait Instructions {
    type Lanes: Lanes;

    /// # Safety
    /// See [`Walk::split`].
    unsafe fn split<const N: usize, const V: usize, const PAIRS: bool>(
        walk: &mut Walk<'_, '_, Self::Lanes, N, V>,
        at: usize,
        frame: *mut Frame<Self::Lanes, N, V>,
        product: *const AtPoints<Self::Lanes, N, V>,
        mean: *mut AtPoints<Self::Lanes, N, V>,
    );
}

macro_rules! instructions {
    ($name:ident, $lanes:ty $(, $feature:literal)?) => {
        pub(super) struct $name;

        impl Instructions for $name {
            type Lanes = $lanes;

            #[inline(always)]
            unsafe fn split<const N: usize, const V: usize, const PAIRS: bool>(
                walk: &mut Walk<'_, '_, $lanes, N, V>,
                at: usize,
                frame: *mut Frame<$lanes, N, V>,
                product: *const AtPoints<$lanes, N, V>,
                mean: *mut AtPoints<$lanes, N, V>,
            ) {
                $(#[target_feature(enable = $feature)])?
                /// # Safety
                /// See [`Walk::split`].
                #[inline(never)]
                unsafe fn compiled<const N: usize, const V: usize, const PAIRS: bool>(
                    walk: &mut Walk<'_, '_, $lanes, N, V>,
                    at: usize,
                    frame: *mut Frame<$lanes, N, V>,
                    product: *const AtPoints<$lanes, N, V>,
                    mean: *mut AtPoints<$lanes, N, V>,
                ) {
                    // SAFETY: the processor has these instructions; the rest is the caller's, as in
                    // `Walk::split`.
                    unsafe { walk.split::<$name, PAIRS>(at, frame, product, mean) }
                }
                // SAFETY: as above.
                unsafe { compiled::<N, V, PAIRS>(walk, at, frame, product, mean) }
            }
        }
    };
}
instructions!(Portable, [f32; PORTABLE]);
#[cfg(target_arch = "x86_64")]
instructions!(Avx2, Ymm, "avx2");
#[cfg(target_arch = "x86_64")]
instructions!(Avx512, Zmm, "avx512f");

/// Repeats a block for each register: the loop is too large for compilers to unroll, and one that is not would keep
/// all state of a split in memory.
macro_rules! each_register {
    ($v:ident in $count:ident $block:block) => {{
        const { assert!($count <= REGISTERS) };
        let $v = 0;
        $block
        if $count > 1 {
            let $v = 1;
            $block
        }
    }};
}

impl<'a, L: Lanes, const N: usize, const V: usize> Walk<'a, '_, L, N, V> {
    /// Walks the subtree of a split with its product; writes the mean of its leaves.
    ///
    /// # Safety
    /// The processor has the instructions. The split exists, and from `frame` on there is a frame per
    /// split of the longest path below it. Features have places in `on_path` and `sums`, slots are in
    /// the block, and children with sides are splits of the walk.
    #[inline(always)]
    unsafe fn split<I: Instructions<Lanes = L>, const PAIRS: bool>(
        &mut self,
        at: usize,
        frame: *mut Frame<L, N, V>,
        product: *const AtPoints<L, N, V>,
        mean: *mut AtPoints<L, N, V>,
    ) {
        // SAFETY: as for this function; product and mean are not in this frame. Each combination of
        // sides has a copy of the code, so that a processor predicts a single branch.
        unsafe {
            let (product, mean) = (&*product, &mut *mean);
            let visit = self.visit(at);
            macro_rules! walk {
                ($left:ident, $right:ident) => {{
                    const LEFT: u8 = Side::$left as u8;
                    const RIGHT: u8 = Side::$right as u8;
                    self.with_sides::<I, PAIRS, LEFT, RIGHT>(at, &visit, frame, product, mean)
                }};
            }
            // One bit each: a choice by number compiles into a jump table, which is slower.
            let split = visit.split;
            let inlines = |bit: u32| L::INLINES && !PAIRS && split.has(bit);
            if split.has(LEFT_LEAF) {
                if split.has(RIGHT_LEAF) {
                    for v in 0..V {
                        mean[v] = self.two_leaves::<PAIRS>(&visit, v, product[v]);
                    }
                } else if inlines(RIGHT_TWO_LEAVES) {
                    walk!(Leaf, TwoLeaves);
                } else {
                    walk!(Leaf, Split);
                }
            } else if inlines(LEFT_TWO_LEAVES) {
                if split.has(RIGHT_LEAF) {
                    walk!(TwoLeaves, Leaf);
                } else if inlines(RIGHT_TWO_LEAVES) {
                    walk!(TwoLeaves, TwoLeaves);
                } else {
                    walk!(TwoLeaves, Split);
                }
            } else if split.has(RIGHT_LEAF) {
                walk!(Split, Leaf);
            } else if inlines(RIGHT_TWO_LEAVES) {
                walk!(Split, TwoLeaves);
            } else {
                walk!(Split, Split);
            }
        }
    }

    /// Processes a split with the given sides.
    ///
    /// # Safety
    /// See [`Walk::split`].
    #[inline(always)]
    unsafe fn with_sides<I, const PAIRS: bool, const LEFT: u8, const RIGHT: u8>(
        &mut self,
        at: usize,
        visit: &Visit<'_, L, N, V>,
        frame: *mut Frame<L, N, V>,
        product: &AtPoints<L, N, V>,
        mean: &mut AtPoints<L, N, V>,
    ) where
        I: Instructions<Lanes = L>,
    {
        const LEAF: u8 = Side::Leaf as u8;
        const TWO_LEAVES: u8 = Side::TwoLeaves as u8;
        const SPLIT: u8 = Side::Split as u8;
        // SAFETY: as for [`Walk::split`].
        unsafe {
            verified::check(frame.cast_const() < self.end, "no path is longer than its group's");
            let [to_left, left_mean, right_mean, excess] = [
                &raw mut (*frame).product,
                &raw mut (*frame).left,
                &raw mut (*frame).right,
                &raw mut (*frame).excess,
            ];
            let on_path = self.on_path.add(visit.feature);
            let excess_above = (*on_path).excess;
            if PAIRS {
                if excess_above.is_null() {
                    self.order.push(visit.feature as u32);
                }
                (*on_path).excess = excess;
            }
            let (next, to_right) = (frame.add(1), left_mean);
            // Right side first: the order in which `row` adds going up.
            let (mut right, mut left) = (None, None);
            if RIGHT == TWO_LEAVES {
                [_, (*on_path).taken] = visit.taken_below();
                right = Some(self.visit(visit.split.other as usize));
            }
            if LEFT == SPLIT || RIGHT == SPLIT {
                for v in 0..V {
                    let products = visit.products(v, product[v]);
                    if LEFT == SPLIT {
                        (*to_left)[v] = products[0];
                    }
                    if RIGHT == SPLIT {
                        (*to_right)[v] = products[1];
                    } else if let Some(right) = &right {
                        (*right_mean)[v] = self.two_leaves::<PAIRS>(right, v, products[1]);
                    }
                }
            }
            if RIGHT == SPLIT {
                [_, (*on_path).taken] = visit.taken_below();
                if PAIRS {
                    self.set_excess(at, 1, &(*on_path).taken, &mut *excess);
                }
                let right_at = visit.split.other as usize;
                I::split::<N, V, PAIRS>(self, right_at, next, to_right, right_mean);
            }
            if LEFT != LEAF {
                [(*on_path).taken, _] = visit.taken_below();
                if LEFT == SPLIT {
                    right = None;
                    if PAIRS {
                        self.set_excess(at, 0, &(*on_path).taken, &mut *excess);
                    }
                    I::split::<N, V, PAIRS>(self, at + 1, next, to_left, left_mean);
                } else {
                    left = Some(self.visit(at + 1));
                }
            }
            (*on_path).taken = visit.taken;
            if PAIRS {
                (*on_path).excess = excess_above;
            }
            let leaf = [L::splat(visit.split.value); N];
            each_register!(v in V {
                let [to_left, to_right] = visit.products(v, product[v]);
                let right = match &right {
                    _ if RIGHT == LEAF => leaf,
                    Some(right) if RIGHT == TWO_LEAVES => {
                        self.two_leaves::<PAIRS>(right, v, to_right)
                    }
                    _ => (*right_mean)[v],
                };
                let left = match &left {
                    _ if LEFT == LEAF => leaf,
                    Some(left) if LEFT == TWO_LEAVES => self.two_leaves::<PAIRS>(left, v, to_left),
                    _ => (*left_mean)[v],
                };
                let mut terms = product[v];
                for q in 0..N {
                    let difference = left[q].minus(right[q]);
                    terms[q] = terms[q].times(L::splat(visit.omega[q])).times(difference);
                    mean[v][q] = right[q].plus(visit.gamma(v, q).times(difference));
                }
                self.add::<PAIRS>(visit.feature, v, terms, visit.sigma[v]);
            });
            if PAIRS && excess_above.is_null() {
                self.order.pop();
            }
            self.checks.count(N);
        }
    }

    /// Prepares a split on the path of `on_path`.
    ///
    /// # Safety
    /// See [`Walk::split`].
    #[inline(always)]
    unsafe fn visit(&mut self, at: usize) -> Visit<'a, L, N, V> {
        // SAFETY: the split exists, and its feature has a place.
        unsafe {
            let split = verified::at(self.splits, at, "a split is there");
            let [tau, omega] = &*self.factors.add(at);
            let feature = split.place() as usize;
            verified::check(feature < self.features, "a feature has a place");
            let taken = (*self.on_path.add(feature)).taken;
            let left = self.left(split);
            let mut sigma = [L::splat(0.0); V];
            for v in 0..V {
                // `1 - share` on the left, otherwise `-share`.
                let side = L::splat(1.0).only(left[v]).minus(L::splat(split.share));
                sigma[v] = side.only(taken[v]);
            }
            Visit { split, feature, tau, omega, left, taken, sigma }
        }
    }

    /// Adds the change of a split of two leaves; returns their mean.
    ///
    /// # Safety
    /// See [`Walk::split`].
    #[inline(always)]
    unsafe fn two_leaves<const PAIRS: bool>(
        &mut self,
        visit: &Visit<'_, L, N, V>,
        v: usize,
        mut product: [L; N],
    ) -> [L; N] {
        // SAFETY: as for [`Walk::split`].
        unsafe {
            let rise = visit.sigma[v].times(L::splat(visit.split.value));
            let mut mean = [rise; N];
            for q in 0..N {
                product[q] = product[q].times(L::splat(visit.omega[q]));
                mean[q] = L::splat(visit.split.mean()).plus(rise.times(L::splat(visit.tau[q])));
            }
            self.add::<PAIRS>(visit.feature, v, product, rise);
            mean
        }
    }

    /// Returns the rows that go left.
    ///
    /// # Safety
    /// See [`Walk::split`].
    #[inline(always)]
    unsafe fn left(&mut self, split: &SplitRecord) -> [L::Mask; V] {
        let rows = L::WIDTH * V;
        let slot = split.slot() as usize * rows;
        // SAFETY: the split's slot is in the block. A closure would be compiled without the
        // instructions.
        unsafe {
            let keys = verified::range(self.block.keys, slot, rows, "a block has every slot");
            let (mut from, mut shift, mut key) = (keys.as_ptr(), split.shift(), split.key);
            if split.is_set() {
                let words = self.block.nodes.words(split.key);
                outcomes_of_set(words, keys, &mut self.outcomes);
                (shift, key) = (0, 1);
                from = self.outcomes.as_ptr();
            }
            let mut left = [L::none(); V];
            for v in 0..V {
                left[v] = L::below(from.add(v * L::WIDTH), shift, key);
            }
            left
        }
    }

    /// Adds a split's change to its feature's contribution, and to the interactions of its pairs.
    ///
    /// # Safety
    /// See [`Walk::split`].
    #[inline(always)]
    unsafe fn add<const PAIRS: bool>(&mut self, feature: usize, v: usize, terms: [L; N], rise: L) {
        // SAFETY: the feature has a place.
        unsafe {
            let place = if PAIRS { pair(feature, feature) } else { feature };
            let sum = &mut (&mut *self.sums.add(place))[v];
            *sum = sum.plus(rise.times(total(terms)));
            if !PAIRS {
                return;
            }
            self.checks.count(N * self.order.len());
            for other in &*self.order {
                let other = *other as usize;
                if other == feature {
                    continue;
                }
                let excess = &*(*self.on_path.add(other)).excess;
                let mut products = terms;
                for q in 0..N {
                    products[q] = terms[q].times(excess[v][q]);
                }
                let sum = &mut (&mut *self.sums.add(pair(feature, other)))[v];
                *sum = sum.plus(rise.times(total(products)));
            }
        }
    }

    /// # Safety
    /// See [`Walk::split`].
    #[inline(always)]
    unsafe fn set_excess(
        &self,
        at: usize,
        side: usize,
        taken: &[L::Mask; V],
        excess: &mut AtPoints<L, N, V>,
    ) {
        // SAFETY: the split exists and its feature has a place.
        unsafe {
            let of_side = &(&*self.excess.add(at))[side];
            for q in 0..N {
                for v in 0..V {
                    let outside = L::splat(self.outside[q]);
                    excess[v][q] = L::splat(of_side[q]).or_else(taken[v], outside);
                }
            }
        }
    }
}

/// Sums over the points, in an order that vector registers of points can follow.
///
/// # Safety
/// The processor has the instructions of `L`.
#[inline(always)]
unsafe fn total<L: Lanes, const N: usize>(mut terms: [L; N]) -> L {
    let mut width = N.next_power_of_two();
    while width > 1 {
        width /= 2;
        for q in 0..width {
            if q + width < N {
                // SAFETY: the processor has the instructions of `L`.
                terms[q] = unsafe { terms[q].plus(terms[q + width]) };
            }
        }
    }
    terms[0]
}

/// Writes the outcomes of a category split: 0 for keys that go left, which are all but those of
/// members, and of missing values if the default is right.
#[cold]
#[inline(never)]
pub(super) fn outcomes_of_set(words: &[u32], keys: &[u32], outcomes: &mut [u32]) {
    for (key, outcome) in keys.iter().zip(outcomes) {
        *outcome = u32::from(*key == u32::MAX || is_in_set(words, number_of_key(*key)));
    }
}
