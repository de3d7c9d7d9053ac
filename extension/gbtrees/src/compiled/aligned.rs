//! Memory for compiled models, and prefetching.
//!
//! A reader verifies a compiled model once and then trusts it, so the bytes must not change.
//! [`StableBytes`] promises that: a private allocation or a read-only mapping fulfils it, a `Vec` that
//! someone may still write to does not.
#![allow(
    unsafe_code,
    reason = "a promise about memory is an unsafe impl, and a prefetch takes an address"
)]

use std::ops::Deref;

use bytemuck::{Pod, Zeroable};

use crate::memory::with_capacity;
use crate::{Cancel, Error, ErrorKind, Result};

/// Alignment of a compiled model and its sections: a cache line.
pub(crate) const ALIGNMENT: usize = 64;

/// Bytes processed between two polls for cancellation; less than a millisecond.
pub(crate) const PIECE: usize = 1 << 20;

/// Bytes with a constant address and content.
///
/// # Safety
/// For the lifetime of the value, also after moves, `deref` returns the same bytes at the same address,
/// and nothing changes them.
pub unsafe trait StableBytes: Deref<Target = [u8]> {}

#[derive(Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

/// A heap allocation aligned to 64 bytes, in which compiled models are written.
pub struct AlignedBytes {
    lines: Vec<Line>,
}

impl AlignedBytes {
    /// Allocates zeros, rounded up to whole cache lines.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub(crate) fn zeroed(len: usize, cancel: Cancel<'_>) -> Result<Self> {
        let count = len.div_ceil(ALIGNMENT);
        let mut lines = with_capacity(count)?;
        while lines.len() < count {
            lines.resize(count.min(lines.len() + PIECE / ALIGNMENT), Line::zeroed());
            cancel.check()?;
        }
        Ok(AlignedBytes { lines })
    }

    /// Copies bytes of any alignment.
    ///
    /// # Errors
    /// [`ErrorKind::CompiledModel`] if the length is not a multiple of a cache line, as a compiled
    /// model's is; [`ErrorKind::OutOfMemory`].
    pub fn copy_of(bytes: &[u8]) -> Result<Self> {
        if !bytes.len().is_multiple_of(ALIGNMENT) {
            return Err(Error::new(
                ErrorKind::CompiledModel,
                "compiled model does not end at a cache line",
            ));
        }
        let mut copy = Self::zeroed(bytes.len(), Cancel::never())?;
        copy.bytes_mut().copy_from_slice(bytes);
        Ok(copy)
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.lines)
    }
}

// SAFETY: the lines are on the heap, which moves do not affect. Only `bytes_mut` writes them; it takes
// the value exclusively and is private to the writer of compiled models.
unsafe impl StableBytes for AlignedBytes {}

/// Prefetches an element.
#[inline(always)]
pub(crate) fn prefetch<T>(elements: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no visible effect for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(elements.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, at);
}

/// Prefetches all elements.
#[inline]
pub fn prefetch_all<T>(elements: &[T]) {
    let step = (ALIGNMENT / size_of::<T>().max(1)).max(1);
    (0..elements.len()).step_by(step).for_each(|at| prefetch(elements, at));
    prefetch(elements, elements.len().saturating_sub(1));
}
