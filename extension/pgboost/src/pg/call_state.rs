//! What a function keeps between the calls of one statement.

use std::any::TypeId;
use std::ffi::c_void;
use std::marker::PhantomData;

use pg_interface::unguarded;
use pgrx::pg_guard;
use pgrx::pg_sys;

/// A value that a function keeps, behind its type, with what PostgreSQL remembers to drop it by.
#[repr(C)]
struct Kept<T> {
    type_id: TypeId,
    callback: pg_sys::MemoryContextCallback,
    value: T,
}

/// Where a function keeps a value between calls. There is one of these per call, so that what it
/// hands out is borrowed once.
pub struct CallState<'c> {
    call: pg_sys::FunctionCallInfo,
    lives: PhantomData<&'c ()>,
}

impl<'c> CallState<'c> {
    /// # Safety
    /// The pointer is what PostgreSQL passed to the function that is running, is valid for `'c`, and
    /// makes no other state.
    #[inline]
    pub unsafe fn new(call: pg_sys::FunctionCallInfo) -> Self {
        CallState { call, lives: PhantomData }
    }

    /// What an earlier call of the same expression has kept, or else a new value, which is kept until
    /// the statement ends and then dropped.
    #[inline]
    pub fn kept<T: Default + 'static>(self) -> &'c mut T {
        match self.earlier() {
            Some(kept) => kept,
            None => self.keep(T::default()),
        }
    }

    #[inline]
    fn earlier<T: 'static>(&self) -> Option<&'c mut T> {
        // SAFETY: `flinfo` outlives the call, and so does what was kept in it. Only `keep` writes
        // there, and what it writes begins with the type of the rest.
        unsafe {
            let info = (*self.call).flinfo;
            if info.is_null() {
                return None;
            }
            let type_id = (*info).fn_extra.cast::<TypeId>().as_ref()?;
            if *type_id != TypeId::of::<T>() {
                return None;
            }
            Some(&mut (*(*info).fn_extra.cast::<Kept<T>>()).value)
        }
    }

    fn keep<T: 'static>(self, value: T) -> &'c mut T {
        const { assert!(align_of::<Kept<T>>() <= pg_sys::MAXIMUM_ALIGNOF as usize) };
        // SAFETY: the memory context of the function's state outlives all its calls, and calls back
        // before it frees what was taken from it; there is room for the value, and it is aligned.
        unsafe {
            let info = (*self.call).flinfo;
            // Without the function's state the current context is the only one known.
            let context =
                if info.is_null() { pg_sys::CurrentMemoryContext } else { (*info).fn_mcxt };
            let kept: *mut Kept<T> = allocated(context, size_of::<Kept<T>>()).cast();
            kept.write(Kept {
                type_id: TypeId::of::<T>(),
                callback: pg_sys::MemoryContextCallback {
                    func: Some(drop_kept::<T>),
                    arg: kept.cast(),
                    next: std::ptr::null_mut(),
                },
                value,
            });
            unguarded::MemoryContextRegisterResetCallback(context, &raw mut (*kept).callback);
            if !info.is_null() {
                (*info).fn_extra = kept.cast();
            }
            &mut (*kept).value
        }
    }
}

/// # Safety
/// The context is valid, the size at most a gigabyte.
#[inline]
pub(super) unsafe fn allocated(context: pg_sys::MemoryContext, size: usize) -> *mut c_void {
    #[cold]
    fn raise(context: pg_sys::MemoryContext, size: usize) -> *mut c_void {
        // SAFETY: as below. It tries again, and raises PostgreSQL's own error.
        unsafe { pg_sys::MemoryContextAlloc(context, size) }
    }
    // SAFETY: the caller says so.
    let memory = unsafe {
        let flags = pg_sys::MCXT_ALLOC_NO_OOM.cast_signed();
        unguarded::MemoryContextAllocExtended(context, size, flags)
    };
    if memory.is_null() { raise(context, size) } else { memory }
}

#[pg_guard]
unsafe extern "C-unwind" fn drop_kept<T>(kept: *mut c_void) {
    // SAFETY: PostgreSQL passes what was registered, once.
    unsafe { std::ptr::drop_in_place(&raw mut (*kept.cast::<Kept<T>>()).value) }
}
