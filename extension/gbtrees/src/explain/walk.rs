//! The walk of a tree: contributions of a block of rows, and what their features contribute in pairs.
//!
//! For a leaf of value `v`, let `r` be the product of the shares of a feature's splits on the path, and
//! `a` 1 if the row takes the path at all of them, else 0. With `g(q) = a ? r + q (1 - r) : r (1 - q)`,
//!
//! ```text
//! contribution of i       += v     * integral of (a_i - r_i) / g_i * prod g
//! interaction of i and j  += v / 2 * integral of (a_i - r_i) / g_i * (a_j - r_j) / g_j * prod g
//! ```
//!
//! over q from 0 to 1 and all features of the path (Wettenstein et al., Quadrature-TreeSHAP, 2026). The walk
//! takes the derivative backwards. At every point it carries the product `C`, which begins as the point's
//! weight, down, and the weighted mean `P` of the leaves below up. A split whose share is `rho`, on a feature
//! with the product `r` so far, has
//!
//! ```text
//! sigma = a ? (left ? 1 - rho : -rho) : 0         gamma = rho + sigma q / (r + q (1 - r))
//! C_left = gamma C    C_right = C - C_left        P = P_right + gamma (P_left - P_right)
//! contribution += sigma * sum over points of C r / (r + q (1 - r))^2 (P_left - P_right)
//! ```
//!
//! So there is no division and no case for features that are split on again. An `f32` is enough, as
//! differences of what is alike on both sides are exact. What a split adds, times `(a - r) / g` of another
//! feature on its path, is what it adds to their interaction: a path has each product of two in the end.
//!
//! Rows are in lanes. Each adds in the order of the tree, whatever the number of lanes and of rows.

#![allow(unsafe_code, reason = "the same is compiled for the instructions that the processor has")]
#![allow(clippy::needless_range_loop, reason = "loops over points and registers are unrolled")]

use crate::compiled::records::number_of_key;
use crate::compiled::records::{Leaves, SplitRecord};
use crate::ensemble::is_in_set;
use crate::eval::Kernel;
use crate::eval::interleaved::NodeSections;
#[cfg(target_arch = "x86_64")]
use crate::explain::lanes::Ymm;
use crate::explain::lanes::{Lanes, PORTABLE, Zmm};
use crate::limits::refill;
use crate::quadrature::{Points, SplitFactors};
#[cfg(target_arch = "x86_64")]
use crate::{Cancel, Result, verified};

/// Registers of a block's rows.
pub(super) const REGISTERS: usize = 2;
/// Most rows of a block.
const MAX_ROWS: usize = 32;

/// Points that a walk has at most.
pub(super) const MAX_POINTS: usize = 8;

/// Which instructions a walk has: results are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// That of a kernel's instructions.
    pub(super) fn of(kernel: Kernel) -> Level {
        match kernel.name() {
            #[cfg(target_arch = "x86_64")]
            "avx512" | "avx512bw" if is_x86_feature_detected!("avx512f") => Level::Avx512,
            #[cfg(target_arch = "x86_64")]
            "avx2" if is_x86_feature_detected!("avx2") => Level::Avx2,
            _ => Level::Portable,
        }
    }

    /// Rows of a block.
    pub(super) fn rows(self) -> usize {
        match self {
            Level::Portable => PORTABLE * REGISTERS,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Ymm::WIDTH * REGISTERS,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Zmm::WIDTH * REGISTERS,
        }
    }
}

/// Numbers of a cache line.
const LINE: usize = 16;

/// Room for registers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// The buffers of walks.
#[derive(Default)]
pub(super) struct WalkBuffers {
    /// A frame per level, and at the end what is by feature or by pair of them.
    lines: Vec<Line>,
    /// The features of the path.
    order: Vec<u32>,
}

/// A block of rows, and where its sums go.
pub(super) struct Block<'a> {
    /// By slot the keys of the block's rows.
    pub(super) keys: &'a [u32],
    pub(super) nodes: NodeSections<'a>,
}

/// Work between two looks for a cancel: points of splits, and of pairs of features.
const WORK_PER_CHECK: usize = 1 << 17;

/// Looks for interrupts.
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

/// The place of a pair of features, of which the diagonal has contributions.
#[inline(always)]
pub(super) fn pair(one: usize, other: usize) -> usize {
    let (more, less) = (one.max(other), one.min(other));
    more * (more + 1) / 2 + less
}

type Registers<L> = [L; REGISTERS];
type AtPoints<L, const N: usize> = [Registers<L>; N];

/// What a walk knows on one level.
#[repr(C)]
struct Frame<L, const N: usize> {
    gamma: AtPoints<L, N>,
    /// What goes to the child that is walked.
    product: AtPoints<L, N>,
    left: AtPoints<L, N>,
    right: AtPoints<L, N>,
    /// `(a - r) / g` of the split's feature, on the way to that child.
    excess: AtPoints<L, N>,
}

/// What is known of a feature of the tree while a walk is below one of its splits.
#[derive(Clone, Copy)]
#[repr(C)]
struct OnPath<L: Lanes, const N: usize> {
    /// Which rows take the path.
    taken: [L::Mask; REGISTERS],
    /// Nothing if it is not on the path.
    excess: *const AtPoints<L, N>,
}

struct Walk<'a, 'i, L: Lanes, const N: usize> {
    splits: &'a [SplitRecord],
    numbers: *const [[f32; N]; 2],
    excess: *const [[f32; N]; 2],
    /// `-1 / (1 - q)`: `(a - r) / g` of a row that does not take the path.
    outside: [f32; N],
    block: &'a Block<'a>,
    on_path: *mut OnPath<L, N>,
    sums: *mut Registers<L>,
    /// Behind the last frame; and how many features there are.
    end: *const Frame<L, N>,
    features: usize,
    order: &'a mut Vec<u32>,
    checks: &'a mut CancelChecks<'i>,
}

/// The instructions that [`Walk::split`] is compiled with.
trait Instructions {
    type Lanes: Lanes;

    /// # Safety
    /// See [`Walk::split`].
    unsafe fn split<const N: usize, const PAIRS: bool>(
        walk: &mut Walk<'_, '_, Self::Lanes, N>,
        at: usize,
        frame: *mut Frame<Self::Lanes, N>,
        product: *const AtPoints<Self::Lanes, N>,
        mean: *mut AtPoints<Self::Lanes, N>,
    );
}

macro_rules! instructions {
    ($name:ident, $lanes:ty $(, $feature:literal)?) => {
        struct $name;

        impl Instructions for $name {
            type Lanes = $lanes;

            #[inline(always)]
            unsafe fn split<const N: usize, const PAIRS: bool>(
                walk: &mut Walk<'_, '_, $lanes, N>,
                at: usize,
                frame: *mut Frame<$lanes, N>,
                product: *const AtPoints<$lanes, N>,
                mean: *mut AtPoints<$lanes, N>,
            ) {
                $(#[target_feature(enable = $feature)])?
                /// # Safety
                /// See [`Walk::split`].
                #[inline(never)]
                unsafe fn compiled<const N: usize, const PAIRS: bool>(
                    walk: &mut Walk<'_, '_, $lanes, N>,
                    at: usize,
                    frame: *mut Frame<$lanes, N>,
                    product: *const AtPoints<$lanes, N>,
                    mean: *mut AtPoints<$lanes, N>,
                ) {
                    // SAFETY: the caller's promise.
                    unsafe { walk.split::<$name, PAIRS>(at, frame, product, mean) }
                }
                // SAFETY: the caller's promise.
                unsafe { compiled::<N, PAIRS>(walk, at, frame, product, mean) }
            }
        }
    };
}
instructions!(Portable, [f32; PORTABLE]);
#[cfg(target_arch = "x86_64")]
instructions!(Avx2, Ymm, "avx2");
#[cfg(target_arch = "x86_64")]
instructions!(Avx512, Zmm, "avx512f");

impl<L: Lanes, const N: usize> Walk<'_, '_, L, N> {
    /// Walks what is below a split, to which the product belongs; writes the mean of its leaves.
    ///
    /// # Safety
    /// The processor has the instructions. There is such a split, and from the frame on as many frames as
    /// splits on the longest path below it; the features of splits have places in `on_path` and `sums`,
    /// their slots are slots of the block, and their children splits of the walk.
    #[inline(always)]
    unsafe fn split<I: Instructions<Lanes = L>, const PAIRS: bool>(
        &mut self,
        at: usize,
        frame: *mut Frame<L, N>,
        product: *const AtPoints<L, N>,
        mean: *mut AtPoints<L, N>,
    ) {
        // SAFETY: the caller's promise; the product and the mean are not of this frame.
        unsafe {
            let split = verified::at(self.splits, at, "a split is there");
            verified::check(frame.cast_const() < self.end, "no path is longer than its group's");
            let [tau, omega] = &*self.numbers.add(at);
            let (feature, leaves) = (split.place() as usize, split.leaves());
            verified::check(feature < self.features, "a feature has a place");
            let on_path = self.on_path.add(feature);
            let before = *on_path;
            let product = &*product;
            let left = self.left(split);
            let mut sigma = [L::splat(0.0); REGISTERS];
            for v in 0..REGISTERS {
                // 1 - share on the left, else -share.
                let side = L::splat(1.0).only(left[v]).minus(L::splat(split.share));
                sigma[v] = side.only(before.taken[v]);
            }
            if leaves == Leaves::Both {
                let difference = L::splat(split.value);
                for v in 0..REGISTERS {
                    let rise = sigma[v].times(difference);
                    let mut terms = [rise; N];
                    for q in 0..N {
                        terms[q] = product[q][v].times(L::splat(omega[q]));
                        (*mean)[q][v] = L::splat(split.mean()).plus(rise.times(L::splat(tau[q])));
                    }
                    self.add::<PAIRS>(feature, v, terms, rise);
                }
                return;
            }
            let gamma = &mut (*frame).gamma;
            let [below, left_mean, right_mean, excess] = [
                &raw mut (*frame).product,
                &raw mut (*frame).left,
                &raw mut (*frame).right,
                &raw mut (*frame).excess,
            ];
            for q in 0..N {
                for v in 0..REGISTERS {
                    let moved = L::splat(tau[q]).times(sigma[v]);
                    gamma[q][v] = L::splat(split.share).plus(moved);
                }
            }
            if PAIRS {
                if before.excess.is_null() {
                    self.order.push(feature as u32);
                }
                (*on_path).excess = excess;
            }
            let next = frame.add(1);
            // The right side first: what one row adds going up comes in this order.
            if leaves != Leaves::Right {
                for q in 0..N {
                    for v in 0..REGISTERS {
                        let to_left = gamma[q][v].times(product[q][v]);
                        (*below)[q][v] = product[q][v].minus(to_left);
                    }
                }
                for v in 0..REGISTERS {
                    (*on_path).taken[v] = L::but_not(before.taken[v], left[v]);
                }
                if PAIRS {
                    self.set_excess(at, 1, &(*on_path).taken, &mut *excess);
                }
                let right = if leaves == Leaves::Left { at + 1 } else { split.other as usize };
                I::split::<N, PAIRS>(self, right, next, below, right_mean);
            }
            if leaves != Leaves::Left {
                for q in 0..N {
                    for v in 0..REGISTERS {
                        (*below)[q][v] = gamma[q][v].times(product[q][v]);
                    }
                }
                for v in 0..REGISTERS {
                    (*on_path).taken[v] = L::both(before.taken[v], left[v]);
                }
                if PAIRS {
                    self.set_excess(at, 0, &(*on_path).taken, &mut *excess);
                }
                I::split::<N, PAIRS>(self, at + 1, next, below, left_mean);
            }
            *on_path = before;
            let leaf = L::splat(split.value);
            for v in 0..REGISTERS {
                let mut terms = [leaf; N];
                for q in 0..N {
                    let of_left = if leaves == Leaves::Left { leaf } else { (*left_mean)[q][v] };
                    let of_right = if leaves == Leaves::Right { leaf } else { (*right_mean)[q][v] };
                    let difference = of_left.minus(of_right);
                    terms[q] = product[q][v].times(L::splat(omega[q])).times(difference);
                    (*mean)[q][v] = of_right.plus(gamma[q][v].times(difference));
                }
                self.add::<PAIRS>(feature, v, terms, sigma[v]);
            }
            if PAIRS && before.excess.is_null() {
                self.order.pop();
            }
            self.checks.count(N);
        }
    }

    /// Which rows go left.
    ///
    /// # Safety
    /// See [`Walk::split`].
    #[inline(always)]
    unsafe fn left(&self, split: &SplitRecord) -> [L::Mask; REGISTERS] {
        let rows = L::WIDTH * REGISTERS;
        let (slot, mut outcomes) = (split.slot() as usize * rows, [0; MAX_ROWS]);
        // SAFETY: the caller's promise. A closure would be compiled without the instructions.
        unsafe {
            let keys = verified::range(self.block.keys, slot, rows, "a block has every slot");
            let (mut from, mut shift, mut key) = (keys.as_ptr(), split.shift(), split.key);
            if split.is_set() {
                outcomes_of_set(self.block.nodes.words(split.key), keys, &mut outcomes);
                (shift, key) = (0, 1);
                from = outcomes.as_ptr();
            }
            let mut left = [L::none(); REGISTERS];
            for v in 0..REGISTERS {
                left[v] = L::below(from.add(v * L::WIDTH), shift, key);
            }
            left
        }
    }

    /// Adds what a split changes of a feature's contribution, and of those of its pairs.
    ///
    /// # Safety
    /// See [`Walk::split`].
    #[inline(always)]
    unsafe fn add<const PAIRS: bool>(&mut self, feature: usize, v: usize, terms: [L; N], rise: L) {
        // SAFETY: the caller's promise.
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
                    products[q] = terms[q].times(excess[q][v]);
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
        taken: &[L::Mask; REGISTERS],
        excess: &mut AtPoints<L, N>,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let of_side = &(&*self.excess.add(at))[side];
            for q in 0..N {
                for v in 0..REGISTERS {
                    let outside = L::splat(self.outside[q]);
                    excess[q][v] = L::splat(of_side[q]).or_else(taken[v], outside);
                }
            }
        }
    }
}

/// The sum over the points, in an order that registers of points have too.
///
/// # Safety
/// The processor has the instructions.
#[inline(always)]
unsafe fn total<L: Lanes, const N: usize>(mut terms: [L; N]) -> L {
    let mut width = N.next_power_of_two();
    while width > 1 {
        width /= 2;
        for q in 0..width {
            if q + width < N {
                // SAFETY: the caller's promise.
                terms[q] = unsafe { terms[q].plus(terms[q + width]) };
            }
        }
    }
    terms[0]
}

/// Outcomes of a split by a set: 0 for keys that go left, which are all but those of members and of what is
/// missing where the default is right.
#[cold]
#[inline(never)]
pub(super) fn outcomes_of_set(words: &[u32], keys: &[u32], outcomes: &mut [u32]) {
    for (key, outcome) in keys.iter().zip(outcomes) {
        *outcome = u32::from(*key == u32::MAX || is_in_set(words, number_of_key(*key)));
    }
}

/// A tree, the points that its numbers were made for, and a depth that no path exceeds.
#[derive(Clone, Copy)]
pub(super) struct Prepared<'a> {
    pub(super) splits: &'a [SplitRecord],
    /// Of the features that they are on.
    pub(super) features: usize,
    pub(super) numbers: &'a SplitFactors,
    pub(super) points: &'a Points,
    pub(super) depth: usize,
}

impl WalkBuffers {
    pub(super) fn bytes(&self) -> usize {
        size_of::<Line>() * self.lines.capacity()
    }

    /// Walks a tree with a block of rows; returns its sums, by feature or by pair of features of the tree,
    /// for each row of the block. The block has keys for all slots that splits have.
    pub(super) fn sums<const PAIRS: bool>(
        &mut self,
        level: Level,
        prepared: Prepared<'_>,
        block: &Block<'_>,
        checks: &mut CancelChecks<'_>,
    ) -> Result<&[f32]> {
        macro_rules! by_points {
            ($instructions:ty) => {
                match prepared.points.points.len() {
                    1 => self.run::<$instructions, 1, PAIRS>(prepared, block, checks),
                    2 => self.run::<$instructions, 2, PAIRS>(prepared, block, checks),
                    3 => self.run::<$instructions, 3, PAIRS>(prepared, block, checks),
                    4 => self.run::<$instructions, 4, PAIRS>(prepared, block, checks),
                    5 => self.run::<$instructions, 5, PAIRS>(prepared, block, checks),
                    6 => self.run::<$instructions, 6, PAIRS>(prepared, block, checks),
                    8 => self.run::<$instructions, 8, PAIRS>(prepared, block, checks),
                    _ => verified::known(None, "a walk has so many points"),
                }
            };
        }
        match level {
            Level::Portable => by_points!(Portable),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => by_points!(Avx2),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => by_points!(Avx512),
        }
    }

    fn run<I: Instructions, const N: usize, const PAIRS: bool>(
        &mut self,
        prepared: Prepared<'_>,
        block: &Block<'_>,
        checks: &mut CancelChecks<'_>,
    ) -> Result<&[f32]> {
        let Prepared { splits, features, numbers, points: Points { points, weights }, depth } =
            prepared;
        let points = verified::known(points.first_chunk::<N>(), "there are so many points")?;
        let weights = verified::known(weights.first_chunk::<N>(), "each point has a weight")?;
        let count = splits.len() * 2 * N;
        verified::check(numbers.numbers.len() == count, "each split has numbers");
        verified::check(!PAIRS || numbers.excess.len() == count, "each split has an excess");
        let places = if PAIRS { features * (features + 1) / 2 } else { features };
        let rows = I::Lanes::WIDTH * REGISTERS;
        // One frame more has the root's product and mean.
        let frames = (depth + 1) * size_of::<Frame<I::Lanes, N>>();
        let on_path = features * size_of::<OnPath<I::Lanes, N>>();
        let sums = places * size_of::<Registers<I::Lanes>>();
        let lines = [frames, on_path, sums].map(|bytes| bytes.div_ceil(size_of::<Line>()));
        let all: usize = lines.iter().sum();
        if self.lines.len() < all {
            refill(&mut self.lines, all, Line([0.0; LINE]))?;
        }
        self.order.clear();
        let start = self.lines.as_mut_ptr();
        // SAFETY: there is room for all three, one behind the other, aligned to 64 bytes; each is written
        // before it is read. No level is chosen whose instructions the processor does not have.
        // `compiled::verify::trees` found that each split leads to others of its tree, that its feature has a
        // place and its slot keys, and that no path is longer than the depth.
        unsafe {
            let frames: *mut Frame<I::Lanes, N> = start.cast();
            let on_path: *mut OnPath<I::Lanes, N> = start.add(lines[0]).cast();
            let sums: *mut Registers<I::Lanes> = start.add(lines[0] + lines[1]).cast();
            for feature in 0..features {
                let taken = [I::Lanes::all(); REGISTERS];
                on_path.add(feature).write(OnPath { taken, excess: std::ptr::null() });
            }
            sums.cast::<u8>().write_bytes(0, places * size_of::<Registers<I::Lanes>>());
            for q in 0..N {
                (*frames).product[q] = [I::Lanes::splat(weights[q]); REGISTERS];
            }
            let mut walk = Walk {
                splits,
                numbers: numbers.numbers.as_ptr().cast(),
                excess: numbers.excess.as_ptr().cast(),
                outside: points.map(|q| -1.0 / (1.0 - q)),
                block,
                on_path,
                sums,
                end: frames.add(depth + 1),
                features,
                order: &mut self.order,
                checks,
            };
            let (product, mean) = (&raw const (*frames).product, &raw mut (*frames).left);
            if !splits.is_empty() {
                I::split::<N, PAIRS>(&mut walk, 0, frames.add(1), product, mean);
            }
            Ok(std::slice::from_raw_parts(sums.cast(), places * rows))
        }
    }
}
