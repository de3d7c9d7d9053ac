//! The width of sums: f32 as in XGBoost, or f64 as in LightGBM and CatBoost.
//!
//! A model has one of the two. Evaluation is compiled for both, with leaves and kernels of that width.
#![allow(
    unsafe_code,
    reason = "finds the values of leaves that the compiled model's check has vouched for"
)]

use std::ops::AddAssign;

use crate::compiled::sections::{
    BASE_MARGINS, LEAF_VALUES, LEAF_VALUES_SINGLE, Sections, TILE_LEAVES, TILE_LEAVES_DOUBLE,
};
use crate::ensemble::Precision;
use crate::{Result, verified};

/// The type of a caller's margins: f32 or f64.
pub trait Margin: Copy {
    /// The width.
    const PRECISION: Precision;

    /// Returns a number rounded to this width.
    fn of(number: f64) -> Self;
    /// Returns the number rounded to f32.
    fn single(self) -> f32;
    /// Returns the number as f64.
    fn double(self) -> f64;
    /// Returns one minus the number: the probability of the other of two classes.
    fn opposite(self) -> Self;
    /// Returns the margins if they are f32.
    fn singles(margins: &mut [Self]) -> Option<&mut [f32]>;
    /// Returns the margins if they are f64.
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

/// Operations that depend on the width: where leaves are, and how sums begin and end. Each way of
/// evaluation extends this with its kernels of the width.
pub(super) trait Sum: Margin + AddAssign + 'static {
    const ZERO: Self;

    /// Returns `self * scale / divisor + bias`, each step rounded.
    fn scaled(self, scale: f64, divisor: f64, bias: f64) -> Self;

    /// Sets each output's sum to its initial value.
    fn start(compiled: Sections<'_>, sums: &mut [Self]);

    /// Returns the values that keys of leaves index, empty if keys are values.
    fn leaf_values(compiled: Sections<'_>) -> &[Self];

    /// Returns the value of a leaf's key, in a model of trees with one output each.
    ///
    /// # Safety
    /// `key` is a leaf's of the compiled model with these values.
    unsafe fn of_key(leaf_values: &[Self], key: u32) -> Self;

    /// Returns one of the values of a leaf's key, in a model with other trees.
    ///
    /// # Safety
    /// As for [`Sum::of_key`]; `place` is below the number of the tree's outputs.
    #[inline(always)]
    unsafe fn of_vector(leaf_values: &[Self], key: u32, place: usize) -> Self {
        let index = key as usize + place;
        // SAFETY: `compiled::verify::trees` has checked that every leaf's key finds a value per output.
        unsafe { *verified::at(leaf_values, index, "the key of a leaf finds its values") }
    }

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
    fn leaf_values(compiled: Sections<'_>) -> &[Self] {
        compiled.get(LEAF_VALUES_SINGLE)
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
        // SAFETY: `compiled::verify::trees` has checked that every leaf's key finds a value.
        unsafe { *verified::at(leaf_values, key as usize, "the key of a leaf finds its value") }
    }

    #[inline(always)]
    fn tile_leaves(compiled: Sections<'_>) -> &[Self] {
        compiled.get(TILE_LEAVES_DOUBLE)
    }
}

/// Converts margins to and from the width of sums.
pub(super) fn converted<M: Margin, S: Sum>(
    out: &mut [M],
    make: impl FnOnce(&mut [S]) -> Result<()>,
) -> Result<()> {
    let mut margins: Vec<S> = out.iter().map(|margin| S::of(margin.double())).collect();
    make(&mut margins)?;
    out.iter_mut().zip(margins).for_each(|(out, margin)| *out = M::of(margin.double()));
    Ok(())
}
