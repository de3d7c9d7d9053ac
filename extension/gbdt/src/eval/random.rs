//! What random models and rows for tests are made from: numbers that follow from a seed, and a shape.

/// A small generator of pseudo-random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) features: usize,
    pub(crate) outputs: usize,
    pub(crate) trees: usize,
    pub(crate) depth: u32,
    /// One tree in this many has categorical splits; 0 for none.
    pub(crate) categorical: usize,
    /// Whether it uses what XGBoost's models do not.
    pub(crate) any_library: bool,
}

impl Shape {
    /// A shape with what XGBoost's models have, and numerical splits alone.
    pub(crate) const fn of(features: usize, outputs: usize, trees: usize, depth: u32) -> Shape {
        Shape { features, outputs, trees, depth, categorical: 0, any_library: false }
    }
}
