//! Walks of a tree with one block of rows: by which instructions, for how many points, and in what memory.

#![allow(unsafe_code, reason = "the same is compiled for the instructions that the processor has")]

use crate::compiled::records::SplitRecord;
use crate::eval::Kernel;
use crate::explain::lanes::{Lanes, PORTABLE};
#[cfg(target_arch = "x86_64")]
use crate::explain::lanes::{Ymm, Zmm};
#[cfg(target_arch = "x86_64")]
use crate::explain::walk::{Avx2, Avx512};
use crate::explain::walk::{
    Block, CancelChecks, Frame, Instructions, OnPath, Portable, REGISTERS, Registers, Sides, Walk,
    sides_of,
};
use crate::limits::refill;
use crate::quadrature::{Points, SplitFactors};
use crate::{Result, verified};

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

    /// [`Lanes::INLINES`].
    fn inlines(self) -> bool {
        match self {
            Level::Portable => <Portable as Instructions>::Lanes::INLINES,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Ymm::INLINES,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Zmm::INLINES,
        }
    }

    /// The one for a batch: wider registers would be half empty.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables, reason = "there is one"))]
    pub(super) fn for_rows(self, rows: usize) -> Level {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if rows <= Level::Avx2.rows() => Level::Avx2,
            level => level,
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
    /// Of the tree's splits.
    sides: Vec<Sides>,
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
        size_of::<Line>() * self.lines.capacity() + self.sides.capacity()
    }

    /// Takes the splits of the tree that is walked next.
    pub(super) fn set(
        &mut self,
        level: Level,
        splits: &[SplitRecord],
        has_pairs: bool,
    ) -> Result<()> {
        refill(&mut self.sides, splits.len(), 0)?;
        let inlines = !has_pairs && level.inlines();
        for (at, sides) in self.sides.iter_mut().enumerate() {
            *sides = sides_of(splits, at, inlines);
        }
        Ok(())
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
        verified::check(self.sides.len() == splits.len(), "each split has sides");
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
            // Number by number: what splats is compiled for instructions that this function does not have.
            let product = (&raw mut (*frames).product).cast::<f32>();
            let product = std::slice::from_raw_parts_mut(product, N * rows);
            for (at, lanes) in product.chunks_exact_mut(I::Lanes::WIDTH).enumerate() {
                lanes.fill(weights[at % N]);
            }
            let mut walk = Walk {
                splits,
                sides: &self.sides,
                numbers: numbers.numbers.as_ptr().cast(),
                excess: numbers.excess.as_ptr().cast(),
                outside: points.map(|q| -1.0 / (1.0 - q)),
                block,
                on_path,
                sums,
                end: frames.add(depth + 1),
                features,
                order: &mut self.order,
                outcomes: [0; _],
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
