//! What a function was called with, and what it keeps between the calls of one statement.

use std::any::TypeId;
use std::ffi::c_void;

use pgrx::pg_guard;
use pgrx::pg_sys::{self, Datum, Oid};

use super::unguarded;

/// A value that a function keeps, behind its type, with what PostgreSQL remembers to drop it by.
#[repr(C)]
struct Kept<T> {
    type_id: TypeId,
    callback: pg_sys::MemoryContextCallback,
    value: T,
}

/// The arguments of a call.
#[derive(Clone, Copy)]
pub struct Arguments {
    call: pg_sys::FunctionCallInfo,
}

impl Arguments {
    /// The arguments of the call that PostgreSQL is making.
    ///
    /// # Safety
    /// The pointer is what PostgreSQL passed to the function that is running.
    #[inline]
    pub(super) unsafe fn new(call: pg_sys::FunctionCallInfo) -> Self {
        Arguments { call }
    }

    /// Number of arguments.
    #[inline]
    pub fn len(self) -> usize {
        // SAFETY: `new` was given a valid call.
        unsafe { (*self.call).nargs as usize }
    }

    /// An argument, or nothing if it is NULL or there are fewer.
    #[inline]
    pub fn get(self, index: usize) -> Option<Datum> {
        if index >= self.len() {
            return None;
        }
        // SAFETY: the call has `nargs` arguments.
        let argument = unsafe { &*(*self.call).args.as_ptr().add(index) };
        (!argument.isnull).then_some(argument.value)
    }

    /// The type of an argument as the statement was written, or an invalid OID if PostgreSQL does
    /// not know.
    pub fn type_of(self, index: usize) -> Oid {
        self.types_from(index).next().unwrap_or(Oid::INVALID)
    }

    /// The same for all arguments from one on.
    #[inline]
    pub fn types_from(self, first: usize) -> impl Iterator<Item = Oid> {
        let nodes = self.nodes();
        (first..self.len()).map(move |index| {
            let known = nodes.get(index).and_then(|node| {
                // SAFETY: the arguments of a call are nodes, which are what their tags say.
                unsafe { type_of_node(node.ptr_value.cast()) }
            });
            known.unwrap_or_else(|| self.looked_up_type(index))
        })
    }

    /// The expressions of the arguments, if the call is written as one of a function.
    #[inline]
    fn nodes<'a>(self) -> &'a [pg_sys::ListCell] {
        // SAFETY: `flinfo` is set for a function called from SQL, and outlives the call with its
        // expression; a node is what its tag says; a list has so many cells.
        unsafe {
            let info = (*self.call).flinfo;
            if info.is_null() || (*info).fn_expr.is_null() {
                return &[];
            }
            let expression = (*info).fn_expr;
            if (*expression).type_ != pg_sys::NodeTag::T_FuncExpr {
                return &[];
            }
            let list = (*expression.cast::<pg_sys::FuncExpr>()).args;
            if list.is_null() {
                return &[];
            }
            std::slice::from_raw_parts((*list).elements, (*list).length as usize)
        }
    }

    #[cold]
    #[inline(never)]
    fn looked_up_type(self, index: usize) -> Oid {
        // SAFETY: `flinfo` is set for a function called from SQL; the function takes a null pointer
        // and any index.
        unsafe {
            let info = (*self.call).flinfo;
            if info.is_null() {
                return Oid::INVALID;
            }
            pg_sys::get_call_expr_argtype((*info).fn_expr, index as i32)
        }
    }

    /// The function that is running.
    pub fn function(self) -> Oid {
        // SAFETY: `flinfo` is set for a function called from SQL.
        unsafe {
            let info = (*self.call).flinfo;
            if info.is_null() { Oid::INVALID } else { (*info).fn_oid }
        }
    }

    /// Sets the result to NULL.
    #[inline]
    pub fn null(self) -> Datum {
        // SAFETY: `new` was given a valid call.
        unsafe { (*self.call).isnull = true };
        Datum::from(0)
    }

    /// What an earlier call of the same expression has kept, if it is of this type.
    #[inline]
    pub fn kept<'a, T: 'static>(self) -> Option<&'a mut T> {
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

    /// Keeps a value until the statement ends, when it is dropped.
    pub fn keep<'a, T: 'static>(self, value: T) -> &'a mut T {
        const { assert!(align_of::<Kept<T>>() <= pg_sys::MAXIMUM_ALIGNOF as usize) };
        // SAFETY: the memory context of the function's state outlives all its calls, and calls back
        // before it frees what was taken from it; there is room for the value, and it is aligned.
        unsafe {
            let context = self.statement_context();
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
            let info = (*self.call).flinfo;
            if !info.is_null() {
                (*info).fn_extra = kept.cast();
            }
            &mut (*kept).value
        }
    }

    /// The memory that lives as long as the statement's use of this function.
    fn statement_context(self) -> pg_sys::MemoryContext {
        // SAFETY: without function state the current context is the only one known.
        unsafe {
            let info = (*self.call).flinfo;
            if info.is_null() { pg_sys::CurrentMemoryContext } else { (*info).fn_mcxt }
        }
    }
}

/// The type of an expression that says it itself.
///
/// # Safety
/// The pointer is to a node.
#[inline]
unsafe fn type_of_node(node: *const pg_sys::Node) -> Option<Oid> {
    // SAFETY: the caller says so; a node is what its tag says.
    unsafe {
        match (*node).type_ {
            pg_sys::NodeTag::T_Var => Some((*node.cast::<pg_sys::Var>()).vartype),
            pg_sys::NodeTag::T_Const => Some((*node.cast::<pg_sys::Const>()).consttype),
            _ => None,
        }
    }
}

/// Memory of a context; raises if there is none.
///
/// # Safety
/// The context is valid, the size at most a gigabyte.
#[inline]
unsafe fn allocated(context: pg_sys::MemoryContext, size: usize) -> *mut c_void {
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

impl Arguments {
    /// The trigger that the function runs for, or null if it does not run for one.
    pub(super) fn trigger(self) -> *mut pg_sys::TriggerData {
        // SAFETY: `new` was given a valid call; a context is a node, which has a tag.
        unsafe {
            let context = (*self.call).context;
            let is_trigger =
                !context.is_null() && (*context).type_ == pg_sys::NodeTag::T_TriggerData;
            if is_trigger { context.cast() } else { std::ptr::null_mut() }
        }
    }
}
