//! One row: the same operations as a walk, with points in lanes and no jump that depends on the row.
//!
//! Splits are gone through in their order down and in the opposite order up, so that a processor works at
//! many at a time. What they contribute is added in the order in which a walk does.

#![allow(unsafe_code, reason = "splits lead to others as the compiled model's check has found")]
#![allow(clippy::needless_range_loop, reason = "loops over points become vectors")]

use crate::compiled::records::SplitRecord;
use crate::eval::interleaved::NodeSections;
use crate::explain::factors::factors;
use crate::explain::lanes::Level;
use crate::explain::walk::outcomes_of_set;
use crate::memory::refill;
use crate::quadrature::{MAX_POINTS, Points};
use crate::{Result, verified};

/// What is known of a split, at each point: its product going down, and then that times omega; its tau, and
/// going up the mean below it.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct State<const P: usize> {
    product: [f32; P],
    mean: [f32; P],
}

/// The buffers of a row.
#[derive(Default)]
pub(super) struct RowBuffers {
    /// Of each split; and another, to which goes what belongs to none. For up to four points, and for eight.
    four: Vec<State<4>>,
    eight: Vec<State<8>>,
    lists: Lists,
}

/// The other buffers of a row, by split.
#[derive(Default)]
struct Lists {
    sigma: Vec<f32>,
    /// What it changes of its feature's contribution.
    added: Vec<f32>,
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
        size_of::<State<4>>() * self.four.capacity() + size_of::<State<8>>() * self.eight.capacity()
    }

    /// What the features of a tree contribute to a row.
    pub(super) fn sums(
        &mut self,
        level: Level,
        splits: &[SplitRecord],
        features: usize,
        points: &Points,
        keys: Keys<'_>,
    ) -> Result<&[f32]> {
        let lists = &mut self.lists;
        lists.make_room(splits.len(), features)?;
        // SAFETY: `compiled::verify::trees` found each split to lead to others of its tree, to be on one of
        // its features, and to ask for a slot that rows have. The processor has the level's instructions.
        unsafe {
            match (level, points.points.len() <= 4) {
                (Level::Portable, true) => lists.fill(&mut self.four, splits, points, keys)?,
                (Level::Portable, false) => lists.fill(&mut self.eight, splits, points, keys)?,
                #[cfg(target_arch = "x86_64")]
                (_, true) => lists.fill_by_avx2(&mut self.four, splits, points, keys)?,
                #[cfg(target_arch = "x86_64")]
                (_, false) => lists.fill_by_avx2(&mut self.eight, splits, points, keys)?,
            }
        }
        Ok(&self.lists.sums)
    }
}

/// The number where all bits are set, 0 where none is.
#[inline(always)]
fn only(bits: u32, number: f32) -> f32 {
    f32::from_bits(bits & number.to_bits())
}

/// By [`Leaves`], for every point: whether the next split is on the left, on the right, or of a split before. A
/// table, since of masks that a compiler sees being made it makes a jump.
static NEXT: Next = Next({
    const YES: [u32; MAX_POINTS] = [u32::MAX; MAX_POINTS];
    const NO: [u32; MAX_POINTS] = [0; MAX_POINTS];
    [[YES, NO, NO], [NO, YES, NO], [YES, NO, NO], [NO, NO, YES]]
});

#[repr(align(32))]
struct Next([[[u32; MAX_POINTS]; 3]; 4]);

impl Lists {
    fn make_room(&mut self, splits: usize, features: usize) -> Result<()> {
        refill(&mut self.sums, features, 0.0)?;
        if self.sigma.len() < splits {
            refill(&mut self.sigma, splits, 0.0)?;
            refill(&mut self.added, splits, 0.0)?;
            refill(&mut self.taken, 2 * splits + 1, u32::MAX)?;
            refill(&mut self.inner, splits, 0)?;
            refill(&mut self.bottom, splits, 0)?;
        }
        Ok(())
    }

    /// [`Lists::fill`].
    ///
    /// # Safety
    /// See there; the processor has AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn fill_by_avx2<const P: usize>(
        &mut self,
        states: &mut Vec<State<P>>,
        splits: &[SplitRecord],
        points: &Points,
        keys: Keys<'_>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.fill(states, splits, points, keys) }
    }

    /// Adds what splits contribute to the sums.
    ///
    /// # Safety
    /// The splits are those of a tree of a compiled model, for which there is room; keys are a row's of that
    /// compiled model.
    #[inline(always)]
    unsafe fn fill<const P: usize>(
        &mut self,
        states: &mut Vec<State<P>>,
        splits: &[SplitRecord],
        points: &Points,
        keys: Keys<'_>,
    ) -> Result<()> {
        let count = splits.len();
        if states.len() <= count {
            let none = [0.0; P];
            let none = State { product: none, mean: none };
            refill(states, count + 1, none)?;
        }
        // Where there are fewer points, others have no weight.
        let q = std::array::from_fn(|p| points.points.get(p).copied().unwrap_or(0.5));
        let mut product: [f32; P] =
            std::array::from_fn(|p| points.weights.get(p).copied().unwrap_or(0.0));
        let (mut inner, mut bottom) = (0, 0);
        let lists = (&mut self.inner[..], &mut self.bottom[..]);
        for (at, split) in splits.iter().enumerate() {
            // SAFETY: children of a split are behind it, and above it are others; there is room for each, and
            // for what has no place. No more splits are of one kind than there are.
            unsafe {
                let sigma = sigma(&mut self.taken, at, split, keys);
                *verified::at_mut(&mut self.sigma, at, "there is room") = sigma;
                product = down(states, at, count, split, &q, sigma, product);
                *verified::at_mut(lists.0, inner, "there is room") = at as u32;
                *verified::at_mut(lists.1, bottom, "there is room") = at as u32;
            }
            let [left_leaf, right_leaf] = split.leaf_masks();
            let is_bottom = left_leaf & right_leaf & 1;
            bottom += is_bottom;
            inner += 1 - is_bottom;
        }
        for at in &self.bottom[..bottom] {
            let at = *at as usize;
            // SAFETY: it is a split's.
            unsafe {
                let split = verified::at(splits, at, "it is a split");
                let state = verified::at_mut(states, at, "a split has a state");
                let rise = *verified::at(&self.sigma, at, "a split has a sigma") * split.value;
                for p in 0..P {
                    state.mean[p] = split.mean() + rise * state.mean[p];
                }
                *verified::at_mut(&mut self.added, at, "there is room") =
                    rise * total(state.product);
            }
        }
        for at in self.inner[..inner].iter().rev() {
            let at = *at as usize;
            // SAFETY: as above.
            unsafe {
                let sigma = *verified::at(&self.sigma, at, "a split has a sigma");
                let added = up(states, at, count, splits, sigma);
                *verified::at_mut(&mut self.added, at, "there is room") = added;
            }
        }
        for (split, added) in splits.iter().zip(&self.added).rev() {
            // SAFETY: the place is one of the tree's features'.
            unsafe {
                let place = split.place() as usize;
                *verified::at_mut(&mut self.sums, place, "a feature has a place") += added;
            }
        }
        Ok(())
    }
}

/// Whether the row takes the path of a split, and its side: `1 - share` on the left, else `-share`, and 0 off
/// the path.
///
/// # Safety
/// See [`Lists::fill`].
#[inline(always)]
unsafe fn sigma(taken: &mut [u32], at: usize, split: &SplitRecord, keys: Keys<'_>) -> f32 {
    // SAFETY: the caller's promise.
    unsafe {
        let key = *verified::at(keys.keys, split.slot() as usize, "a row has every slot");
        // All bits or none, by arithmetic: of a choice between numbers a compiler makes a jump, which no
        // processor could predict.
        let left = if split.is_set() {
            let mut outcome = [0];
            outcomes_of_set(keys.nodes.words(split.key), &[key], &mut outcome);
            outcome[0].wrapping_sub(1)
        } else {
            let key = u64::from(key << split.shift());
            (key.wrapping_sub(u64::from(split.key)) >> 32) as u32
        };
        let before = *verified::at(taken, split.above as usize, "a split above is known");
        *verified::at_mut(taken, 2 * at + 1, "there is room") = before & left;
        *verified::at_mut(taken, 2 * at + 2, "there is room") = before & !left;
        only(before, only(left, 1.0) - split.share)
    }
}

/// From the product of a split to that of the next split.
///
/// # Safety
/// See [`Lists::fill`].
#[inline(always)]
unsafe fn down<const P: usize>(
    states: &mut [State<P>],
    at: usize,
    none: usize,
    split: &SplitRecord,
    q: &[f32; P],
    sigma: f32,
    product: [f32; P],
) -> [f32; P] {
    // SAFETY: the caller's promise.
    unsafe {
        let state = verified::at_mut(states, at, "a split has a state");
        let (mut to_left, mut to_right) = (product, product);
        for p in 0..P {
            let (tau, omega) = factors(split.product, q[p]);
            let gamma = split.share + tau * sigma;
            to_left[p] = gamma * product[p];
            to_right[p] = product[p] - to_left[p];
            state.product[p] = product[p] * omega;
            state.mean[p] = tau;
        }
        let [left_leaf, right_leaf] = split.leaf_masks();
        let both = left_leaf & right_leaf;
        let right_at = both & none | !both & split.other as usize;
        verified::at_mut(states, right_at, "a child has a state").product = to_right;
        // Behind two leaves comes a split on the right of one before.
        let waiting = verified::at(states, at + 1, "behind the last is another").product;
        let [is_left, is_right, is_waiting] = &NEXT.0[split.leaves() as usize];
        for p in 0..P {
            let bits = is_left[p] & to_left[p].to_bits()
                | is_waiting[p] & waiting[p].to_bits()
                | is_right[p] & to_right[p].to_bits();
            to_left[p] = f32::from_bits(bits);
        }
        to_left
    }
}

/// From the means of a split's children to its own; returns what it changes.
///
/// # Safety
/// See [`Lists::fill`]; one of the children is a split.
#[inline(always)]
unsafe fn up<const P: usize>(
    states: &mut [State<P>],
    at: usize,
    none: usize,
    splits: &[SplitRecord],
    sigma: f32,
) -> f32 {
    // SAFETY: the caller's promise.
    unsafe {
        let split = verified::at(splits, at, "it is a split");
        // The leaf, if there is one.
        verified::at_mut(states, none, "what has no place has a state").mean = [split.value; P];
        let [left_leaf, _] = split.leaf_masks();
        let left_at = left_leaf & none | !left_leaf & (at + 1);
        let right_at = split.other as usize;
        let left = verified::at(states, left_at, "a child has a state").mean;
        let right = verified::at(states, right_at, "a child has a state").mean;
        let state = verified::at_mut(states, at, "a split has a state");
        let mut terms = state.product;
        for p in 0..P {
            let difference = left[p] - right[p];
            terms[p] *= difference;
            let gamma = split.share + state.mean[p] * sigma;
            state.mean[p] = right[p] + gamma * difference;
        }
        sigma * total(terms)
    }
}

/// The sum over the points, in the order of a walk's.
#[inline(always)]
fn total<const P: usize>(mut terms: [f32; P]) -> f32 {
    let mut width = P;
    while width > 1 {
        width /= 2;
        for p in 0..width {
            terms[p] += terms[p + width];
        }
    }
    terms[0]
}
