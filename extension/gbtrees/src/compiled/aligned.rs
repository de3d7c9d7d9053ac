//! Memory that a compiled model may lie in, and prefetching of what will soon be read of it.
//!
//! A reader checks a compiled model once and then trusts it, so the bytes must stay as they were when they
//! were checked. [`StableBytes`] is that promise; a slice in a `Vec` that someone can still write to
//! does not give it, a private allocation or a read-only mapping does.
#![allow(
    unsafe_code,
    reason = "a promise about memory is an unsafe impl, and a prefetch takes an address"
)]

use std::ops::Deref;

use bytemuck::{Pod, Zeroable};

use crate::memory::with_capacity;
use crate::{Cancel, Error, ErrorKind, Result};

/// The alignment of a compiled model and of every section in it: a cache line.
pub(crate) const ALIGNMENT: usize = 64;

/// Bytes that are written or read before the next look for a cancel: less than a millisecond.
pub(crate) const PIECE: usize = 1 << 20;

/// Bytes that stay what and where they are.
///
/// # Safety
/// For as long as the value lives, wherever it is moved, `deref` gives the same bytes at the same
/// address, and nobody changes them.
pub unsafe trait StableBytes: Deref<Target = [u8]> {}

#[derive(Clone, Copy, Zeroable, Pod)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

/// An allocation that starts at a multiple of 64 bytes; where a compiled model is written.
pub struct AlignedBytes {
    lines: Vec<Line>,
}

impl AlignedBytes {
    /// Zeros, as many as asked for, rounded up to whole cache lines.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if there is not that much memory.
    pub(crate) fn zeroed(len: usize, cancel: Cancel<'_>) -> Result<Self> {
        let count = len.div_ceil(ALIGNMENT);
        let mut lines = with_capacity(count)?;
        while lines.len() < count {
            lines.resize(count.min(lines.len() + PIECE / ALIGNMENT), Line::zeroed());
            cancel.check()?;
        }
        Ok(AlignedBytes { lines })
    }

    /// A copy of bytes that are aligned otherwise, or not at all.
    ///
    /// # Errors
    /// [`ErrorKind::CompiledModel`] if they are not whole cache lines, as a compiled model always is;
    /// [`ErrorKind::OutOfMemory`] if there is no memory for them.
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

// SAFETY: the lines are on the heap, where they stay when the value is moved, and only `bytes_mut`
// writes them, which needs the value exclusively and is private to the writer of compiled models.
unsafe impl StableBytes for AlignedBytes {}

/// Says that an element will be read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(elements: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program sees, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(elements.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, at);
}

/// Says that all of these elements will be read soon.
#[inline]
pub fn prefetch_all<T>(elements: &[T]) {
    let step = (ALIGNMENT / size_of::<T>().max(1)).max(1);
    (0..elements.len()).step_by(step).for_each(|at| prefetch(elements, at));
    prefetch(elements, elements.len().saturating_sub(1));
}
