//! The walk through a tile for all rows of a block at once: choices between masks.
//!
//! Everything here is inlined into the function of an architecture that calls it, and unrolled, so
//! that all choices of a level are made in registers.

use super::{BLOCK, Mask, Ways};
use crate::forest::tiles::{BLOCK_LEVELS, TILE_LEVELS, TOP_LEVELS, node_place};

/// Part of a mask in a register.
pub(super) trait Bits: Copy {
    /// How many make a mask.
    const PARTS: usize;

    /// A part of a mask.
    ///
    /// # Safety
    /// The processor has the instructions; `part` is below [`Bits::PARTS`].
    unsafe fn load(mask: *const Mask, part: usize) -> Self;

    /// Puts a part into a mask.
    ///
    /// # Safety
    /// The processor has the instructions; `part` is below [`Bits::PARTS`].
    unsafe fn store(self, mask: *mut Mask, part: usize);

    /// By each bit, `right` if it is set, else `left`.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn choose(self, right: Self, left: Self) -> Self;
}

/// Things that are numbered, among which a choice is made. A trait and not a closure, since only
/// functions can be inlined whatever their size, and these must be: their instructions are those of
/// the function that they end up in.
trait Things<B> {
    /// The thing of a number.
    ///
    /// # Safety
    /// The processor has the instructions of `B`, and there is such a thing.
    unsafe fn get(&self, number: usize) -> B;
}

/// A choice by some number of bits among twice, four times, ... as many things.
trait Choice {
    /// Chooses among the things from `first` times their number on.
    ///
    /// # Safety
    /// The processor has the instructions of `B`; there are as many things, and as many bits.
    unsafe fn choose<B: Bits>(bits: &[B], things: &impl Things<B>, first: usize) -> B;
}

/// No choice: one thing.
struct One;
/// A choice by one more bit.
struct Fork<C>(std::marker::PhantomData<C>);

impl Choice for One {
    #[inline(always)]
    unsafe fn choose<B: Bits>(_: &[B], things: &impl Things<B>, first: usize) -> B {
        // SAFETY: the caller's promise is this function's.
        unsafe { things.get(first) }
    }
}

impl<C: Choice> Choice for Fork<C> {
    #[inline(always)]
    unsafe fn choose<B: Bits>(bits: &[B], things: &impl Things<B>, first: usize) -> B {
        // SAFETY: the caller's promise is this function's.
        unsafe {
            // There are as many bits as forks.
            let [by, rest @ ..] = bits else { return things.get(first) };
            let left = C::choose(rest, things, 2 * first);
            let right = C::choose(rest, things, 2 * first + 1);
            by.choose(right, left)
        }
    }
}

type Fork1 = Fork<One>;
type Fork2 = Fork<Fork1>;
type Fork3 = Fork<Fork2>;
type Fork4 = Fork<Fork3>;
type Fork5 = Fork<Fork4>;

/// The masks of a tile's nodes of one level.
struct Nodes<const LEVELS: u32, const LEVEL: u32> {
    nodes: *const u16,
    masks: *const Mask,
    part: usize,
}

impl<B: Bits, const LEVELS: u32, const LEVEL: u32> Things<B> for Nodes<LEVELS, LEVEL> {
    #[inline(always)]
    unsafe fn get(&self, path: usize) -> B {
        // SAFETY: the caller's promise; node_place is a place in the tile.
        unsafe {
            let cut = usize::from(*self.nodes.add(node_place(LEVELS, LEVEL, path)));
            B::load(self.masks.add(cut), self.part)
        }
    }
}

/// What each block of nodes chooses by the bits of its own levels.
struct Blocks<'a, B, C, T> {
    bits: &'a [B],
    things: T,
    choice: std::marker::PhantomData<C>,
}

impl<B: Bits, C: Choice, T: Things<B>> Things<B> for Blocks<'_, B, C, T> {
    #[inline(always)]
    unsafe fn get(&self, block: usize) -> B {
        // SAFETY: the caller's promise.
        unsafe { C::choose(self.bits, &self.things, block) }
    }
}

/// The ways of the first `rows` rows through a tile of `LEVELS` levels.
///
/// # Safety
/// The processor has the instructions of `B`. `nodes` are those of a tile of so many levels, and each
/// is the index of one of `masks`.
#[inline(always)]
pub(super) unsafe fn walk<B: Bits, const LEVELS: u32>(
    nodes: *const u16,
    masks: *const Mask,
    rows: usize,
    ways: &mut Ways,
) {
    for part in 0..(rows * B::PARTS).div_ceil(BLOCK).min(B::PARTS) {
        // SAFETY: the caller's promise is this function's.
        unsafe { walk_part::<B, LEVELS>(nodes, masks, ways, part) };
    }
}

/// The same for part of the rows.
#[inline(always)]
unsafe fn walk_part<B: Bits, const LEVELS: u32>(
    nodes: *const u16,
    masks: *const Mask,
    ways: &mut Ways,
    part: usize,
) {
    let top = if LEVELS <= TOP_LEVELS { LEVELS } else { LEVELS - BLOCK_LEVELS };
    macro_rules! nodes {
        ($level:expr) => {
            Nodes::<LEVELS, { $level }> { nodes, masks, part }
        };
    }
    // SAFETY: the caller's promise is this function's; there are at most eight levels, and ways.
    unsafe {
        let mut way: [B; TILE_LEVELS as usize] = [nodes!(0).get(0); TILE_LEVELS as usize];
        macro_rules! level {
            ($level:literal, $choice:ty) => {
                if $level < top {
                    way[$level] = <$choice>::choose(&way[..$level], &nodes!($level), 0);
                }
            };
        }
        level!(1, Fork1);
        level!(2, Fork2);
        level!(3, Fork3);
        level!(4, Fork4);
        macro_rules! blocks {
            ($top:literal, $choice:ty) => {
                if LEVELS > TOP_LEVELS && top == $top {
                    way[$top] = <$choice>::choose(&way[..$top], &nodes!($top), 0);
                    let (bits, choice) = ([way[$top]], std::marker::PhantomData::<Fork1>);
                    let blocks = Blocks { bits: &bits, things: nodes!($top + 1), choice };
                    way[$top + 1] = <$choice>::choose(&way[..$top], &blocks, 0);
                    let bits = [way[$top], way[$top + 1]];
                    let choice = std::marker::PhantomData::<Fork2>;
                    let blocks = Blocks { bits: &bits, things: nodes!($top + 2), choice };
                    way[$top + 2] = <$choice>::choose(&way[..$top], &blocks, 0);
                }
            };
        }
        blocks!(3, Fork3);
        blocks!(4, Fork4);
        blocks!(5, Fork5);
        for (bits, place) in way.into_iter().zip(ways.iter_mut()).take(LEVELS as usize) {
            bits.store(place, part);
        }
    }
}

/// The function of as many levels, which is a constant for it, among those that call [`walk`].
macro_rules! walk_by_levels {
    ($walk:ident, $levels:expr, $arguments:tt) => {
        match $levels {
            1 => $walk::<1> $arguments,
            2 => $walk::<2> $arguments,
            3 => $walk::<3> $arguments,
            4 => $walk::<4> $arguments,
            5 => $walk::<5> $arguments,
            6 => $walk::<6> $arguments,
            7 => $walk::<7> $arguments,
            8 => $walk::<8> $arguments,
            _ => {}
        }
    };
}
pub(super) use walk_by_levels;
