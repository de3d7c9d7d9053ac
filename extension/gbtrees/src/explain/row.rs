//! One row: the same operations as a walk, with points in lanes and no branch.
//!
//! Splits are gone through in their order down and in the opposite order up, so that a processor works at
//! many at a time. What they contribute is added in the order in which a walk does.

#![allow(unsafe_code, reason = "splits lead to others as the compiled model's check has found")]

use std::hint::select_unpredictable;

use crate::compiled::records::SplitRecord;
use crate::eval::interleaved::NodeSections;
use crate::explain::lanes::Quad;
use crate::explain::walk::outcomes_of_set;
use crate::limits::refill;
use crate::quadrature::Points;
use crate::{Result, verified};

/// What is known of a split.
#[derive(Clone, Copy)]
struct State<const QUADS: usize> {
    product: [Quad; QUADS],
    gamma: [Quad; QUADS],
    /// The product times omega.
    term: [Quad; QUADS],
    mean: [Quad; QUADS],
    sigma: f32,
    /// What it changes of its feature's contribution.
    added: f32,
}

impl<const QUADS: usize> State<QUADS> {
    const NONE: Self = {
        let none = [Quad::ZERO; QUADS];
        State { product: none, gamma: none, term: none, mean: none, sigma: 0.0, added: 0.0 }
    };
}

/// The buffers of a row.
#[derive(Default)]
pub(super) struct RowBuffers {
    /// Of each split; and another, to which goes what belongs to none. By one quad of points, and by two.
    one: Vec<State<1>>,
    two: Vec<State<2>>,
    /// By [`SplitRecord::above`] whether the row takes the path: all bits or none.
    taken: Vec<u32>,
    /// Splits of which not all children are leaves, and the others.
    inner: Vec<u32>,
    bottom: Vec<u32>,
    /// By feature of the tree.
    sums: Vec<f32>,
}

/// A row's keys, and the sets that are asked for them.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    pub(super) keys: &'a [u32],
    pub(super) nodes: NodeSections<'a>,
}

impl RowBuffers {
    pub(super) fn bytes(&self) -> usize {
        size_of::<State<1>>() * self.one.capacity() + size_of::<State<2>>() * self.two.capacity()
    }

    /// What the features of a tree contribute to a row.
    pub(super) fn sums(
        &mut self,
        splits: &[SplitRecord],
        features: usize,
        points: &Points,
        keys: Keys<'_>,
    ) -> Result<&[f32]> {
        let Self { one, two, taken, inner, bottom, sums } = self;
        let lists = Lists { taken, inner, bottom, sums };
        // SAFETY: `compiled::verify::trees` found each split to lead to others of its tree, to be on one of
        // its features, and to ask for a slot that rows have.
        unsafe {
            if points.points.len() <= 4 {
                lists.fill(one, splits, features, points, keys)?;
            } else {
                lists.fill(two, splits, features, points, keys)?;
            }
        }
        Ok(&self.sums)
    }
}

struct Lists<'a> {
    taken: &'a mut Vec<u32>,
    inner: &'a mut Vec<u32>,
    bottom: &'a mut Vec<u32>,
    sums: &'a mut Vec<f32>,
}

/// The number where all bits are set, 0 where none is.
#[inline(always)]
fn only(bits: u32, number: f32) -> f32 {
    f32::from_bits(bits & number.to_bits())
}

impl Lists<'_> {
    /// # Safety
    /// The splits are those of a tree of a compiled model, with so many features; keys are a row's of that
    /// compiled model.
    unsafe fn fill<const QUADS: usize>(
        self,
        states: &mut Vec<State<QUADS>>,
        splits: &[SplitRecord],
        features: usize,
        points: &Points,
        keys: Keys<'_>,
    ) -> Result<()> {
        let count = splits.len();
        refill(self.sums, features, 0.0)?;
        if count == 0 {
            return Ok(());
        }
        if states.len() <= count {
            refill(states, count + 1, State::NONE)?;
        }
        if self.taken.len() <= 2 * count {
            refill(self.taken, 2 * count + 1, u32::MAX)?;
            refill(self.inner, count, 0)?;
            refill(self.bottom, count, 0)?;
        }
        let (points, weights) = (quads(&points.points, 0.5), quads(&points.weights, 0.0));
        states[0].product = weights;
        self.taken[0] = u32::MAX;
        let (mut inner, mut bottom) = (0, 0);
        for (at, split) in splits.iter().enumerate() {
            // SAFETY: children of a split are behind it, and above it are others; there is room for each, and
            // for what has no place. No more splits are of one kind than there are.
            unsafe {
                down(states, self.taken, at, count, split, points, keys);
                *verified::at_mut(self.inner, inner, "there is room") = at as u32;
                *verified::at_mut(self.bottom, bottom, "there is room") = at as u32;
            }
            let [left_leaf, right_leaf] = split.leaf_masks();
            let is_bottom = left_leaf & right_leaf & 1;
            bottom += is_bottom;
            inner += 1 - is_bottom;
        }
        for at in &self.bottom[..bottom] {
            // SAFETY: it is a split's.
            let (split, state) = unsafe {
                let at = *at as usize;
                let state = verified::at_mut(states, at, "a split has a state");
                (verified::at(splits, at, "it is a split"), state)
            };
            let rise = state.sigma * split.value;
            for quad in 0..QUADS {
                let moved = Quad::splat(rise).times(state.mean[quad]);
                state.mean[quad] = Quad::splat(split.mean()).plus(moved);
            }
            state.added = rise * Quad::total(state.term);
        }
        for at in self.inner[..inner].iter().rev() {
            // SAFETY: as above.
            unsafe { up(states, *at as usize, count, splits) };
        }
        for (split, state) in splits.iter().zip(&states[..count]).rev() {
            // SAFETY: the place is one of the tree's features'.
            let sum = unsafe {
                verified::at_mut(self.sums, split.place() as usize, "a feature has a place")
            };
            *sum += state.added;
        }
        Ok(())
    }
}

/// From the product of a split to those of its children. `none` is the state of what is no split.
///
/// # Safety
/// See [`Lists::fill`].
#[inline(always)]
unsafe fn down<const QUADS: usize>(
    states: &mut [State<QUADS>],
    taken: &mut [u32],
    at: usize,
    none: usize,
    split: &SplitRecord,
    points: [Quad; QUADS],
    keys: Keys<'_>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let key = *verified::at(keys.keys, split.slot() as usize, "a row has every slot");
        let is_left = if split.is_set() {
            let mut outcome = [0];
            outcomes_of_set(keys.nodes.words(split.key), &[key], &mut outcome);
            outcome == [0]
        } else {
            key << split.shift() < split.key
        };
        let left = select_unpredictable(is_left, u32::MAX, 0);
        let before = *verified::at(taken, split.above as usize, "a split above is known");
        *verified::at_mut(taken, 2 * at + 1, "there is room") = before & left;
        *verified::at_mut(taken, 2 * at + 2, "there is room") = before & !left;
        // 1 - share on the left, else -share.
        let sigma = only(before, only(left, 1.0) - split.share);
        let [left_at, right_at] = children(split, at, none);
        let r = Quad::splat(split.product);
        let rest = Quad::splat(1.0 - split.product);
        let state = verified::at_mut(states, at, "a split has a state");
        state.sigma = sigma;
        let (mut to_left, mut to_right) = ([Quad::ZERO; QUADS], [Quad::ZERO; QUADS]);
        for quad in 0..QUADS {
            let q = points[quad];
            let inverse = Quad::splat(1.0).over(r.plus(q.times(rest)));
            let (tau, omega) = (q.times(inverse), r.times(inverse).times(inverse));
            let product = state.product[quad];
            let gamma = Quad::splat(split.share).plus(tau.times(Quad::splat(sigma)));
            state.term[quad] = product.times(omega);
            state.gamma[quad] = gamma;
            // What those of two leaves need, until it is known.
            state.mean[quad] = tau;
            to_left[quad] = gamma.times(product);
            to_right[quad] = product.minus(to_left[quad]);
        }
        verified::at_mut(states, left_at, "a child has a state").product = to_left;
        verified::at_mut(states, right_at, "a child has a state").product = to_right;
    }
}

/// Where the splits on the left and on the right are; without a branch, which could not be predicted.
#[inline(always)]
fn children(split: &SplitRecord, at: usize, none: usize) -> [usize; 2] {
    let [left_leaf, right_leaf] = split.leaf_masks();
    let next = at + 1;
    let right = left_leaf & next | !left_leaf & split.other as usize;
    [left_leaf & none | !left_leaf & next, right_leaf & none | !right_leaf & right]
}

/// From the means of a split's children to its own.
///
/// # Safety
/// See [`Lists::fill`]; one of the children is a split.
#[inline(always)]
unsafe fn up<const QUADS: usize>(
    states: &mut [State<QUADS>],
    at: usize,
    none: usize,
    splits: &[SplitRecord],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let split = verified::at(splits, at, "it is a split");
        // The leaf, if there is one.
        verified::at_mut(states, none, "what has no place has a state").mean =
            [Quad::splat(split.value); QUADS];
        let [left_at, right_at] = children(split, at, none);
        let left = verified::at(states, left_at, "a child has a state").mean;
        let right = verified::at(states, right_at, "a child has a state").mean;
        let state = verified::at_mut(states, at, "a split has a state");
        let mut terms = [Quad::ZERO; QUADS];
        for quad in 0..QUADS {
            let difference = left[quad].minus(right[quad]);
            terms[quad] = state.term[quad].times(difference);
            state.mean[quad] = right[quad].plus(state.gamma[quad].times(difference));
        }
        state.added = state.sigma * Quad::total(terms);
    }
}

/// Numbers of points in lanes, with others where there are fewer.
fn quads<const QUADS: usize>(numbers: &[f32], other: f32) -> [Quad; QUADS] {
    std::array::from_fn(|quad| {
        let lane = |lane: usize| numbers.get(4 * quad + lane).copied().unwrap_or(other);
        Quad::of(std::array::from_fn(lane))
    })
}
