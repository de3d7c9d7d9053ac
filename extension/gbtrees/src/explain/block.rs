//! Runs the walk of a tree for one block of rows: choice of instructions and points, and its buffers.

#![allow(unsafe_code, reason = "the same is compiled for the instructions that the processor has")]

use crate::compiled::records::SplitRecord;
use crate::explain::factors::SplitFactors;
use crate::explain::lanes::{Lanes, Level, REGISTERS};
#[cfg(target_arch = "x86_64")]
use crate::explain::walk::{Avx2, Avx512};
use crate::explain::walk::{
    Block, CancelChecks, Frame, Instructions, OnPath, Portable, Registers, Walk,
};
use crate::memory::{allocated, refill};
use crate::quadrature::Points;
use crate::{Result, verified};

/// Numbers per cache line.
const LINE: usize = 16;

/// Aligned memory for registers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// Reusable buffers of walks.
#[derive(Default)]
pub(super) struct WalkBuffers {
    /// A frame per level, then data by feature or pair of features.
    lines: Vec<Line>,
    /// Features on the current path.
    order: Vec<u32>,
}

/// A tree with its splits' factors, and an upper bound of its depth.
#[derive(Clone, Copy)]
pub(super) struct PreparedTree<'a> {
    pub(super) splits: &'a [SplitRecord],
    /// Number of features that its splits test.
    pub(super) features: usize,
    pub(super) factors: &'a SplitFactors,
    pub(super) points: &'a Points,
    pub(super) depth: usize,
}

impl WalkBuffers {
    pub(super) fn bytes(&self) -> usize {
        allocated(&self.lines) + allocated(&self.order)
    }

    /// Walks a tree; returns the sums by feature, or pair of features, of the tree for each row of the
    /// block. The block has keys for all slots of the splits.
    pub(super) fn sums<const PAIRS: bool>(
        &mut self,
        level: Level,
        tree: PreparedTree<'_>,
        block: &Block<'_>,
        checks: &mut CancelChecks<'_>,
    ) -> Result<&[f32]> {
        macro_rules! by_points {
            ($instructions:ty, $registers:expr) => {
                match tree.points.points.len() {
                    1 => self.run::<$instructions, 1, $registers, PAIRS>(tree, block, checks),
                    2 => self.run::<$instructions, 2, $registers, PAIRS>(tree, block, checks),
                    3 => self.run::<$instructions, 3, $registers, PAIRS>(tree, block, checks),
                    4 => self.run::<$instructions, 4, $registers, PAIRS>(tree, block, checks),
                    5 => self.run::<$instructions, 5, $registers, PAIRS>(tree, block, checks),
                    6 => self.run::<$instructions, 6, $registers, PAIRS>(tree, block, checks),
                    8 => self.run::<$instructions, 8, $registers, PAIRS>(tree, block, checks),
                    _ => verified::known(None, "a walk handles this number of points"),
                }
            };
        }
        match level {
            Level::Portable => by_points!(Portable, REGISTERS),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => by_points!(Avx2, REGISTERS),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2Narrow => by_points!(Avx2, 1),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => by_points!(Avx512, REGISTERS),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Narrow => by_points!(Avx512, 1),
        }
    }

    fn run<I: Instructions, const N: usize, const V: usize, const PAIRS: bool>(
        &mut self,
        tree: PreparedTree<'_>,
        block: &Block<'_>,
        checks: &mut CancelChecks<'_>,
    ) -> Result<&[f32]> {
        let PreparedTree { splits, features, factors, points: Points { points, weights }, depth } =
            tree;
        let points = verified::known(points.first_chunk::<N>(), "there are as many points")?;
        let weights = verified::known(weights.first_chunk::<N>(), "each point has a weight")?;
        let count = splits.len() * 2 * N;
        verified::check(factors.numbers.len() >= count, "each split has factors");
        verified::check(!PAIRS || factors.excess.len() >= count, "each split has an excess");
        let places = if PAIRS { features * (features + 1) / 2 } else { features };
        let rows = I::Lanes::WIDTH * V;
        // One extra frame holds the root's product and mean.
        let frames = (depth + 1) * size_of::<Frame<I::Lanes, N, V>>();
        let on_path = features * size_of::<OnPath<I::Lanes, N, V>>();
        let sums = places * size_of::<Registers<I::Lanes, V>>();
        let lines = [frames, on_path, sums].map(|bytes| bytes.div_ceil(size_of::<Line>()));
        let all: usize = lines.iter().sum();
        if self.lines.len() < all {
            refill(&mut self.lines, all, Line([0.0; LINE]))?;
        }
        self.order.clear();
        let start = self.lines.as_mut_ptr();
        // SAFETY: the buffer has room for all three arrays, aligned to 64 bytes, each written before it
        // is read. Levels are only chosen if the processor has their instructions.
        // `compiled::verify::trees` has checked that splits lead to splits of their tree, that features
        // and slots are in range, and that no path exceeds the depth.
        unsafe {
            let frames: *mut Frame<I::Lanes, N, V> = start.cast();
            let on_path: *mut OnPath<I::Lanes, N, V> = start.add(lines[0]).cast();
            let sums: *mut Registers<I::Lanes, V> = start.add(lines[0] + lines[1]).cast();
            // Written as bytes and numbers, since the functions of lanes are compiled for instructions that this one
            // lacks.
            on_path.write_bytes(u8::MAX, features);
            if PAIRS {
                (0..features).for_each(|feature| (*on_path.add(feature)).excess = std::ptr::null());
            }
            sums.write_bytes(0, places);
            let product = (&raw mut (*frames).product).cast::<f32>();
            let product = std::slice::from_raw_parts_mut(product, N * rows);
            for (at, lanes) in product.chunks_exact_mut(I::Lanes::WIDTH).enumerate() {
                lanes.fill(weights[at % N]);
            }
            let mut walk = Walk {
                splits,
                factors: factors.numbers.as_ptr().cast(),
                excess: factors.excess.as_ptr().cast(),
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
                I::split::<N, V, PAIRS>(&mut walk, 0, frames.add(1), product, mean);
            }
            Ok(std::slice::from_raw_parts(sums.cast(), places * rows))
        }
    }
}
