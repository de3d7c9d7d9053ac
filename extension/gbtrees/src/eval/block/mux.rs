//! Traverses a tile for all rows of a block: choices between masks, as in a multiplexer.
//!
//! Everything is inlined into an instruction set's function and unrolled, so that all choices of a
//! level are made in registers.

use crate::compiled::tiles::{BLOCK_LEVELS, CODE_LEVELS, TILE_LEVELS, TOP_LEVELS, node_index};
use crate::eval::block::instructions::Instructions;
use crate::eval::block::types::{Mask, PathBits, parts_in_use};

/// Masks by index. A trait instead of a closure, since only functions can be always inlined, which the
/// caller's instructions require.
trait MaskSource<B> {
    /// # Safety
    /// The processor has the instructions of `B`, and the mask exists.
    unsafe fn get(&self, index: usize) -> B;
}

/// A choice by a number of bits among 1, 2, 4, ... masks.
trait MuxTree {
    /// Chooses within the `index`-th group of as many masks as the tree has leaves.
    ///
    /// # Safety
    /// The processor has the instructions of `B`; there are enough masks and bits.
    unsafe fn choose<B: Instructions>(bits: &[B], masks: &impl MaskSource<B>, index: usize) -> B;
}

/// No choice: one mask.
struct Leaf;
/// A choice by one more bit.
struct Mux<C>(std::marker::PhantomData<C>);

impl MuxTree for Leaf {
    #[inline(always)]
    unsafe fn choose<B: Instructions>(_: &[B], masks: &impl MaskSource<B>, index: usize) -> B {
        // SAFETY: as for this function.
        unsafe { masks.get(index) }
    }
}

impl<C: MuxTree> MuxTree for Mux<C> {
    #[inline(always)]
    unsafe fn choose<B: Instructions>(bits: &[B], masks: &impl MaskSource<B>, index: usize) -> B {
        // SAFETY: as for this function.
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
        // SAFETY: the mask exists; node_index is within the tile.
        unsafe {
            let condition = usize::from(*self.nodes.add(node_index(LEVELS, LEVEL, path)));
            B::load(self.masks.add(condition), self.part)
        }
    }
}

/// The choices of each block of nodes by the bits of its levels.
struct Blocks<'a, B, C, T> {
    bits: &'a [B],
    masks: T,
    tree: std::marker::PhantomData<C>,
}

impl<B: Instructions, C: MuxTree, T: MaskSource<B>> MaskSource<B> for Blocks<'_, B, C, T> {
    #[inline(always)]
    unsafe fn get(&self, block: usize) -> B {
        // SAFETY: as for this function.
        unsafe { C::choose(self.bits, &self.masks, block) }
    }
}

/// Returns the paths of the first `rows` rows through a tile of `LEVELS` levels.
///
/// # Safety
/// The processor has the instructions of `B`. `nodes` are a tile's of this many levels, each an index
/// of `masks`.
#[inline(always)]
pub(super) unsafe fn walk<B: Instructions, const LEVELS: u32>(
    nodes: *const u16,
    masks: *const Mask,
    rows: usize,
    path: &mut PathBits,
) {
    for part in 0..parts_in_use(rows, B::PARTS) {
        // SAFETY: as for this function.
        unsafe { walk_part::<B, LEVELS>(nodes, masks, path, part) };
    }
}

/// Walks a part of the rows.
///
/// # Safety
/// As for [`walk`].
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
    // SAFETY: as for this function; there are at most eight levels, and a path has a mask for each.
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

/// Levels per group that are chosen in registers in the walk of a wide tile.
const GROUP: u32 = 5;
/// Maximum groups at a level.
const GROUPS: usize = 1 << (CODE_LEVELS - 1 - GROUP);

/// The nodes of a level of an all-top tile, from one on.
struct Level {
    nodes: *const u16,
    masks: *const Mask,
    part: usize,
}

impl<B: Instructions> MaskSource<B> for Level {
    #[inline(always)]
    unsafe fn get(&self, path: usize) -> B {
        // SAFETY: the node exists and is an index of a mask.
        unsafe { B::load(self.masks.add(usize::from(*self.nodes.add(path))), self.part) }
    }
}

/// Returns the paths of the first `rows` rows through a tile of 9 to [`CODE_LEVELS`] levels.
///
/// # Safety
/// As for [`walk`].
#[inline(always)]
pub(super) unsafe fn walk_wide<B: Instructions>(
    nodes: *const u16,
    masks: *const Mask,
    rows: usize,
    levels: u32,
    path: &mut PathBits,
) {
    for part in 0..parts_in_use(rows, B::PARTS) {
        // SAFETY: as for this function; there are at most CODE_LEVELS levels.
        unsafe {
            let mut bits = [B::fill(false); CODE_LEVELS as usize];
            for level in 0..levels.min(CODE_LEVELS) {
                let nodes = Level { nodes: nodes.add(1 << level), masks, part };
                let bit = match level {
                    0 => nodes.get(0),
                    1 => Mux1::choose(&bits[..1], &nodes, 0),
                    2 => Mux2::choose(&bits[..2], &nodes, 0),
                    3 => Mux3::choose(&bits[..3], &nodes, 0),
                    4 => Mux4::choose(&bits[..4], &nodes, 0),
                    5 => Mux5::choose(&bits[..5], &nodes, 0),
                    _ => by_groups(&bits, &nodes, level),
                };
                bits[level as usize] = bit;
                bit.store(&raw mut path[level as usize], part);
            }
        }
    }
}

/// Chooses among the nodes of a level: by the last bits within groups, then by the others among groups.
///
/// # Safety
/// As for [`walk_wide`], at a level above [`GROUP`].
#[inline(always)]
unsafe fn by_groups<B: Instructions>(
    bits: &[B; CODE_LEVELS as usize],
    nodes: &Level,
    level: u32,
) -> B {
    let upper = (level - GROUP) as usize;
    let (first, last) = (&bits[..upper], &bits[upper..level as usize]);
    // SAFETY: as for this function, here and below.
    let mut chosen = unsafe { [B::fill(false); GROUPS] };
    for (group, chosen) in chosen.iter_mut().enumerate().take(1 << upper) {
        // SAFETY: see above.
        *chosen = unsafe { Mux5::choose(last, nodes, group) };
    }
    for (count, bit) in first.iter().enumerate().rev() {
        for group in 0..1usize << count {
            let [left, right] = [chosen[2 * group], chosen[2 * group + 1]];
            // SAFETY: see above.
            chosen[group] = unsafe { bit.choose(right, left) };
        }
    }
    chosen[0]
}
