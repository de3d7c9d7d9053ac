//! Memory that will be read soon is asked for, so that it is there by then.
#![allow(unsafe_code, reason = "a prefetch takes an address")]

/// Bytes that come into the processor's caches together.
const LINE: usize = 64;

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
    let step = (LINE / size_of::<T>().max(1)).max(1);
    (0..elements.len()).step_by(step).for_each(|at| prefetch(elements, at));
    prefetch(elements, elements.len().saturating_sub(1));
}
