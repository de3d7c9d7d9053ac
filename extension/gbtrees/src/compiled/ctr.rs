//! The records of target statistics: see [`crate::ensemble::ctr`].
//!
//! Keys of a table ascend, and a list of starts says for each value of a key's first bits where the keys with
//! those bits begin, so a look-up reads a start, a key or two, and a line.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

/// The parts of the keys of a projection, and its table.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct CtrProjection {
    pub(crate) first_part: u32,
    pub(crate) parts: u32,
    /// Index of the first of 2^bits + 1 starts, which are relative to the first key.
    pub(crate) first_start: u32,
    pub(crate) bits: u32,
    pub(crate) first_key: u32,
    pub(crate) keys: u32,
    /// Index of the first number of the lines: one per key, then that of all others.
    pub(crate) first_number: u32,
    /// Numbers of a line.
    pub(crate) width: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, CheckedBitPattern, NoUninit)]
#[repr(u32)]
pub(crate) enum PartKind {
    /// The hash of a category.
    Category = 0,
    /// Whether a number is above the one with the operand's bits.
    Above = 1,
    AboveOrMissing = 2,
    /// Whether a category has the operand as its hash.
    HasBits = 3,
    /// Whether a category has the operand as its code.
    HasCode = 4,
}

/// A part of a key.
#[derive(Clone, Copy, Debug, CheckedBitPattern, NoUninit)]
#[repr(C)]
pub(crate) struct CtrPart {
    pub(crate) kind: PartKind,
    pub(crate) feature: u32,
    pub(crate) operand: u32,
}
