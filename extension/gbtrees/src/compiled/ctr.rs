//! The records of target statistics: see [`crate::ensemble::ctr`].
//!
//! A table is an open hash table of 2^bits slots, at least one of them empty, then the line of all keys
//! that are not in it. A slot is the two halves of a key, lower first, and the key's line, so a look-up mostly
//! reads one line of the caches. A key's first bits are where it begins to be looked for.

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

/// The parts of the keys of a projection, and its table.
#[derive(Clone, Copy, Debug, Zeroable, Pod)]
#[repr(C)]
pub(crate) struct CtrProjection {
    pub(crate) first_part: u32,
    pub(crate) parts: u32,
    /// Index of the first word of the table.
    pub(crate) first_word: u32,
    pub(crate) bits: u32,
    /// Numbers of a line.
    pub(crate) width: u32,
}

/// The key of an empty slot, which no row's key is found by.
pub(crate) const EMPTY: u64 = u64::MAX;

impl CtrProjection {
    /// Words of a slot.
    pub(crate) fn slot_words(&self) -> usize {
        2 + self.width as usize
    }

    /// Words of the table.
    pub(crate) fn words(&self) -> u64 {
        ((2 + u64::from(self.width)) << self.bits) + u64::from(self.width)
    }

    /// The slot at which a key begins to be looked for.
    #[inline(always)]
    pub(crate) fn first_slot(&self, key: u64) -> usize {
        // Shifting by all bits leaves none.
        key.checked_shr(u64::BITS - self.bits).unwrap_or(0) as usize
    }
}

/// The key of a slot.
#[inline(always)]
pub(crate) fn key_of(slot: &[u32]) -> u64 {
    match slot {
        [low, high, ..] => u64::from(*low) | u64::from(*high) << u32::BITS,
        _ => EMPTY,
    }
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
