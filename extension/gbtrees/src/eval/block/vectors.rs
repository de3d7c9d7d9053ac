//! Trees of several outputs: the values of a leaf, one per output, are added together, row by row.
//!
//! Tiles that hold whole trees have the leaves of each output. They become vectors here, so that the leaf of a row is
//! found once, and its values are one or two registers; below tiles, leaves are vectors already.

use std::ops::Range;

use crate::compiled::sections::{BASE_MARGINS, OUTPUTS, ROOTS, Sections, TILE_GROUPS};
use crate::compiled::tiles::{TILE_LEVELS, TileGroup};
use crate::eval::block::lower_levels::LeafKeys;
use crate::eval::block::types::{BLOCK, BlockKernel, BlockSum, MAX_TOGETHER, VectorTree};
use crate::eval::sum::Sum;
use crate::memory::allocated;

/// Returns whether the outputs of a model's trees can be added together, and not one after another.
pub(super) fn can_be(compiled: Sections<'_>) -> bool {
    let (outputs, trees) = (compiled.get(BASE_MARGINS).len(), compiled.get(ROOTS).len());
    let small = |group: &TileGroup| group.below > 0 || group.levels <= TILE_LEVELS;
    compiled.has_vectors()
        && compiled.get(OUTPUTS).len() == outputs * trees
        && compiled.get(TILE_GROUPS).iter().all(small)
}

/// Trees that wait to be added, so that a row's sums are read and written once for all of them.
#[derive(Clone, Debug)]
pub(super) struct WaitingTrees<S> {
    trees: Vec<VectorTree<S>>,
    count: usize,
    /// The outputs of each of them.
    outputs: Range<usize>,
}

/// Most trees that wait.
const TREES: usize = 4;

impl<S> WaitingTrees<S> {
    pub(super) fn bytes(&self) -> usize {
        let vectors = self.trees.iter().map(|tree| allocated(&tree.vectors));
        allocated(&self.trees) + vectors.sum::<usize>()
    }
}

impl<S: BlockSum> WaitingTrees<S> {
    pub(super) fn new() -> Self {
        WaitingTrees { trees: Vec::new(), count: 0, outputs: 0..0 }
    }

    /// Forgets trees that a call which stopped has left.
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Returns the place for a tree that is to wait, after adding others for which it cannot.
    ///
    /// # Safety
    /// As for [`WaitingTrees::add`].
    pub(super) unsafe fn next(
        &mut self,
        kernel: &BlockKernel,
        outputs: Range<usize>,
        stride: usize,
        sums: &mut [S],
    ) -> &mut VectorTree<S> {
        if self.count == TREES || self.outputs != outputs {
            // SAFETY: as for this function.
            unsafe { self.add(kernel, stride, sums) };
        }
        self.outputs = outputs;
        if self.trees.len() == self.count {
            self.trees.push(VectorTree { indices: [0; BLOCK], vectors: Vec::new() });
        }
        self.count += 1;
        &mut self.trees[self.count - 1]
    }

    /// Adds the trees that wait to the sums of rows, which begin every `stride`.
    ///
    /// # Safety
    /// The processor has the kernel's instructions; the trees have been set, and their outputs are below the stride.
    pub(super) unsafe fn add(&mut self, kernel: &BlockKernel, stride: usize, sums: &mut [S]) {
        let trees = &self.trees[..std::mem::take(&mut self.count)];
        let width = if trees.is_empty() { 0 } else { self.outputs.len() };
        for place in (0..width).step_by(MAX_TOGETHER) {
            let sums = &mut sums[self.outputs.start + place..];
            let add = S::add_vectors(kernel)[MAX_TOGETHER.min(width - place)];
            // SAFETY: guaranteed by the caller.
            unsafe { add(trees, width, place, stride, sums) };
        }
    }
}

impl<S: BlockSum> VectorTree<S> {
    /// Makes vectors of the leaves, which are given for each output.
    pub(super) fn set<'a>(&mut self, leaves: impl ExactSizeIterator<Item = &'a [S]>) {
        let width = leaves.len();
        for (place, leaves) in leaves.enumerate() {
            self.vectors.resize(width * leaves.len(), S::ZERO);
            for (vector, leaf) in self.vectors.chunks_exact_mut(width).zip(leaves) {
                vector[place] = *leaf;
            }
        }
    }
}

/// Implements [`crate::eval::block::types::BlockKernel::add_vectors`].
///
/// # Safety
/// Indices are below the number of a tree's vectors, which have `width` values, `COUNT` of them from `place` on. Each row,
/// the last one included, has as many sums.
#[inline(always)]
pub(super) unsafe fn add<S: Sum, const COUNT: usize>(
    trees: &[VectorTree<S>],
    width: usize,
    place: usize,
    stride: usize,
    sums: &mut [S],
) {
    // SAFETY: as for this function.
    unsafe {
        if let Some(trees) = trees.first_chunk::<TREES>() {
            let vectors = trees.each_ref().map(|tree| vector_of(tree, width, place));
            add_each::<S, COUNT, TREES>(vectors, stride, sums);
            return;
        }
        for tree in trees {
            add_each::<S, COUNT, 1>([vector_of(tree, width, place)], stride, sums);
        }
    }
}

/// Returns a row's values in a tree, from a place on.
///
/// # Safety
/// As for [`add`].
#[inline(always)]
unsafe fn vector_of<S>(
    tree: &VectorTree<S>,
    width: usize,
    place: usize,
) -> impl Fn(usize) -> *const S {
    let VectorTree { indices, vectors } = tree;
    move |row| {
        let first = usize::from(indices[row % BLOCK]) * width + place;
        debug_assert!(first < vectors.len(), "vectors");
        // SAFETY: guaranteed by the caller.
        unsafe { vectors.as_ptr().add(first) }
    }
}

/// Adds to each row's sums `together` values from a key on.
///
/// # Safety
/// There are as many values from each key on, and sums of each row, the last one included; `together` is one to
/// [`MAX_TOGETHER`].
pub(super) unsafe fn add_at<S: Sum>(
    together: usize,
    keys: &LeafKeys,
    values: &[S],
    stride: usize,
    sums: &mut [S],
) {
    let vector = |row: usize| {
        let key = keys[row % BLOCK] as usize;
        debug_assert!(key + together <= values.len(), "values");
        // SAFETY: guaranteed by the caller.
        unsafe { values.as_ptr().add(key) }
    };
    // SAFETY: as for this function.
    unsafe {
        match together {
            1 => add_each::<S, 1, 1>([vector], stride, sums),
            2 => add_each::<S, 2, 1>([vector], stride, sums),
            3 => add_each::<S, 3, 1>([vector], stride, sums),
            4 => add_each::<S, 4, 1>([vector], stride, sums),
            5 => add_each::<S, 5, 1>([vector], stride, sums),
            6 => add_each::<S, 6, 1>([vector], stride, sums),
            7 => add_each::<S, 7, 1>([vector], stride, sums),
            _ => add_each::<S, MAX_TOGETHER, 1>([vector], stride, sums),
        }
    }
}

/// Adds to each row's sums, which begin every `stride`, the values of each vector in turn.
///
/// # Safety
/// Vectors have `COUNT` values, and each row, the last one included, has as many sums.
#[inline(always)]
unsafe fn add_each<S: Sum, const COUNT: usize, const VECTORS: usize>(
    vectors: [impl Fn(usize) -> *const S; VECTORS],
    stride: usize,
    sums: &mut [S],
) {
    for (row, sums) in sums.chunks_mut(stride).enumerate() {
        debug_assert!(sums.len() >= COUNT, "sums");
        // SAFETY: guaranteed by the caller.
        unsafe {
            let sums = sums.as_mut_ptr().cast::<[S; COUNT]>();
            let mut new = *sums;
            for vector in &vectors {
                let vector: [S; COUNT] = *vector(row).cast();
                new.iter_mut().zip(vector).for_each(|(new, value)| *new += value);
            }
            *sums = new;
        }
    }
}
