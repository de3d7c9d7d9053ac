//! Function calls: their arguments, and state kept between the calls of a statement
//! (`FmgrInfo.fn_extra`) or as an aggregate's state of type internal.
//!
//! PostgreSQL drops an aggregate's state before freeing its memory, but after an error only frees the
//! memory, possibly after the transaction has closed its files. Such a state defines its own cleanup
//! for that case ([`Abandon`]).

#![allow(clippy::missing_safety_doc, reason = "the functions that pg_guard writes have no docs")]

use std::any::TypeId;
use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{FromDatum, IntoDatum, pg_guard};

use crate::array::ArrayValue;
use crate::unguarded::{self, allocated};
use crate::{array, catalog, fault, varlena};

/// A type's equality function, cached once known.
#[derive(Default)]
pub struct Equality {
    function: Option<*mut pg_sys::FmgrInfo>,
}

/// The arguments of a call that is valid for `'c`.
#[derive(Clone, Copy)]
pub struct Arguments<'c> {
    call: pg_sys::FunctionCallInfo,
    /// Number of hidden arguments after the first.
    between: usize,
    /// Number of hidden arguments at the end.
    behind: usize,
    lives: PhantomData<&'c ()>,
}

impl<'c> Arguments<'c> {
    /// # Safety
    /// `call` comes from PostgreSQL for the running function, or is a frame like it, and is valid for
    /// `'c`. Its first argument is a text if [`Arguments::first_text`] is called, its second a float8
    /// if [`Arguments::take_second`] is.
    #[inline]
    pub unsafe fn new(call: pg_sys::FunctionCallInfo) -> Self {
        Arguments { call, between: 0, behind: 0, lives: PhantomData }
    }

    /// Hides the second argument, a float8, and returns its value; `None` for NULL.
    pub fn take_second(self) -> (Self, Option<f64>) {
        // SAFETY: functions that call this declare such an argument.
        let second = self.get(1).and_then(|second| unsafe { f64::from_datum(second, false) });
        (Arguments { between: 1, ..self }, second)
    }

    /// Hides the last `behind` arguments.
    pub fn without_last(self, behind: usize) -> Self {
        Arguments { behind, ..self }
    }

    /// Returns the number of visible arguments.
    #[allow(clippy::len_without_is_empty, reason = "unused")]
    #[inline]
    pub fn len(self) -> usize {
        // SAFETY: `new` requires a valid call.
        unsafe { ((*self.call).nargs as usize).saturating_sub(self.between + self.behind) }
    }

    /// Returns an argument; `None` if it is NULL or does not exist.
    #[inline]
    pub fn get(self, index: usize) -> Option<Datum> {
        if index >= self.len() {
            return None;
        }
        let position = if index == 0 { 0 } else { index + self.between };
        // SAFETY: the call has `nargs` arguments.
        let argument = unsafe { &*(*self.call).args.as_ptr().add(position) };
        (!argument.isnull).then_some(argument.value)
    }

    /// Returns the first argument, a text; `None` for NULL.
    #[inline]
    pub fn first_text(self) -> Option<Cow<'c, str>> {
        // SAFETY: the caller of `new` ensures that it is a text.
        self.get(0).map(|text| unsafe { varlena::text(text) })
    }

    /// Returns the arguments of a call from pgrx.
    #[allow(
        clippy::not_unsafe_ptr_arg_deref,
        reason = "only pgrx has such a pointer outside of unsafe code"
    )]
    pub fn of_pgrx(call: pg_sys::FunctionCallInfo) -> Self {
        fault::at("function: called");
        // SAFETY: pgrx passes PostgreSQL's pointer.
        unsafe { Arguments::new(call) }
    }

    /// Returns an integer and the text after it; `None` for NULL. Callers declare these types.
    pub fn integer_and_text(self, index: usize) -> (Option<i32>, Option<Cow<'c, str>>) {
        let integer = self.integer(index);
        // SAFETY: the type is declared.
        let text = self.get(index + 1).map(|text| unsafe { varlena::text(text) });
        (integer, text)
    }

    /// Returns a real[]'s dimensions and elements; `None` if it is NULL or has NULLs. Callers declare
    /// this type.
    pub fn reals(self, index: usize) -> Option<(&'c [i32], &'c [f32])> {
        // SAFETY: the type is declared.
        self.get(index).and_then(|array| unsafe { array::numbers(array) })
    }

    /// Returns an argument that is declared as an array of numbers, or the type that it is of instead; `None`
    /// for NULL.
    ///
    /// # Errors
    /// The type, if it is another.
    pub fn numbers(self, index: usize) -> Result<Option<ArrayValue<'c>>, Oid> {
        let declared = self.types_from(index).next().unwrap_or(Oid::INVALID);
        let element = array::number_elements(declared).ok_or(declared)?;
        // SAFETY: the argument is of its declared type.
        Ok(self.get(index).map(|array| unsafe { ArrayValue::new(array, element) }))
    }

    /// Returns a double precision[] that is an aggregate's state, and its elements for writing; `None`
    /// if it is NULL or has NULLs, or outside of an aggregate. Callers declare this type.
    pub fn state_doubles(self, index: usize) -> Option<(Datum, &'c mut [f64])> {
        let state = self.get(index).filter(|_| self.in_aggregate())?;
        // SAFETY: the type is declared; the aggregate owns its state.
        unsafe { array::doubles_mut(state) }
    }

    /// Returns a double precision; `None` for NULL. Callers declare this type.
    #[inline]
    pub fn double(self, index: usize) -> Option<f64> {
        self.get(index).map(|number| f64::from_bits(number.value() as u64))
    }

    /// Returns an integer; see [`Arguments::double`].
    pub fn integer(self, index: usize) -> Option<i32> {
        self.get(index).map(|integer| integer.value() as i32)
    }

    /// Returns a boolean; see [`Arguments::double`].
    #[inline]
    pub fn boolean(self, index: usize) -> Option<bool> {
        self.get(index).map(|boolean| boolean.value() as u8 != 0)
    }

    /// Returns the aggregate's state, of type internal, in the first argument; a new one at the first
    /// row, `None` outside of an aggregate.
    #[inline]
    pub fn state<T: Default + Abandon + 'static>(self) -> Option<(Datum, &'c mut T)> {
        // SAFETY: `new` requires a valid call; only this function creates such states.
        unsafe { aggregate_state(self.call) }
    }

    /// Returns whether the function runs in an aggregate, and may modify its state.
    #[inline]
    pub fn in_aggregate(self) -> bool {
        // SAFETY: `new` requires a valid call; a null pointer requests no memory context.
        unsafe { unguarded::AggCheckCallContext(self.call, std::ptr::null_mut()) != 0 }
    }

    /// Compares two non-NULL arguments of one type by its equality and the call's collation; `None` if
    /// the type has no equality.
    pub fn are_equal(self, first: usize, second: usize, equality: &mut Equality) -> Option<bool> {
        let function = match equality.function {
            Some(function) => function,
            None => {
                let function = catalog::equality(self.looked_up_type(first))?;
                *equality.function.insert(function)
            }
        };
        let (first, second) = (self.get(first)?, self.get(second)?);
        // SAFETY: the function is the type's; the type cache lives as long as the backend.
        let equal =
            unsafe { pg_sys::FunctionCall2Coll(function, (*self.call).fncollation, first, second) };
        Some(equal.value() as u8 != 0)
    }

    /// Returns the declared types of the arguments from `first` on; invalid OIDs if unknown.
    #[inline]
    pub fn types_from(self, first: usize) -> impl Iterator<Item = Oid> + use<'c> {
        let nodes = self.nodes();
        (first + self.between..self.len() + self.between).map(move |index| {
            let known = nodes.get(index).and_then(|node| {
                // SAFETY: a call's arguments are nodes, read according to their tags.
                unsafe { type_of_node(node.ptr_value.cast()) }
            });
            known.unwrap_or_else(|| self.looked_up_type(index))
        })
    }

    /// Returns whether the first argument is constant in the statement: a constant or a parameter.
    pub fn first_is_fixed(self) -> bool {
        // SAFETY: a call's arguments are nodes, read according to their tags.
        self.nodes().first().is_some_and(|node| unsafe { is_fixed(node.ptr_value.cast()) })
    }

    /// Returns whether an argument is a column of the query.
    pub fn is_column(self, index: usize) -> bool {
        self.nodes().get(index + self.between).is_some_and(|node| {
            // SAFETY: a call's arguments are nodes, which have tags.
            unsafe { (*node.ptr_value.cast::<pg_sys::Node>()).type_ == pg_sys::NodeTag::T_Var }
        })
    }

    /// Returns the argument expressions of a function call.
    #[inline]
    fn nodes(self) -> &'c [pg_sys::ListCell] {
        let Some(info) = self.info() else { return &[] };
        let expression = info.fn_expr;
        // SAFETY: the expression outlives the call and is read according to its tag; a list has as many
        // cells as its length.
        unsafe {
            if expression.is_null() || (*expression).type_ != pg_sys::NodeTag::T_FuncExpr {
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
        // SAFETY: accepts a null pointer and any index.
        self.info().map_or(Oid::INVALID, |info| unsafe {
            pg_sys::get_call_expr_argtype(info.fn_expr, index as i32)
        })
    }

    /// Returns the called function; an invalid OID if it is not called from SQL.
    pub fn function(self) -> Oid {
        self.info().map_or(Oid::INVALID, |info| info.fn_oid)
    }

    /// Returns PostgreSQL's data on the function; `None` if it is not called from SQL.
    #[inline]
    fn info(self) -> Option<&'c pg_sys::FmgrInfo> {
        // SAFETY: `new` requires a valid call; the function's data outlives it.
        unsafe { (*self.call).flinfo.as_ref() }
    }

    /// Sets the result to NULL.
    #[inline]
    pub fn null(self) -> Datum {
        // SAFETY: `new` requires a valid call.
        unsafe { (*self.call).isnull = true };
        Datum::from(0)
    }

    /// Returns the change that a trigger's function runs for.
    pub fn change(self) -> Option<Change<'c>> {
        // SAFETY: `new` requires a valid call; a context is a node, read according to its tag.
        unsafe {
            let context = (*self.call).context;
            if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_TriggerData {
                return None;
            }
            Some(Change { trigger: &*context.cast::<pg_sys::TriggerData>() })
        }
    }
}

/// A change of a table, or of one of its rows, that fires a trigger.
#[derive(Clone, Copy)]
pub struct Change<'c> {
    pub(crate) trigger: &'c pg_sys::TriggerData,
}

impl Change<'_> {
    /// Returns the table.
    pub fn table(self) -> Oid {
        // SAFETY: PostgreSQL passes the table, open.
        unsafe { (*self.trigger.tg_relation).rd_id }
    }

    /// Returns whether the trigger is a BEFORE trigger.
    pub fn is_before(self) -> bool {
        self.trigger.tg_event & pg_sys::TRIGGER_EVENT_BEFORE != 0
    }

    pub(crate) fn is(self, operation: u32) -> bool {
        self.trigger.tg_event & pg_sys::TRIGGER_EVENT_OPMASK == operation
    }

    /// Returns the old row's value of a regrole column.
    pub fn old_role(self, column: &CStr) -> Option<Oid> {
        let changed =
            self.is(pg_sys::TRIGGER_EVENT_UPDATE) || self.is(pg_sys::TRIGGER_EVENT_DELETE);
        changed.then_some(self.trigger.tg_trigtuple).and_then(|row| self.role(row, column))
    }

    /// Returns the new row's value of a regrole column.
    pub fn new_role(self, column: &CStr) -> Option<Oid> {
        self.new_row().and_then(|row| self.role(row, column))
    }

    pub(crate) fn new_row(self) -> Option<pg_sys::HeapTuple> {
        if self.is(pg_sys::TRIGGER_EVENT_UPDATE) {
            return Some(self.trigger.tg_newtuple);
        }
        self.is(pg_sys::TRIGGER_EVENT_INSERT).then_some(self.trigger.tg_trigtuple)
    }

    fn role(self, row: pg_sys::HeapTuple, column: &CStr) -> Option<Oid> {
        let mut null = true;
        // SAFETY: PostgreSQL passes a row of the table, which is open; a positive number is a column's.
        unsafe {
            let description = (*self.trigger.tg_relation).rd_att;
            let number = pg_sys::SPI_fnumber(description, column.as_ptr());
            let is_role =
                number > 0 && pg_sys::SPI_gettypeid(description, number) == pg_sys::REGROLEOID;
            let value =
                is_role.then(|| pg_sys::SPI_getbinval(row, description, number, &raw mut null))?;
            (!null).then(|| Oid::from(value.value() as u32))
        }
    }

    /// Returns the function's result that leaves the change unmodified.
    pub fn unchanged(self) -> Datum {
        Datum::from(self.new_row().unwrap_or(self.trigger.tg_trigtuple))
    }
}

/// # Safety
/// `node` is valid.
unsafe fn is_fixed(node: *const pg_sys::Node) -> bool {
    // SAFETY: the node is read according to its tag.
    unsafe {
        match (*node).type_ {
            pg_sys::NodeTag::T_Const => true,
            pg_sys::NodeTag::T_Param => {
                (*node.cast::<pg_sys::Param>()).paramkind == pg_sys::ParamKind::PARAM_EXTERN
            }
            pg_sys::NodeTag::T_RelabelType => {
                is_fixed((*node.cast::<pg_sys::RelabelType>()).arg.cast())
            }
            _ => false,
        }
    }
}

/// Returns the type of a Var or a Const.
///
/// # Safety
/// `node` is valid.
#[inline]
unsafe fn type_of_node(node: *const pg_sys::Node) -> Option<Oid> {
    // SAFETY: the node is read according to its tag.
    unsafe {
        match (*node).type_ {
            pg_sys::NodeTag::T_Var => Some((*node.cast::<pg_sys::Var>()).vartype),
            pg_sys::NodeTag::T_Const => Some((*node.cast::<pg_sys::Const>()).consttype),
            _ => None,
        }
    }
}

/// Returns the function of a call from pgrx.
pub fn called_function(call: pg_sys::FunctionCallInfo) -> Oid {
    Arguments::of_pgrx(call).function()
}

/// Returns whether a procedure cannot commit, since a transaction block or a function calls it.
#[allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "only pgrx has such a pointer outside of unsafe code"
)]
pub fn is_atomic(call: pg_sys::FunctionCallInfo) -> bool {
    // SAFETY: pgrx passes PostgreSQL's pointer; the context of CALL has its tag.
    unsafe {
        let context = (*call).context;
        context.is_null()
            || (*context).type_ != pg_sys::NodeTag::T_CallContext
            || (*context.cast::<pg_sys::CallContext>()).atomic
    }
}

/// Calls a function of one text for its errors, without checking privileges. It returns no NULL.
pub fn with_text(function: Oid, text: &str) {
    let argument = text.into_datum().unwrap_or(Datum::null());
    // SAFETY: the function has one argument, of type text.
    unsafe { pg_sys::OidFunctionCall1Coll(function, pg_sys::DEFAULT_COLLATION_OID, argument) };
}

/// A value kept by a function, after its type, with the callback that drops it.
#[repr(C)]
struct Kept<T> {
    type_id: TypeId,
    callback: pg_sys::MemoryContextCallback,
    value: T,
}

/// The place where a function keeps a value between calls. Each call has only one, so that its value is
/// borrowed once.
pub struct CallState<'c> {
    call: pg_sys::FunctionCallInfo,
    lives: PhantomData<&'c ()>,
}

impl<'c> CallState<'c> {
    /// # Safety
    /// `call` comes from PostgreSQL for the running function, is valid for `'c`, and has no other
    /// `CallState`.
    #[inline]
    pub unsafe fn new(call: pg_sys::FunctionCallInfo) -> Self {
        CallState { call, lives: PhantomData }
    }

    /// Returns the value kept by an earlier call of the same expression, or a new one, kept until the
    /// statement ends.
    #[inline]
    pub fn kept<T: Default + 'static>(self) -> &'c mut T {
        match self.earlier() {
            Some(kept) => kept,
            None => self.keep(T::default()),
        }
    }

    #[inline]
    fn earlier<T: 'static>(&self) -> Option<&'c mut T> {
        // SAFETY: `flinfo` and its contents outlive the call. Only `keep` writes there, and the
        // contents begin with their type.
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
        // SAFETY: the memory context of the function's data outlives all calls, and calls back before
        // freeing; the allocation is large enough and aligned.
        unsafe {
            let info = (*self.call).flinfo;
            // Without the function's data, only the current context is known.
            let context =
                if info.is_null() { pg_sys::CurrentMemoryContext } else { (*info).fn_mcxt };
            let kept: *mut Kept<T> = unguarded::allocated(context, size_of::<Kept<T>>()).cast();
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
/// Called once by PostgreSQL with the registered value.
#[pg_guard]
unsafe extern "C-unwind" fn drop_kept<T>(kept: *mut c_void) {
    // SAFETY: PostgreSQL passes the registered value, once.
    unsafe { std::ptr::drop_in_place(&raw mut (*kept.cast::<Kept<T>>()).value) }
}

/// Returns the state kept by an earlier call of this expression, or the closure's, dropped with the
/// statement. The call is from pgrx, and its function keeps nothing else.
///
/// # Errors
/// Those of the closure.
#[allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "only pgrx has such a pointer outside of unsafe code"
)]
pub fn kept<'a, T: 'static, E>(
    call: pg_sys::FunctionCallInfo,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<&'a mut T, E> {
    // SAFETY: pgrx passes PostgreSQL's pointer; this is the only state.
    let state = unsafe { CallState::new(call) }.kept::<Option<T>>();
    match state {
        Some(kept) => Ok(kept),
        empty => Ok(empty.insert(make()?)),
    }
}

/// A value that can be dropped after its transaction has rolled back.
pub trait Abandon {
    /// Drops the value without calling PostgreSQL.
    fn abandon(self);
}

/// An aggregate's state, with the callback that frees it.
#[repr(C)]
struct AggregateState<T> {
    callback: pg_sys::MemoryContextCallback,
    value: Option<T>,
}

/// Returns the state in a call's first argument, as datum and value; a new one for NULL, `None` outside
/// of an aggregate.
///
/// # Safety
/// `call` comes from PostgreSQL for the running function and is valid for `'c`; a non-NULL first
/// argument was created by this function for the same type.
#[inline]
unsafe fn aggregate_state<'c, T: Default + Abandon>(
    call: pg_sys::FunctionCallInfo,
) -> Option<(Datum, &'c mut T)> {
    let mut context = std::ptr::null_mut();
    // SAFETY: the call is valid; the context outlives the state, and calls back before freeing it.
    unsafe {
        if unguarded::AggCheckCallContext(call, &raw mut context) == 0 {
            return None;
        }
        let first = (*call).args.as_slice((*call).nargs as usize).first()?;
        let kept = if first.isnull {
            new_aggregate_state::<T>(call, context)
        } else {
            first.value.cast_mut_ptr()
        };
        Some((Datum::from(kept), (*kept).value.as_mut()?))
    }
}

/// # Safety
/// As for [`aggregate_state`]; `context` is the aggregate's.
#[cold]
unsafe fn new_aggregate_state<T: Default + Abandon>(
    call: pg_sys::FunctionCallInfo,
    context: pg_sys::MemoryContext,
) -> *mut AggregateState<T> {
    const { assert!(align_of::<AggregateState<T>>() <= pg_sys::MAXIMUM_ALIGNOF as usize) };
    // SAFETY: the context is the aggregate's; the allocation is large enough and aligned.
    unsafe {
        let kept: *mut AggregateState<T> =
            allocated(context, size_of::<AggregateState<T>>()).cast();
        kept.write(AggregateState {
            callback: pg_sys::MemoryContextCallback {
                func: Some(free_aggregate::<T>),
                arg: kept.cast(),
                next: std::ptr::null_mut(),
            },
            value: Some(T::default()),
        });
        unguarded::MemoryContextRegisterResetCallback(context, &raw mut (*kept).callback);
        pg_sys::AggRegisterCallback(call, Some(end_aggregate::<T>), Datum::from(kept));
        kept
    }
}

/// Drops the state at the aggregate's end without an error.
///
/// # Safety
/// `kept` is the registered value, not freed.
#[pg_guard]
unsafe extern "C-unwind" fn end_aggregate<T>(kept: Datum) {
    // SAFETY: PostgreSQL passes the registered value before freeing it.
    unsafe { (*kept.cast_mut_ptr::<AggregateState<T>>()).value = None };
}

/// Abandons the state when its memory is freed, if an error prevented the aggregate's end.
///
/// # Safety
/// `kept` is the registered value, and this is called once.
#[pg_guard]
unsafe extern "C-unwind" fn free_aggregate<T: Abandon>(kept: *mut std::ffi::c_void) {
    // SAFETY: PostgreSQL passes the registered value, once.
    let value = unsafe { (*kept.cast::<AggregateState<T>>()).value.take() };
    value.into_iter().for_each(T::abandon);
}
