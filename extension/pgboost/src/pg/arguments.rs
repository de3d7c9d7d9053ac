//! What a function was called with, and what it keeps between the calls of one statement.

use std::any::TypeId;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, Oid};

/// A value that a function keeps, behind its type.
#[repr(C)]
struct Kept<T> {
    type_id: TypeId,
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
        // SAFETY: `flinfo` is set for a function called from SQL; the nodes are read by their tags.
        unsafe {
            let info = (*self.call).flinfo;
            if info.is_null() || (*info).fn_expr.is_null() {
                return Oid::INVALID;
            }
            let expression = (*info).fn_expr;
            if (*expression).type_ == pg_sys::NodeTag::T_FuncExpr {
                let list = (*expression.cast::<pg_sys::FuncExpr>()).args;
                if !list.is_null() && index < (*list).length as usize {
                    let node: *mut pg_sys::Node = (*(*list).elements.add(index)).ptr_value.cast();
                    match (*node).type_ {
                        pg_sys::NodeTag::T_Var => return (*node.cast::<pg_sys::Var>()).vartype,
                        pg_sys::NodeTag::T_Const => {
                            return (*node.cast::<pg_sys::Const>()).consttype;
                        }
                        _ => {}
                    }
                }
            }
            pg_sys::get_call_expr_argtype(expression, index as i32)
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
        // SAFETY: the memory context of the function's state outlives all its calls; it drops the
        // value when it is reset.
        unsafe {
            let context = self.statement_context();
            let kept = Kept { type_id: TypeId::of::<T>(), value };
            let kept = PgMemoryContexts::For(context).leak_and_drop_on_delete(kept);
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
