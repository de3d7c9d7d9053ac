//! Traversal of a tile for all rows of a block at once: choices between masks, as a multiplexer.
//!
//! Everything here is inlined into the function of an instruction set that calls it, and unrolled, so
//! that all choices of a level are made in registers.

use super::instructions::Instructions;
use super::{BLOCK, Mask, PathBits};
use crate::forest::tiles::{BLOCK_LEVELS, TILE_LEVELS, TOP_LEVELS, node_index};

/// Masks by index, among which a choice is made. A trait and not a closure, since only functions can
/// be inlined whatever their size, and these must be: their instructions are those of the function
/// that they end up in.
trait MaskSource<B> {
    /// # Safety
    /// The processor has the instructions of `B`, and there is such a mask.
    unsafe fn get(&self, index: usize) -> B;
}

/// A choice by some number of bits among 1, 2, 4, ... masks.
trait MuxTree {
    /// Chooses among as many masks as the tree has leaves, the `index`-th of such groups.
    ///
    /// # Safety
    /// The processor has the instructions of `B`; there are as many masks, and as many bits.
    unsafe fn choose<B: Instructions>(bits: &[B], masks: &impl MaskSource<B>, index: usize) -> B;
}

/// No choice: one mask.
struct Leaf;
/// A choice by one more bit.
struct Mux<C>(std::marker::PhantomData<C>);

impl MuxTree for Leaf {
    #[inline(always)]
    unsafe fn choose<B: Instructions>(_: &[B], masks: &impl MaskSource<B>, index: usize) -> B {
        // SAFETY: the caller's promise is this function's.
        unsafe { masks.get(index) }
    }
}

impl<C: MuxTree> MuxTree for Mux<C> {
    #[inline(always)]
    unsafe fn choose<B: Instructions>(bits: &[B], masks: &impl MaskSource<B>, index: usize) -> B {
        // SAFETY: the caller's promise is this function's.
        unsafe {
            // There are as many bits as levels of the tree.
            let [by, rest @ ..] = bits else { return masks.get(index) };
            let left = C::choose(rest, masks, 2 * index);
            let right = C::choose(rest, masks, 2 * index + 1);
            by.choose(right, left)
        }
    }
}

type Mux1 = Mux<Leaf>;
type Mux2 = Mux<Mux1>;
type Mux3 = Mux<Mux2>;
type Mux4 = Mux<Mux3>;
type Mux5 = Mux<Mux4>;

struct Nodes<const LEVELS: u32, const LEVEL: u32> {
    nodes: *const u16,
    masks: *const Mask,
    part: usize,
}

impl<B: Instructions, const LEVELS: u32, const LEVEL: u32> MaskSource<B> for Nodes<LEVELS, LEVEL> {
    #[inline(always)]
    unsafe fn get(&self, path: usize) -> B {
        // SAFETY: the caller's promise; node_index is an index in the tile.
        unsafe {
            let predicate = usize::from(*self.nodes.add(node_index(LEVELS, LEVEL, path)));
            B::load(self.masks.add(predicate), self.part)
        }
    }
}

/// What each block of nodes chooses by the bits of its own levels.
struct Blocks<'a, B, C, T> {
    bits: &'a [B],
    masks: T,
    tree: std::marker::PhantomData<C>,
}

impl<B: Instructions, C: MuxTree, T: MaskSource<B>> MaskSource<B> for Blocks<'_, B, C, T> {
    #[inline(always)]
    unsafe fn get(&self, block: usize) -> B {
        // SAFETY: the caller's promise.
        unsafe { C::choose(self.bits, &self.masks, block) }
    }
}

/// The paths of the first `rows` rows through a tile of `LEVELS` levels.
///
/// # Safety
/// The processor has the instructions of `B`. `nodes` are those of a tile of that many levels, and each
/// is the index of one of `masks`.
#[inline(always)]
pub(super) unsafe fn walk<B: Instructions, const LEVELS: u32>(
    nodes: *const u16,
    masks: *const Mask,
    rows: usize,
    path: &mut PathBits,
) {
    for part in 0..(rows * B::PARTS).div_ceil(BLOCK).min(B::PARTS) {
        // SAFETY: the caller's promise is this function's.
        unsafe { walk_part::<B, LEVELS>(nodes, masks, path, part) };
    }
}

/// The same for part of the rows.
#[inline(always)]
unsafe fn walk_part<B: Instructions, const LEVELS: u32>(
    nodes: *const u16,
    masks: *const Mask,
    path: &mut PathBits,
    part: usize,
) {
    let top = if LEVELS <= TOP_LEVELS { LEVELS } else { LEVELS - BLOCK_LEVELS };
    macro_rules! nodes {
        ($level:expr) => {
            Nodes::<LEVELS, { $level }> { nodes, masks, part }
        };
    }
    // SAFETY: the caller's promise is this function's; there are at most eight levels, and masks of a path.
    unsafe {
        let mut bits_of: [B; TILE_LEVELS as usize] = [nodes!(0).get(0); TILE_LEVELS as usize];
        macro_rules! level {
            ($level:literal, $choice:ty) => {
                if $level < top {
                    bits_of[$level] = <$choice>::choose(&bits_of[..$level], &nodes!($level), 0);
                }
            };
        }
        level!(1, Mux1);
        level!(2, Mux2);
        level!(3, Mux3);
        level!(4, Mux4);
        macro_rules! blocks {
            ($top:literal, $choice:ty) => {
                if LEVELS > TOP_LEVELS && top == $top {
                    bits_of[$top] = <$choice>::choose(&bits_of[..$top], &nodes!($top), 0);
                    let (bits, tree) = ([bits_of[$top]], std::marker::PhantomData::<Mux1>);
                    let blocks = Blocks { bits: &bits, masks: nodes!($top + 1), tree };
                    bits_of[$top + 1] = <$choice>::choose(&bits_of[..$top], &blocks, 0);
                    let bits = [bits_of[$top], bits_of[$top + 1]];
                    let tree = std::marker::PhantomData::<Mux2>;
                    let blocks = Blocks { bits: &bits, masks: nodes!($top + 2), tree };
                    bits_of[$top + 2] = <$choice>::choose(&bits_of[..$top], &blocks, 0);
                }
            };
        }
        blocks!(3, Mux3);
        blocks!(4, Mux4);
        blocks!(5, Mux5);
        for (bits, mask) in bits_of.into_iter().zip(path.iter_mut()).take(LEVELS as usize) {
            bits.store(mask, part);
        }
    }
}
