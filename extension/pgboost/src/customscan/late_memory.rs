//! A memory context of a statement that is created when it is first needed.

use std::ffi::CStr;

use pgrx::pg_sys::{self, MemoryContext};

pub(super) struct LateMemory {
    name: &'static CStr,
    parent: MemoryContext,
    created: Option<MemoryContext>,
}

impl LateMemory {
    /// # Safety
    /// The parent outlives this.
    pub(super) unsafe fn new(name: &'static CStr, parent: MemoryContext) -> LateMemory {
        LateMemory { name, parent, created: None }
    }

    pub(super) fn context(&mut self) -> MemoryContext {
        let LateMemory { name, parent, .. } = *self;
        // SAFETY: the caller of `new` guarantees that the parent is valid.
        *self.created.get_or_insert_with(|| unsafe { memory(name, parent) })
    }
}

/// Creates a memory context.
///
/// # Safety
/// The parent is valid, and PostgreSQL's memory may be allocated.
pub(super) unsafe fn memory(name: &'static CStr, parent: MemoryContext) -> MemoryContext {
    // SAFETY: guaranteed by the caller; the name is static.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            parent,
            name.as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        )
    }
}
