//! Explains one row: the operations of a walk, with points in lanes and no branch on the row's data.
//!
//! Splits are processed in order downwards and in reverse upwards, so that a processor overlaps many.
//! Contributions are added in a walk's order.

#![allow(unsafe_code, reason = "splits lead to others as the compiled model's check has found")]
#![allow(clippy::needless_range_loop, reason = "loops over points become vectors")]

use crate::compiled::records::SplitRecord;
use crate::eval::interleaved::NodeSections;
use crate::explain::factors::factors;
use crate::explain::lanes::Level;
use crate::explain::walk::outcomes_of_set;
use crate::memory::{allocated, refill};
use crate::quadrature::{MAX_POINTS, Points};
use crate::{Result, verified};

/// A split's numbers at each point: its product, later multiplied by omega; its tau, later the mean
/// below it.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct State<const P: usize> {
    product: [f32; P],
    mean: [f32; P],
}

/// Reusable buffers for one row.
#[derive(Default)]
pub(super) struct RowBuffers {
    /// One state per split, and a spare one for absent children; for up to four points, and for eight.
    four: Vec<State<4>>,
    eight: Vec<State<8>>,
    lists: Lists,
}

/// Buffers with an entry per split.
#[derive(Default)]
struct Lists {
    sigma: Vec<f32>,
    /// The split's change of its feature's contribution.
    added: Vec<f32>,
    /// Whether the row takes each path, by [`SplitRecord::above`]: all bits or none.
    taken: Vec<u32>,
    /// Splits with a split below, and the others.
    inner: Vec<u32>,
    bottom: Vec<u32>,
    /// Sums by feature of the tree.
    sums: Vec<f32>,
}

/// A row's keys, and the category sets to test them against.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    pub(super) keys: &'a [u32],
    pub(super) nodes: NodeSections<'a>,
}

impl RowBuffers {
    pub(super) fn bytes(&self) -> usize {
        allocated(&self.four) + allocated(&self.eight) + self.lists.bytes()
    }

    /// Returns the contributions of a tree's features to a row.
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
        // SAFETY: `compiled::verify::trees` has checked that splits lead to splits of their tree, and
        // that features and slots are in range. The processor has the level's instructions.
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

/// Returns the number if all bits are set, 0 if none is.
#[inline(always)]
fn only(bits: u32, number: f32) -> f32 {
    f32::from_bits(bits & number.to_bits())
}

/// Masks by [`SplitRecord::leaves`] and point: the next split is on the left, on the right, or of an earlier split.
/// Compilers turn masks computed here into branches, so this is a table.
static NEXT: Next = Next({
    const YES: [u32; MAX_POINTS] = [u32::MAX; MAX_POINTS];
    const NO: [u32; MAX_POINTS] = [0; MAX_POINTS];
    [[YES, NO, NO], [NO, YES, NO], [YES, NO, NO], [NO, NO, YES]]
});

#[repr(align(32))]
struct Next([[[u32; MAX_POINTS]; 3]; 4]);

impl Lists {
    fn bytes(&self) -> usize {
        allocated(&self.sigma)
            + allocated(&self.added)
            + allocated(&self.taken)
            + allocated(&self.inner)
            + allocated(&self.bottom)
            + allocated(&self.sums)
    }

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

    /// [`Lists::fill`] compiled for AVX2.
    ///
    /// # Safety
    /// As for [`Lists::fill`]; the processor has AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn fill_by_avx2<const P: usize>(
        &mut self,
        states: &mut Vec<State<P>>,
        splits: &[SplitRecord],
        points: &Points,
        keys: Keys<'_>,
    ) -> Result<()> {
        // SAFETY: as for this function.
        unsafe { self.fill(states, splits, points, keys) }
    }

    /// Adds the splits' contributions to the sums.
    ///
    /// # Safety
    /// `splits` are a tree's of a verified compiled model, with room in the lists; `keys` are a row's
    /// of the same model.
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
        // Missing points get a neutral position and no weight.
        let q = std::array::from_fn(|p| points.points.get(p).copied().unwrap_or(0.5));
        let mut product: [f32; P] =
            std::array::from_fn(|p| points.weights.get(p).copied().unwrap_or(0.0));
        let (mut inner, mut bottom) = (0, 0);
        let lists = (&mut self.inner[..], &mut self.bottom[..]);
        for (at, split) in splits.iter().enumerate() {
            // SAFETY: children follow their split, earlier splits precede it, and each has room, as has
            // the spare state. No kind has more splits than there are.
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
            // SAFETY: `at` is the index of a split.
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
            // SAFETY: the place is that of one of the tree's features.
            unsafe {
                let place = split.place() as usize;
                *verified::at_mut(&mut self.sums, place, "a feature has a place") += added;
            }
        }
        Ok(())
    }
}

/// Computes whether the row takes a split's path, and returns its sigma: `1 - share` on the left,
/// `-share` on the right, 0 off the path.
///
/// # Safety
/// See [`Lists::fill`].
#[inline(always)]
unsafe fn sigma(taken: &mut [u32], at: usize, split: &SplitRecord, keys: Keys<'_>) -> f32 {
    // SAFETY: splits and keys belong to one verified model.
    unsafe {
        let key = *verified::at(keys.keys, split.slot() as usize, "a row has every slot");
        // All bits or none by arithmetic: compilers turn a choice of numbers into an unpredictable
        // branch.
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

/// Passes a split's product on to the next split.
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
    // SAFETY: every split has a state, and one more follows the last.
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
        // After two leaves comes the right child of an earlier split.
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

/// Combines the means of a split's children; returns the split's change.
///
/// # Safety
/// See [`Lists::fill`]; at least one child is a split.
#[inline(always)]
unsafe fn up<const P: usize>(
    states: &mut [State<P>],
    at: usize,
    none: usize,
    splits: &[SplitRecord],
    sigma: f32,
) -> f32 {
    // SAFETY: the split, its children and the spare state exist.
    unsafe {
        let split = verified::at(splits, at, "it is a split");
        // The leaf child, if any.
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

/// Sums over the points in a walk's order.
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
