//! The cuts of features, and the f32 that a number of f64 becomes by them.
//!
//! A cut is a number that exactly the values which go left are below; how a model's splits become cuts is
//! written where a model is lowered (`lower::cuts`). All that splits see of a value is its rank, the number
//! of cuts that it is not below, and the f32 that a value becomes has the same rank.

use bytemuck::{CheckedBitPattern, NoUninit};

use crate::ensemble::MissingRule;

#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern, NoUninit)]
#[repr(u32)]
pub(crate) enum CutKind {
    /// The f32 beside the cuts decide as the cuts.
    Beside = 0,
    /// Values become ranks.
    Ranks = 1,
    /// As ranks, and zeros are missing.
    RanksWithoutZero = 2,
    /// Values are category codes.
    Codes = 3,
}

/// The cuts of a feature, in ascending order.
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct CutSpan {
    pub(crate) kind: CutKind,
    /// Index of the first.
    pub(crate) start: u32,
    pub(crate) count: u32,
}

impl CutSpan {
    /// Whether its cuts are among so many.
    pub(crate) fn is_within(self, cuts: usize) -> bool {
        u64::from(self.start) + u64::from(self.count) <= cuts as u64
    }

    pub(crate) fn of(self, cuts: &[f64]) -> &[f64] {
        let start = self.start as usize;
        &cuts[start..start + self.count as usize]
    }

    /// The f32 that splits decide as the model decides the value.
    pub(crate) fn narrow(self, cuts: &[f64], value: f64) -> f32 {
        let nearest = value as f32;
        match self.kind {
            _ if value.is_nan() => f32::NAN,
            CutKind::Codes => value.trunc() as f32,
            CutKind::Beside if f64::from(nearest) == value => nearest,
            CutKind::Beside => {
                let cuts = self.of(cuts);
                let rank = rank(cuts, value);
                let below = rank.checked_sub(1).and_then(|last| cuts.get(last));
                let least = below.map_or(nearest, |cut| nearest.max(not_below(*cut)));
                let end = cuts.get(rank).map_or(f32::INFINITY, |cut| not_below(*cut));
                if least < end || cuts.len() == rank { least } else { end.next_down() }
            }
            CutKind::RanksWithoutZero if value.abs() <= f64::from(MissingRule::ZERO) => f32::NAN,
            CutKind::Ranks | CutKind::RanksWithoutZero => rank(self.of(cuts), value) as f32,
        }
    }
}

/// The number of cuts that a value is not below.
pub(crate) fn rank(cuts: &[f64], value: f64) -> usize {
    cuts.partition_point(|cut| *cut <= value)
}

/// The smallest f32 that is not below a number.
pub(crate) fn not_below(number: f64) -> f32 {
    let nearest = number as f32;
    if f64::from(nearest) < number { nearest.next_up() } else { nearest }
}
