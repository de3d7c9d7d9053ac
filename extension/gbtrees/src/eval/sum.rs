//! The width of sums: f32, as XGBoost adds leaves, or f64, as LightGBM and CatBoost do.
//!
//! A model has one of the two. What evaluates it is compiled for each, with the leaves and kernels of
//! that width.
#![allow(
    unsafe_code,
    reason = "finds the values of leaves that the compiled model's check has vouched for"
)]

use std::ops::AddAssign;

use crate::compiled::sections::{
    BASE_MARGINS, LEAF_VALUES, Sections, TILE_LEAVES, TILE_LEAVES_DOUBLE,
};
use crate::ensemble::Precision;
use crate::verified;

/// In what a caller takes margins: f32 or f64.
pub trait Margin: Copy {
    /// The width.
    const PRECISION: Precision;

    /// The number, rounded to this width.
    fn of(number: f64) -> Self;
    /// The number, rounded to f32.
    fn single(self) -> f32;
    /// The number.
    fn double(self) -> f64;
    /// One minus the number: the probability of the other of two classes.
    fn opposite(self) -> Self;
    /// The margins, if they are of f32.
    fn singles(margins: &mut [Self]) -> Option<&mut [f32]>;
    /// The margins, if they are of f64.
    fn doubles(margins: &mut [Self]) -> Option<&mut [f64]>;
}

impl Margin for f32 {
    const PRECISION: Precision = Precision::Single;

    fn opposite(self) -> Self {
        1.0 - self
    }

    #[inline(always)]
    fn of(number: f64) -> Self {
        number as f32
    }

    #[inline(always)]
    fn single(self) -> f32 {
        self
    }

    #[inline(always)]
    fn double(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn singles(margins: &mut [Self]) -> Option<&mut [f32]> {
        Some(margins)
    }

    #[inline(always)]
    fn doubles(_: &mut [Self]) -> Option<&mut [f64]> {
        None
    }
}

impl Margin for f64 {
    const PRECISION: Precision = Precision::Double;

    fn opposite(self) -> Self {
        1.0 - self
    }

    #[inline(always)]
    fn of(number: f64) -> Self {
        number
    }

    #[inline(always)]
    fn single(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn double(self) -> f64 {
        self
    }

    #[inline(always)]
    fn singles(_: &mut [Self]) -> Option<&mut [f32]> {
        None
    }

    #[inline(always)]
    fn doubles(margins: &mut [Self]) -> Option<&mut [f64]> {
        Some(margins)
    }
}

/// What differs between the widths: where leaves are, and how sums begin and end. Each way of
/// evaluation adds to this which of its kernels a width has.
pub(super) trait Sum: Margin + AddAssign + 'static {
    const ZERO: Self;

    /// `self * scale / divisor + bias`, each step rounded.
    fn scaled(self, scale: f64, divisor: f64, bias: f64) -> Self;

    /// Sets each output's sum to what it begins with.
    fn start(compiled: Sections<'_>, sums: &mut [Self]);

    /// The values that the keys of leaves are indices of, if they are.
    fn leaf_values(compiled: Sections<'_>) -> &[Self];

    /// The value of a leaf with this key.
    ///
    /// # Safety
    /// The key is a leaf's of the compiled model whose leaf values these are.
    unsafe fn of_key(leaf_values: &[Self], key: u32) -> Self;

    fn tile_leaves(compiled: Sections<'_>) -> &[Self];
}

impl Sum for f32 {
    const ZERO: Self = 0.0;

    fn scaled(self, scale: f64, divisor: f64, bias: f64) -> Self {
        self * scale as f32 / divisor as f32 + bias as f32
    }

    #[inline(always)]
    fn start(compiled: Sections<'_>, sums: &mut [Self]) {
        sums.copy_from_slice(compiled.get(BASE_MARGINS));
    }

    #[inline(always)]
    fn leaf_values(_: Sections<'_>) -> &[Self] {
        &[]
    }

    #[inline(always)]
    unsafe fn of_key(_: &[Self], key: u32) -> Self {
        f32::from_bits(key)
    }

    #[inline(always)]
    fn tile_leaves(compiled: Sections<'_>) -> &[Self] {
        compiled.get(TILE_LEAVES)
    }
}

impl Sum for f64 {
    const ZERO: Self = 0.0;

    fn scaled(self, scale: f64, divisor: f64, bias: f64) -> Self {
        self * scale / divisor + bias
    }

    #[inline(always)]
    fn start(_: Sections<'_>, sums: &mut [Self]) {
        sums.fill(0.0);
    }

    #[inline(always)]
    fn leaf_values(compiled: Sections<'_>) -> &[Self] {
        compiled.get(LEAF_VALUES)
    }

    #[inline(always)]
    unsafe fn of_key(leaf_values: &[Self], key: u32) -> Self {
        // SAFETY: the caller's promise; `compiled::verify::trees` found a value for the key of every leaf.
        unsafe { *verified::at(leaf_values, key as usize, "the key of a leaf finds its value") }
    }

    #[inline(always)]
    fn tile_leaves(compiled: Sections<'_>) -> &[Self] {
        compiled.get(TILE_LEAVES_DOUBLE)
    }
}
